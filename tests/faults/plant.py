#!/usr/bin/env python3
"""Plants faults in a copy of the compiler, one at a time, and says which test notices each.

Tests are worth what they catch. faults.py lists mistakes that somebody could make. For each of them this script edits one
place of a copy of the tree, builds, and runs the tests that use the edited file until one fails. It begins with the case
that caught the fault last time, by README.md; then all of them follow, quickest first. The script never touches your own
files: the copy is a clone of a commit in a folder of its own."""
import argparse
import fcntl
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from faults import FAULTS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "README.md")
TOOLS = ["skewer", "skewer-opt", "skewer-lsp-server"]
LIT = ["dialect", "passes", "codegen", "e2e"]
GROUPS = [("found", "skewer-fuzz", "fuzz.found-"), ("oracle", "skewer", "oracle.texts-"),
          ("meanings", "skewer", "meanings."), ("layers", "skewer", "layers.")]
SEEDS = "0:750"  # those of the suite (tests/fuzz/CMakeLists.txt)
TABLE_TEST = re.compile(r"([\w.]+): ([\w/.-]+|seed \d+)(?: \((?:crash|no end)\))*")  # the test in the table
EXAMPLES = """
examples:
  plant.py --check                       every fault still fits its file; builds nothing
  plant.py --list                        what there is
  plant.py --build /tmp/faults --results /tmp/faults.jsonl
                                         all of them; the copy and the build stay for the next time, and a run that
                                         was broken off goes on where it was
  plant.py --build /tmp/faults --only empty-rows --only mask-edge-missed
  plant.py --build /tmp/faults --test fuzz --file passes/Cpu/
                                         what random layers alone catch of faults in the processors' kernels
"""


class Stop(Exception):
    """An error that is not about one fault."""


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def planted(fault, root):
    """Returns the text of the fault's file with the fault in it."""
    path = os.path.join(root, fault.file)
    if not os.path.exists(path):
        raise Stop(f"fault '{fault.name}' is stale: there is no {fault.file}")
    text = read(path)
    if text.count(fault.find) != 1:
        raise Stop(f"fault '{fault.name}' is stale: '{fault.find}' stands {text.count(fault.find)} times in "
                   f"{fault.file}, expected once; choose its text anew in tests/faults")
    if fault.find == fault.replace:
        raise Stop(f"fault '{fault.name}' changes nothing")
    return text.replace(fault.find, fault.replace)


def check(faults, root):
    """Returns messages about faults that do not fit the tree."""
    names = [fault.name for fault in faults]
    messages = [f"two faults are called '{name}'" for name in sorted(set(names)) if names.count(name) > 1]
    for fault in faults:
        try:
            planted(fault, root)
        except Stop as stop:
            messages.append(str(stop))
    return messages


def rows_of(readme):
    """Returns the rows of README.md's tables of faults, each by its columns' names."""
    rows, columns = [], None
    for line in readme.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells[:1] == ["fault"]:
            columns = cells
        elif not cells:
            columns = None
        elif columns and len(cells) == len(columns) and not set("".join(cells)) <= set("- "):
            rows.append(dict(zip(columns, cells)))
    return rows


def names_with_seeds(readme):
    """Returns the faults of the table about the first random layer that notices each."""
    names, inside = [], False
    for line in readme.splitlines():
        inside = line.startswith("| faults, each") or (inside and line.startswith("|"))
        names += re.findall(r"([\w-]+) \d+(?=[, ])", line) if inside else []
    return names


def caught_before(readme):
    """Returns, by the fault's name, the test in README.md's tables that caught it, and its case if there is one."""
    found = {row["fault"]: TABLE_TEST.fullmatch(row["caught by"]) for row in rows_of(readme)}
    return {name: match.groups() for name, match in found.items() if match}


