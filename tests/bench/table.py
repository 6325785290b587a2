#!/usr/bin/env python3
"""Runs `skewer bench --json` on specs and prints one table; with --compile also what `skewer compile` makes of each."""
import argparse
import json
import os
import subprocess
import sys

COLUMNS = [
    # heading, width
    ("layer", 26), ("error", 9), ("ms", 10), ("GF/s", 8), ("peak", 6), ("workspace", 10), ("object", 8),
]


def size_text(count):
    if count is None:
        return "-"
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GB"


def number_text(value, pattern):
    return "-" if value is None else format(value, pattern)


def parse_report(text):
    """The JSON object in the output of `skewer bench --json`, of its first kernel where it is a list."""
    report = json.loads(text)
    return report[0] if isinstance(report, list) else report


def row_of(name, report, object_bytes):
    peak = report.get("share_of_peak")
    return [
        name,
        number_text(report.get("max_error"), ".1e"),
        number_text(report.get("milliseconds"), ".3f"),
        number_text(report.get("gflops"), ".1f"),
        "-" if peak is None else f"{100 * peak:.0f} %",
        size_text(report.get("workspace_bytes")),
        size_text(object_bytes),
    ]


def line_of(cells):
    return "  ".join(f"{cell:<{width}}" if not place else f"{cell:>{width}}"
                     for place, (cell, (_, width)) in enumerate(zip(cells, COLUMNS))).rstrip()


def run(command):
    """Standard output of a command; its messages go to the terminal. None where it failed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"table: '{' '.join(command)}' failed with status {done.returncode}", file=sys.stderr)
        return None
    return done.stdout


def compile_spec(skewer, spec, out):
    """Bytes of the object files that `skewer compile` writes into a folder of its own under `out`; None where it failed."""
    folder = os.path.join(out, os.path.splitext(os.path.basename(spec))[0])
    os.makedirs(folder, exist_ok=True)
    if run([skewer, "compile", spec, "-o", folder]) is None:
        return None
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".o"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skewer", required=True, help="the compiler driver")
    parser.add_argument("--compile", action="store_true", help="compile each spec first and show the size of its object")
    parser.add_argument("--out", default="out", help="folder for what --compile makes")
    parser.add_argument("--threads", help="passed to skewer bench")
    parser.add_argument("specs", nargs="+")
    arguments = parser.parse_args()

    print(line_of([heading for heading, _ in COLUMNS]), flush=True)
    failed = 0
    for spec in arguments.specs:
        name = os.path.splitext(os.path.basename(spec))[0]
        object_bytes = None
        if arguments.compile:
            object_bytes = compile_spec(arguments.skewer, spec, arguments.out)
            if object_bytes is None:
                failed += 1
                continue
        command = [arguments.skewer, "bench", "--json", spec]
        if arguments.threads:
            command += ["--threads", arguments.threads]
        output = run(command)
        try:
            report = parse_report(output) if output is not None else None
        except ValueError:
            print(f"table: '{' '.join(command)}' printed something that is not JSON", file=sys.stderr)
            report = None
        if report is None:
            failed += 1
            continue
        print(line_of(row_of(name, report, object_bytes)), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
