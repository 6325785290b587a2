#!/usr/bin/env python3
"""Checks of the pages: how links read, and that the index of the end-to-end tests is complete. house.py runs them.

Each check takes the pages of the tree as (path, text) and yields its findings as file:line: message."""
import fnmatch
import os
import re

LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\(([^()\s]+)\)")
INDEX = "tests/e2e/README.md"


def outside_of_fences(text):
    """Number and text of each line that is not in a fenced block."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def is_file_name(words, target):
    """Whether the text of a link is the name of a file or folder, with or without folders above it, and not a title."""
    words = words.strip("`")
    stem = os.path.splitext(os.path.basename(target.split("#")[0]))[0]
    return " " not in words and (bool(re.search(r"/|\.[A-Za-z]{1,5}$", words)) or words == stem and stem.isupper())


def link_titles(pages):
    """A reader chooses a link by its text: the title of a page, or what is there, and no file name."""
    for path, text in pages:
        for number, line in outside_of_fences(text):
            for words, target in LINK.findall(line):
                if is_file_name(words, target):
                    yield f"{path}:{number}: the text of the link to '{target}' is a file name: write a title"


def indexed(paths):
    """Names that the index must have: folders and tests of tests/e2e, and the layers, schemes and cases in its folders."""
    for path in paths:
        parts = path.split("/")
        if parts[:2] != ["tests", "e2e"]:
            continue
        if len(parts) > 3:
            yield parts[2]
        elif path.endswith(".test"):
            yield parts[2]
        if len(parts) > 3 and parts[2] in ("layers", "schemes") and path.endswith(".attn"):
            yield parts[3][:-len(".attn")]
        if len(parts) > 4 and parts[2] == "conformance":
            yield parts[3]


def e2e_index(paths, text):
    """The index names everything that it should, and nothing else: `NAME`, or `NAME*` for several."""
    wanted, named = sorted(set(indexed(paths))), {}
    for number, line in outside_of_fences(text):
        if line.startswith("|"):
            for cell in re.findall(r"`([^`]+)`", line):
                if re.fullmatch(r"[\w.*-]+", cell):
                    named.setdefault(cell, number)
    for name in wanted:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in named):
            yield f"{INDEX}:1: '{name}' is not in the index"
    for pattern, number in named.items():
        if not fnmatch.filter(wanted, pattern):
            yield f"{INDEX}:{number}: '{pattern}' is no folder, test, layer, scheme or case"