def check_table(readme, faults, root):
    """Returns messages about faults, files and tests that README.md names and the tree does not have."""
    rows, files = rows_of(readme), {fault.name: fault.file for fault in faults}
    names = [row["fault"] for row in rows]
    messages = [f"README.md has two rows for '{name}'" for name in sorted(set(names)) if names.count(name) > 1]
    messages += [f"README.md has no row for fault '{name}': plant it (--only {name}) and say what caught it"
                 for name in files if name not in names]
    messages += [f"README.md names a seed for '{name}', which faults.py does not have"
                 for name in names_with_seeds(readme) if name not in files]
    said = re.search(r"The table has (\d+) faults", readme)
    if said and int(said.group(1)) != len(rows):
        messages.append(f"README.md says that its table has {said.group(1)} faults; it has {len(rows)}")
    for row in rows:
        name, test = row["fault"], TABLE_TEST.fullmatch(row["caught by"])
        if name not in files:
            messages.append(f"README.md has a row for '{name}', which faults.py does not have")
        elif row["file"] != files[name]:
            messages.append(f"README.md says that '{name}' is in {row['file']}; faults.py says {files[name]}")
        if not test:
            messages.append(f"README.md says that '{name}' is caught by '{row['caught by']}'; expected 'TEST: CASE'")
        elif missing := missing_test(*test.groups(), root):
            messages.append(f"README.md says that '{name}' is caught by {row['caught by']}: there is no {missing}")
    return messages


def missing_test(test, case, root):
    """Returns the part of a unit test or a lit test that the tree does not have; None for other kinds, which only ctest knows."""
    if test.startswith("lit."):
        path = os.path.join("tests", case)
    elif test.endswith("Test"):
        path = os.path.join("tests", "unit", test + ".cpp")
    else:
        return None
    if not os.path.exists(os.path.join(root, path)):
        return path
    if test.startswith("lit."):
        return None
    # A test with parameters is Instance/Suite.Case/0.
    plain = re.sub(r"(?:\w+/)?(\w+\.\w+)(?:/\w+)?", r"\1", case)
    cases = {known.strip("*/") for known in cases_of(read(os.path.join(root, path)))}
    return None if plain in cases else f"{plain} in {path}"


def run(command, folder, limit=None, **environment):
    """Runs a command. Returns its exit code and output; the code is None if it did not end in `limit` seconds."""
    with subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            output = process.communicate(timeout=limit)[0]
            return process.returncode, output
        except BaseException as why:  # kills everything that the command started
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0]
            if isinstance(why, subprocess.TimeoutExpired):
                return None, output
            raise


def must(command, folder):
    code, output = run(command, folder)
    if code != 0:
        raise Stop(f"'{' '.join(command)}' failed:\n{output[-3000:]}")
    return output


class Lock:
    """Holds a lock file, if there is one, around steps that load the machine, and releases it after `seconds`."""

    def __init__(self, path, seconds):
        self.stream = open(path, "a", encoding="utf-8") if path else None
        self.seconds, self.since = seconds, None

    def __enter__(self):
        if self.stream and self.since is None:
            fcntl.flock(self.stream, fcntl.LOCK_EX)
            self.since = time.monotonic()

    def __exit__(self, *_):
        if self.since is not None and time.monotonic() - self.since >= self.seconds:
            fcntl.flock(self.stream, fcntl.LOCK_UN)
            self.since = None
            time.sleep(1)  # so that a waiting process gets it


class Test:
    """One run of tests: a file of unit tests, by the names of its `cases`, or a command with everything that it tests."""

    def __init__(self, name, targets, command, cases=("*",)):
        self.name, self.targets, self.command, self.cases = name, targets, command, cases
        self.files, self.seconds = set(), None

    def command_for(self, case):
        """Returns the command for one case, or for all if it is None. Unit tests and lit take the case from the environment."""
        return self.command

    def failure(self, copy, case=None, seconds=None):
        """Runs all cases, or one that takes `seconds` without a fault. Returns the first case that fails, or None."""
        seconds = seconds if case else self.seconds
        limit = 60 + 10 * seconds if seconds is not None else None  # a fault may make a loop endless
        options = f"--max-failures=1 -j{copy.jobs}"
        if copy.without:
            options += " --filter-out='" + "|".join(map(re.escape, copy.without)) + "'"
        if case:
            options += f" --filter='{re.escape(case)}$'"
        code, output = run(self.command_for(case), copy.build, limit, GTEST_FAIL_FAST="1",
                           GTEST_FILTER=(case or ":".join(self.cases)) + "-" + ":".join(copy.without),
                           LIT_OPTS=options)
        if code == 0:
            return None
        failed = re.findall(r"^(?:\[  FAILED  \] |FAIL: \w+ :: |(?=seed \d)|[ \d/]+Test +#\d+: (?!lit\.)(?=\S+ \.*\*\*\*))"
                            r"([\w/.-]+(?: \d+(?=:))?)", output, re.M)
        begun = re.findall(r"^\[ RUN      \] ([\w/.]+)", output, re.M)
        what = failed[0] if failed else (begun[-1] if begun else "") + " (crash)"
        return f"{self.name}: {what}" + (" (no end)" if code is None else "")


