#!/usr/bin/env python3
"""Writes docs/reference/schemes.md, the built-in schemes that users call, from dialect/Schemes/*.attn.

usage: scheme_reference.py            writes the page
       scheme_reference.py --check    exits with 1, and says so, if the page is out of date"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "reference", "schemes.md")
LISTED = re.compile(r"(?m)^#: (.*)\nscheme ")
RESULT = re.compile(r"\s*(-> \[[^\]]*\])")


def schemes(text):
    """Yields (signature, description) for each definition below a line `#: …`."""
    for match in LISTED.finditer(text):
        depth, end = 0, text.index("(", match.end())
        while True:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
            if depth == 0:
                break
        signature = " ".join(text[match.end() : end].split())
        result = RESULT.match(text, end)
        yield signature + (" " + result.group(1) if result else ""), match.group(1)


def page():
    yield "<!-- Made from dialect/Schemes by tools/site/scheme_reference.py; do not edit -->"
    yield "# Built-in schemes"
    yield ""
    yield "Files of the language itself ([schemes](../../dialect/LANGUAGE.md#schemes)); a specification calls them by name."
    yield "In a signature `x : [b, h, n, d]` is a tensor with a dimension for each axis, `base = 10000` an argument with a"
    yield "default, and `-> [h, i, j]` says the dimensions of the result. `i` and `j` are the caller's axes of queries and keys,"
    yield "unless the call says others: `alibi(slope, i = q, j = k)`. `skewer schemes` prints this list, `skewer schemes NAME` a source."
    for path in sorted(glob.glob(os.path.join(ROOT, "dialect", "Schemes", "*.attn"))):
        with open(path, encoding="utf-8") as stream:
            found = list(schemes(stream.read()))
        if not found:
            continue
        yield ""
        yield f"## {os.path.basename(path)[:-5]}"
        yield ""
        for signature, about in found:
            yield f"- `{signature}`: {about}"


def main():
    text = "\n".join(page()) + "\n"
    if sys.argv[1:] != ["--check"]:
        with open(PAGE, "w", encoding="utf-8") as stream:
            stream.write(text)
        return 0
    with open(PAGE, encoding="utf-8") as stream:
        if stream.read() == text:
            return 0
    print(f"{os.path.relpath(PAGE, ROOT)} is not what the files say: run tools/site/scheme_reference.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
