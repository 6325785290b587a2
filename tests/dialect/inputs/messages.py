"""messages.py FILE.attn: checks the messages of the specs in a file. Lines `# -----` divide the file into specs. The compiler
must refuse each spec with exactly the messages that are written below its lines, with a caret where each begins:

    return x + unknown
    #          ^ error: unknown name 'unknown'

`#< error: …` is a message at column 1. `# note: …` is a note without a place, or with a place in a built-in scheme."""
import os
import re
import subprocess
import sys
import tempfile

EXPECTED = re.compile(r"^\s*#(\s*\^|<|) ?(error|warning|note): (.*)$")
PRINTED = re.compile(r"^(?:spec\.attn:(\d+):(\d+): |built-in [^:]*:\d+:\d+: )?(error|warning|note): (.*)$")


def expectations(lines):
    """Yields (line, column, kind, message) for each comment with a message; line and column are 0 if it has no place."""
    code = 0
    for number, line in enumerate(lines, 1):
        match = EXPECTED.match(line)
        if not match:
            code = number
        elif not match.group(1):
            yield 0, 0, match.group(2), match.group(3)
        else:
            yield code, 1 if match.group(1) == "<" else line.index("^") + 1, match.group(2), match.group(3)


def messages(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "spec.attn")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        ran = subprocess.run(["skewer", "compile", "spec.attn", "-o", "out"], cwd=folder, capture_output=True, text=True)
        for line in ran.stderr.splitlines():
            if match := PRINTED.match(line):
                yield int(match.group(1) or 0), int(match.group(2) or 0), match.group(3), match.group(4)
        if ran.returncode != 1:
            yield 0, 0, "exit", "code %d, expected 1" % ran.returncode


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        parts = re.split(r"(?m)^# -----.*\n", stream.read())
    wrong, first = 0, 1
    for part in parts:
        expected, found = list(expectations(part.splitlines())), list(messages(part))
        for what, one, other in (("not given", expected, found), ("unexpected", found, expected)):
            for line, column, kind, message in one:
                if (line, column, kind, message) not in other:
                    wrong += 1
                    where = "%d:%d" % (first + line - 1, column) if line else "no place"
                    print("%s:%s: %s %s: %s" % (sys.argv[1], where, what, kind, message))
        if not expected:
            wrong += 1
            print("%s:%d: a part that expects nothing" % (sys.argv[1], first))
        first += part.count("\n") + 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