class Fuzz(Test):
    """A run of random layers; a case is the layer of one seed."""

    def command_for(self, case):
        seed = int(case.removeprefix("seed ")) if case else None
        return [*self.command, "--seeds", SEEDS if seed is None else f"{seed}:{seed + 1}"]


class Group(Test):
    """Tests of ctest with a common beginning of their names."""

    def __init__(self, name, target, prefix):
        super().__init__(name, [target], None)
        self.prefix = prefix

    def command_for(self, case):
        names = re.escape(case) + "$" if case else re.escape(self.prefix)
        return ["ctest", "-R", "^" + names, "--output-on-failure", "--stop-on-failure"]


def cases_of(text):
    """Returns GoogleTest's filters for the test cases of a source file, with those that have parameters."""
    cases = re.findall(r"^TEST(_F|_P)?\((\w+),\s*(\w+)\)", text, re.M)
    return [f"*/{suite}.{case}/*" if kind == "_P" else f"{suite}.{case}" for kind, suite, case in cases]


def program_of(path, commands):
    """Returns the program that compile_commands.json compiles the file into; None if this build has none."""
    for entry in commands:
        if entry["file"] == path:
            return re.search(r" -o \S*CMakeFiles/(\w+)\.dir/", entry["command"]).group(1)
    return None


