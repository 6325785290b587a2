#!/usr/bin/env python3
"""Copies tables of RESULTS.md into the README and docs/comparison.md: where a copy differs it says so and exits with 1.

usage: readme_table.py [--update]

--update writes the copies anew. Each takes some columns of the first table below a heading of RESULTS.md, and the machine and
the date from the first sentence below that heading. The README's leaves out the rows that are marked "later".
"""
import argparse
import os
import re
import sys
from typing import NamedTuple

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
RESULTS = "tests/bench/RESULTS.md"


class Copy(NamedTuple):
    """A place of a page, between marks with this name, and what is copied there."""
    page: str
    name: str
    heading: str
    columns: tuple
    later: bool = True  # with the rows that were measured later
    needs: str = ""  # a column that is not empty in the rows that are copied; "…" continues the row above and is left out


COPIES = (
    Copy("README.md", "ratios", "Beside peers", ("workload", "best peer", "Skewer", "times faster"), later=False),
    Copy("docs/comparison.md", "ratios", "Beside peers", ("workload", "best peer", "Skewer", "of peak", "times faster")),
    Copy("docs/comparison.md", "models", "Inside models",
         ("attention", "eager", "SDPA", "eager, compiled", "SDPA, compiled", "Skewer", "times faster, 1 thread")),
    Copy("docs/comparison.md", "gpus", "GPU kernels", ("layer", "ms", "beside"), needs="beside"),
)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(results, copy):
    """The page's lines between the marks, from the text of RESULTS.md."""
    section = results.split(f"\n## {copy.heading}\n")[1].split("\n## ")[0]
    where = re.split(r"\.(?:\s|$)", " ".join(section.strip().split("\n\n")[0].split()))[0]
    if not copy.later:
        where = where.split(";")[0]
    first = re.search(r"(?:^\|.*\n)+", section + "\n", re.MULTILINE).group()
    head, _, *rows = [cells(line) for line in first.splitlines()]
    places = [head.index(name) for name in copy.columns]
    if not copy.later:
        rows = [row for row in rows if not row[0].endswith("later")]
    if copy.needs:
        rows = [row for row in rows if row[head.index(copy.needs)] and not row[0].startswith("…")]
    kept = [[row[place] for place in places] for row in rows]
    link = os.path.relpath(RESULTS, os.path.dirname(copy.page) or ".")
    lines = [f"{where} ([all results]({link}#{copy.heading.lower().replace(' ', '-')})):", "", f"| {' | '.join(copy.columns)} |",
             "|---" * len(copy.columns) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in kept]) + "\n"


def marks(copy):
    return f"<!-- {copy.name}: tests/bench/readme_table.py -->\n\n", f"\n<!-- end of {copy.name} -->\n"


def with_table(text, copy, lines):
    """The page's text with the lines between its marks; None if it has no such marks, or several."""
    begin, end = marks(copy)
    if text.count(begin) != 1 or text.count(end) != 1:
        return None
    before, rest = text.split(begin)
    return before + begin + lines + end + rest.split(end)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    with open(os.path.join(ROOT, RESULTS), encoding="utf-8") as stream:
        results = stream.read()
    for copy in COPIES:
        page = os.path.join(ROOT, copy.page)
        with open(page, encoding="utf-8") as stream:
            old = stream.read()
        new = with_table(old, copy, table(results, copy))
        if new is None:
            sys.exit(f"{copy.page} has no place for the table of {copy.name}, or several")
        if new == old:
            continue
        if not update:
            sys.exit(f"{copy.page}: the table of {copy.name} is not that of {RESULTS}: tests/bench/readme_table.py --update")
        with open(page, "w", encoding="utf-8") as stream:
            stream.write(new)


if __name__ == "__main__":
    main()
