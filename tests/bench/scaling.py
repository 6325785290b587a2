#!/usr/bin/env python3
"""Measures the sweeps of docs/scaling.md with `skewer bench --sweep`, and writes the page's tables and pictures anew.

usage: scaling.py [--skewer PROGRAM] [--only NAME,…] [--most-n N] [--seconds S] [--loaded]
       scaling.py --list            prints the commands and runs none

Each block of the page between the marks `sweep: NAME` and `end of sweep` gets the command, the machine, the date, the table and the
picture, NAME.svg in docs/pictures/measured. Measure while nothing else runs; --loaded says in the page that something did.
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PICTURES = os.path.join("pictures", "measured")
REL1D = "examples/rel1d/rel1d.attn"


def sweeps(options):
    """For each name: the spec, the sweep, and further options."""
    return {
        "n": (REL1D, f"N=128:{options.most_n}", ["-D", "heads=1"]),
        "dim": (REL1D, "dim=16:256", ["-D", "N=1024", "-D", "heads=1"]),
        "terms": ("docs/pictures/measured/terms.attn", "terms=1:6:1", []),
        "threads": (REL1D, f"threads=1:{os.cpu_count()}", ["-D", "N=1024"]),
    }


def size_text(count):
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"


def number_text(value, pattern, unit=""):
    return "-" if value is None else format(value, pattern) + unit


def table_of(report):
    """Returns the rows of a report of `skewer bench --sweep --json` as a table of Markdown."""
    lines = [f"| {report['sweep']} | ms | GFLOP/s | of peak | of the roofline | × plain | workspace | compile, s |",
             "|---|---|---|---|---|---|---|---|"]
    for row in report["kernels"]:
        plain = row["plain_median_seconds"]
        cells = [str(row["value"]), f"{row['median_seconds'] * 1e3:.3g}", number_text(row["gflops"], ".0f"),
                 number_text(row["percent_of_peak"], ".0f", " %"), number_text(row["percent_of_roofline"], ".0f", " %"),
                 number_text(plain and row["median_seconds"] / plain, ".2f"), size_text(row["workspace_bytes"]),
                 f"{row['compile_seconds']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def machine():
    """Returns the name of the processor, as Linux has it."""
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        found = re.search(r"^model name\s*: (.*)$", stream.read(), re.MULTILINE)
    return found.group(1) if found else "an unknown processor"


def command_of(name, options):
    """Returns the command of a sweep, with paths from the root."""
    spec, sweep, further = sweeps(options)[name]
    picture = os.path.join(options.folder, PICTURES, f"{name}.svg")
    return ["bench", spec, "--sweep", sweep, *further, "--seconds", options.seconds, "-o", picture]


def block_of(name, report, options):
    """Returns the text between the marks of a sweep."""
    load = " Other programs ran on the machine: ratios are better than times." if options.loaded else ""
    spec, sweep, further = sweeps(options)[name]
    return "\n".join([f"    skewer {' '.join(['bench', spec, '--sweep', sweep, *further, '-o', name + '.svg'])}", "",
                      f"{machine()}, {datetime.date.today()}, f32.{load}", "", *table_of(report), "",
                      f"![time, workspace and compile time over {report['sweep']}](pictures/measured/{name}.svg)"])


def with_block(page, name, block):
    """Returns the page with this text between the marks of a sweep; nothing if it has no such marks."""
    now, count = re.subn(rf"(<!-- sweep: {name} .*?-->\n).*?(<!-- end of sweep -->)", lambda found: f"{found[1]}\n{block}\n\n{found[2]}",
                         page, flags=re.DOTALL)
    return now if count == 1 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skewer", default=os.path.join(ROOT, "build", "release", "bin", "skewer"))
    parser.add_argument("--only", default="", help="names of sweeps, with commas (default: all)")
    parser.add_argument("--most-n", default="16384", help="the largest N of the sweep over N (default: 16384)")
    parser.add_argument("--seconds", default="1", help="time for each line (default: 1)")
    parser.add_argument("--loaded", action="store_true", help="say that other programs ran")
    parser.add_argument("--list", action="store_true", help="print the commands and run none")
    parser.add_argument("--folder", default=os.path.join(ROOT, "docs"), help="where the page and its pictures are (default: docs)")
    options = parser.parse_args()
    page_path = os.path.join(options.folder, "scaling.md")
    chosen = options.only.split(",") if options.only else list(sweeps(options))
    for name in chosen:
        if name not in sweeps(options):
            sys.exit(f"scaling.py: no sweep is named '{name}'; there are {', '.join(sweeps(options))}")
        command = command_of(name, options)
        print("skewer", *command, flush=True)
        if options.list:
            continue
        os.makedirs(os.path.join(options.folder, PICTURES), exist_ok=True)
        done = subprocess.run([options.skewer, *command, "--json"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(done.returncode)
        with open(page_path, encoding="utf-8") as stream:
            page = with_block(stream.read(), name, block_of(name, json.loads(done.stdout), options))
        if page is None:
            sys.exit(f"scaling.py: {page_path} has no marks 'sweep: {name}'")
        with open(page_path, "w", encoding="utf-8") as stream:
            stream.write(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