class Copy:
    """A clone of the tree in `folder`, its build, and its tests."""

    def __init__(self, folder, commit, jobs, lock, chosen):
        self.source, self.build = (os.path.realpath(os.path.join(folder, name)) for name in ("source", "build"))
        self.folder, self.jobs, self.lock, self.chosen, self.without = folder, jobs, lock, chosen, []
        self.commit = must(["git", "rev-parse", "--verify", commit + "^{commit}"], ROOT).strip()
        os.makedirs(folder, exist_ok=True)
        if not os.path.isdir(self.source):
            if os.listdir(folder):
                raise Stop(f"{folder} holds something else; give --build a new folder, or one of an earlier run")
            must(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, self.source], folder)
        must(["git", "checkout", "--quiet", "--force", "--detach", self.commit], self.source)

    def ninja(self, *targets):
        return run(["ninja", f"-j{self.jobs}", *targets], self.build)

    def prepare(self):
        """Configures the copy, and finds the tests and the files that are built into each."""
        with self.lock:
            must(["cmake", "--preset", "release", "-B", self.build], self.source)
        self.tests = []
        commands = json.loads(read(os.path.join(self.build, "compile_commands.json")))
        for path in sorted(glob.glob(os.path.join(self.source, "tests", "unit", "*Test.cpp"))):
            program = program_of(path, commands)
            if program:
                self.tests.append(Test(os.path.basename(path)[:-len(".cpp")], [program],
                                       [os.path.join(self.build, "bin", program)], cases_of(read(path))))
        listing = must(["ctest", "-N"], self.build)
        self.tests += [Test(f"lit.{suite}", TOOLS, ["ctest", "-R", rf"^lit\.{suite}$", "--output-on-failure"])
                       for suite in LIT if f" lit.{suite}\n" in listing]
        self.tests.append(Fuzz("fuzz", ["skewer-fuzz"], [
            os.path.join(self.build, "bin", "skewer-fuzz"), "--failures", "1", "--no-shrink", "--jobs", str(self.jobs)]))
        self.tests += [Group(name, target, prefix) for name, target, prefix in GROUPS]
        unknown = set(self.chosen or []) - {test.name for test in self.tests}
        if unknown:
            raise Stop(f"there is no test '{sorted(unknown)[0]}'; there are " +
                       ", ".join(test.name for test in self.tests))
        self.tests = [test for test in self.tests if not self.chosen or test.name in self.chosen]
        self.record = os.path.join(self.folder, "passed.json")
        passed = json.loads(read(self.record)) if os.path.exists(self.record) else {}
        if passed.get("commit") != self.commit:
            passed = {"commit": self.commit, "seconds": {}, "cases": {}, "without": []}
        self.passed, self.without = passed, passed["without"]
        for test in self.tests:
            self.must_build(test)
            inputs = must(["ninja", "-t", "inputs", *test.targets], self.build).splitlines()
            prefix = self.source + os.sep
            test.files = {path[len(prefix):] for path in inputs if path.startswith(prefix)}
            test.seconds = passed["seconds"].get(test.name)

    def must_build(self, test):
        for target in test.targets:
            with self.lock:
                must(["ninja", f"-j{self.jobs}", target], self.build)

    def time_without_fault(self, tests):
        """Runs the tests that have not run yet, without a fault, and excludes the cases that fail."""
        for test in [test for test in tests if test.seconds is None]:
            self.must_build(test)
            print(f"without a fault: {test.name}", file=sys.stderr, flush=True)
            with self.lock:
                start = time.monotonic()
                while failure := test.failure(self):
                    self.leave_out(failure)
                    start = time.monotonic()
            test.seconds = self.passed["seconds"][test.name] = time.monotonic() - start
            self.note()

    def time_case(self, test, case):
        """Returns the seconds that a case takes without a fault; None if it no longer exists, or fails."""
        key = f"{test.name}: {case}"
        if key not in self.passed["cases"]:
            self.must_build(test)
            with self.lock:
                start = time.monotonic()
                failed = test.failure(self, case)
            self.passed["cases"][key] = None if failed else time.monotonic() - start
            self.note()
        return self.passed["cases"][key]

    def note(self):
        self.passed["without"] = self.without
        write(self.record, json.dumps(self.passed))

    def leave_out(self, failure):
        """Excludes a case that fails without a fault, because it says nothing about one."""
        if failure.endswith(")"):
            raise Stop(f"{failure} without a fault")
        print(f"left out, as it fails without a fault: {failure}", file=sys.stderr, flush=True)
        self.without.append(failure.split(": ", 1)[1])

    def tests_of(self, file):
        """Returns the tests that the file is built into, quickest first; for a header, all tests."""
        tests = [test for test in self.tests if file in test.files] or self.tests
        self.time_without_fault(tests)
        return sorted(tests, key=lambda test: test.seconds or 0)

    def judge(self, fault, expected=None):
        """Returns the test that catches the fault, or None. `expected` is the test, and its case, that caught it before."""
        test = next((test for test in self.tests if expected and test.name == expected[0]), None)
        seconds = self.time_case(test, expected[1]) if test else None
        if seconds is not None and (failure := self.run_with(fault, [test], expected[1], seconds)):
            return failure
        return self.run_with(fault, self.tests_of(fault.file))

    def run_with(self, fault, tests, case=None, seconds=None):
        """Returns the first failure of the tests, or of one case, with the fault planted; None if there is none."""
        path, text = os.path.join(self.source, fault.file), planted(fault, self.source)
        original = read(path)
        try:
            write(path, text)
            for test in tests:
                code, output = self.ninja(*test.targets)
                if code != 0:
                    raise Stop(f"fault '{fault.name}' does not build:\n{output[-3000:]}")
                if failure := test.failure(self, case, seconds):
                    return failure
            return None
        finally:
            write(path, original)


def digest(fault, root):
    """Returns a hash of the fault and of its file."""
    return hashlib.sha256((fault.file + "\0" + planted(fault, root)).encode()).hexdigest()[:16]


