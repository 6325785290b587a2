#!/usr/bin/env python3
"""Checks of the pages: how links read. house.py runs them.

Each check takes the pages of the tree as (path, text) and yields its findings as file:line: message."""
import os
import re

LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\(([^()\s]+)\)")


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
