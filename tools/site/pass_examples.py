#!/usr/bin/env python3
"""Puts the examples of passes into docs/reference/passes.md: in the description of `-FLAG`, the line

    (* example body=@NAME *)

stands for the operations of the function NAME of the pass's file in tests/passes, and function=@NAME for the whole
function. So an example is written once, and tested.

usage: pass_examples.py PAGE    PAGE is what mlir-tblgen -gen-pass-doc wrote; it is changed in place"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = re.compile(r"(?m)^ *\(\* example (body|function)=@(\w+) \*\)$")


def example(flag, part, name):
    """Returns the lines of the function, or of its body without the return, without comments of the test."""
    with open(os.path.join(ROOT, "tests", "passes", flag + ".mlir"), encoding="utf-8") as stream:
        found = re.search(rf"(?ms)^func\.func (?:private )?@{name}\b.*?^\}}", stream.read())
    if not found:
        sys.exit(f"tests/passes/{flag}.mlir has no function @{name}, which the description of the pass shows")
    lines = [line for line in found.group(0).splitlines() if not re.match(r"\s*// (CHECK|[A-Z-]+:)", line)]
    if part == "function":
        return lines
    begin = next(number for number, line in enumerate(lines) if line.endswith("{")) + 1
    return [line[2:] for line in lines[begin:-1] if not re.match(r"  (func\.)?return\b", line)]


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        sections = re.split(r"(?m)^(?=### `-)", stream.read())
    for number, section in enumerate(sections[1:], 1):
        flag = re.match(r"### `-([\w-]+)`", section).group(1)
        sections[number] = EXAMPLE.sub(
            lambda match: "\n".join(["```mlir", *example(flag, *match.groups()), "```"]), section)
    with open(sys.argv[1], "w", encoding="utf-8") as stream:
        stream.write("".join(sections))


if __name__ == "__main__":
    main()
