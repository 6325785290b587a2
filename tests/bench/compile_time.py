#!/usr/bin/env python3
"""Measures how long specs take to compile: all of them in one process, and each in a process of its own.

    compile_time.py                                        # the layers of tests/bench/specs, tests/e2e/layers and examples, for zen4
    compile_time.py --jobs 2 my_layer.attn                 # others, two at a time in one process
    compile_time.py --instructions                         # count instructions with valgrind's callgrind too: half a minute a layer

Two specs may name their kernels alike; the script compiles copies whose kernels have numbers in their names. Times include the
start of the process. The user time is that of all threads; other work on the machine changes it less than the time on the clock."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPECS = ["tests/bench/specs/*.attn", "tests/e2e/layers/*.attn", "examples/*/*.attn"]
BAR_ONE, BAR_ALL = 0.6, 15.0  # seconds: a layer with process start; a hundred specs in one process


def copies(specs, folder):
    """Writes each spec with kernels that no other one has, and returns the paths."""
    made = []
    for number, path in enumerate(specs):
        with open(path, encoding="utf-8") as stream:
            text = re.sub(r"(?m)^kernel\s+", f"kernel s{number}_", stream.read())
        made.append(os.path.join(folder, f"{number}_{os.path.basename(path)}"))
        with open(made[-1], "w", encoding="utf-8") as stream:
            stream.write(text)
    return made


def timed(command):
    """Returns the seconds on the clock and in user mode."""
    start = time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # notes about the texts
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command[:4])} …: exit status {process.returncode}")
    return time.monotonic() - start, usage.ru_utime


def counted(command, folder):
    """Returns the instructions in user mode."""
    ran = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind"] + command,
                         capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", ran.stderr).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skewer", default=os.path.join(ROOT, "build/release/bin/skewer"))
    parser.add_argument("--target", default="zen4")
    parser.add_argument("--jobs", help="passed on to the process of all specs")
    parser.add_argument("--repeat", type=int, default=3, help="the least times of so many are shown")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--longest", type=int, default=8, help="how many specs are shown")
    parser.add_argument("specs", nargs="*")
    arguments = parser.parse_args()
    specs = arguments.specs or sorted(path for pattern in SPECS for path in glob.glob(os.path.join(ROOT, pattern)))
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.skewer, "compile", "--target=" + arguments.target, "-o", os.path.join(folder, "out")]
        paths = copies(specs, folder)
        jobs = [f"--jobs={arguments.jobs}"] if arguments.jobs else []
        together = [min(column) for column in zip(*(timed(command + jobs + paths) for _ in range(arguments.repeat)))]
        alone = [[min(column) for column in zip(*(timed(command + [path]) for _ in range(arguments.repeat)))] for path in paths]
        print(f"{len(specs)} specs in one process: {together[0]:.2f} s on the clock (at most {BAR_ALL:g} are wanted for 100), "
              f"{together[1]:.2f} s user")
        print(f"a process each: {sum(wall for wall, _ in alone):.2f} s on the clock, {sum(user for _, user in alone):.2f} s user; "
              f"{sum(wall <= BAR_ONE for wall, _ in alone)} take at most {BAR_ONE} s")
        longest = sorted(range(len(specs)), key=lambda spec: -alone[spec][1])[: arguments.longest]
        for spec in longest:
            count = f", {counted(command + [paths[spec]], folder) / 1e9:.2f} G instructions" if arguments.instructions else ""
            name = os.path.relpath(specs[spec], ROOT)
            print(f"  {name}: {alone[spec][0]:.2f} s on the clock, {alone[spec][1]:.2f} s user{count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