def table(rows):
    """Returns the results as a Markdown table with aligned columns."""
    lines = [["fault", "file", "what it breaks", "caught by", "seconds"]]
    lines += [[fault.name, fault.file, fault.says, result["caught"] or "NOT CAUGHT", f"{result['seconds']:.0f}"]
              for fault, result in rows]
    widths = [max(len(line[k]) for line in lines) for k in range(5)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)


def plant_all(faults, options, folder):
    copy = Copy(folder, options.commit, options.jobs, Lock(options.lock, options.hold), options.test)
    known = {}
    if options.results and os.path.exists(options.results):
        for line in read(options.results).splitlines():
            entry = json.loads(line)
            known[entry["fault"]] = entry
    before = caught_before(read(README))
    rows, prepared = [], False
    for number, fault in enumerate(faults, 1):
        mark, entry = digest(fault, copy.source), known.get(fault.name)
        # Faults that were not caught are tried again, because there may be a new test.
        if not entry or entry["digest"] != mark or not entry["caught"]:
            if not prepared:
                copy.prepare()
                prepared = True
            with copy.lock:
                start = time.monotonic()
                caught = copy.judge(fault, before.get(fault.name))
            entry = {"fault": fault.name, "digest": mark, "commit": copy.commit, "caught": caught,
                     "seconds": time.monotonic() - start}
            if options.results:
                with open(options.results, "a", encoding="utf-8") as stream:
                    stream.write(json.dumps(entry) + "\n")
            print(f"{number}/{len(faults)} {fault.name}: {caught or 'NOT CAUGHT'}", file=sys.stderr, flush=True)
        rows.append((fault, entry))
    missed = sum(not entry["caught"] for _, entry in rows)
    print(table(rows) + f"\n\n{len(rows)} faults planted in {copy.commit[:10]}, {missed} not caught")
    if copy.without:
        print("left out, as they fail without a fault: " + ", ".join(copy.without))
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether every fault fits this tree")
    parser.add_argument("--list", action="store_true", help="only list the faults")
    parser.add_argument("--only", metavar="NAME", action="append", help="plant this fault; may be repeated")
    parser.add_argument("--file", metavar="PATH", action="append", default=[],
                        help="plant the faults of files whose path begins so; may be repeated")
    parser.add_argument("--test", metavar="NAME", action="append",
                        help="run this test alone (a unit test, lit.e2e, fuzz, …); may be repeated; give each choice "
                        "a --results file of its own")
    parser.add_argument("--commit", default="HEAD", help="the commit to copy (HEAD); changes that are not "
                        "committed are not in the copy")
    parser.add_argument("--build", metavar="DIR", help="keep the copy and its build here (else: a temporary folder)")
    parser.add_argument("--results", metavar="FILE", help="append each result as a line of JSON, and skip the faults "
                        "that an earlier run has caught in the same file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="compilers at a time")
    parser.add_argument("--lock", metavar="FILE", help="hold this file's lock while building and testing")
    parser.add_argument("--hold", type=float, default=0, metavar="SECONDS", help="give the lock back, between faults, "
                        "after this time (0: after each)")
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if (not options.only or fault.name in options.only) and
              (not options.file or fault.file.startswith(tuple(options.file)))]
    for name in options.only or []:
        if name not in [fault.name for fault in FAULTS]:
            parser.error(f"there is no fault '{name}'; --list shows them")
    if options.list:
        for fault in faults:
            print(f"{fault.name:26} {fault.file:38} {fault.says}")
        return 0
    if options.check:
        messages = check(faults, ROOT)
        if faults == FAULTS:
            messages += check_table(read(README), FAULTS, ROOT)
        print("\n".join(messages) or f"{len(faults)} faults fit the tree")
        return 1 if messages else 0
    os.nice(5)
    try:
        if options.build:
            return plant_all(faults, options, os.path.abspath(options.build))
        with tempfile.TemporaryDirectory(prefix="skewer-faults-") as folder:
            return plant_all(faults, options, folder)
    except Stop as stop:
        print(f"plant.py: {stop}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
