#!/usr/bin/env python3
"""The table of ratios on the README's first screen, copied from RESULTS.md: where both differ it says so and exits with 1.

usage: readme_table.py [--update]

--update writes the README's table anew. It takes the table below "## Beside peers" without its rows that are marked "later",
and the machine and the date from the paragraph above that table.
"""
import argparse
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
COLUMNS = ("workload", "best peer", "Skewer", "times faster")
BEGIN, END = "<!-- ratios: tests/bench/readme_table.py -->\n\n", "\n<!-- end of ratios -->\n"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def ratios(results):
    """The README's lines between the marks, from the text of RESULTS.md."""
    section = results.split("\n## Beside peers\n")[1].split("\n## ")[0]
    where = " ".join(section.strip().split("\n\n")[0].split()).split(";")[0]
    head, _, *rows = [cells(line) for line in section.splitlines() if line.startswith("|")]
    places = [head.index(name) for name in COLUMNS]
    kept = [[row[place] for place in places] for row in rows if not row[0].endswith("later")]
    lines = [f"{where} ([all results](tests/bench/RESULTS.md)):", "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in kept]) + "\n"


def with_ratios(readme, table):
    before, rest = readme.split(BEGIN)
    return before + BEGIN + table + END + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    with open(os.path.join(ROOT, "tests", "bench", "RESULTS.md"), encoding="utf-8") as stream:
        table = ratios(stream.read())
    page = os.path.join(ROOT, "README.md")
    with open(page, encoding="utf-8") as stream:
        readme = stream.read()
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        sys.exit("README.md has no place for the table of ratios, or several")
    if with_ratios(readme, table) == readme:
        return
    if not update:
        sys.exit("README.md's table of ratios is not that of tests/bench/RESULTS.md: tests/bench/readme_table.py --update")
    with open(page, "w", encoding="utf-8") as stream:
        stream.write(with_ratios(readme, table))


if __name__ == "__main__":
    main()
