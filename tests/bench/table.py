#!/usr/bin/env python3
"""Runs `skewer bench --json` on specs and prints one table; with --compile also the sizes of the objects."""
import argparse
import json
import os
import subprocess
import sys

COLUMNS = [
    # heading, width
    ("layer", 26), ("error", 9), ("ms", 10), ("GF/s", 8), ("of peak", 7), ("× model", 8), ("× plain", 8), ("workspace", 10), ("object", 8),
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


def row_of(name, kernel, object_bytes):
    """Returns a table row for one entry of `kernels` in the report of `skewer bench --json`."""
    seconds, share = kernel.get("median_seconds"), kernel.get("percent_of_peak")
    plain, predicted = kernel.get("plain_median_seconds"), kernel.get("predicted_seconds")
    return [
        name,
        number_text(kernel.get("max_error"), ".1e"),
        number_text(seconds and seconds * 1e3, ".3f"),
        number_text(kernel.get("gflops"), ".1f"),
        "-" if share is None else f"{share:.0f} %",
        number_text(predicted and seconds / predicted, ".2f"),
        number_text(plain and seconds / plain, ".2f"),
        size_text(kernel.get("workspace_bytes")),
        size_text(object_bytes),
    ]


def line_of(cells):
    return "  ".join(f"{cell:<{width}}" if not place else f"{cell:>{width}}"
                     for place, (cell, (_, width)) in enumerate(zip(cells, COLUMNS))).rstrip()


def run(command):
    """Runs a command. Returns its standard output, and whether it succeeded. Its messages go to the terminal. Notes about seeded
    operands would stand between the table's rows, so that they are shown only if the command failed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    for line in done.stderr.splitlines():
        if done.returncode or not line.startswith("skewer: note: "):
            print(line, file=sys.stderr)
    if done.returncode:
        print(f"table: '{' '.join(command)}' failed with status {done.returncode}", file=sys.stderr)
    return done.stdout, done.returncode == 0


def compile_spec(skewer, spec, out):
    """Returns the bytes of the objects that `skewer compile` writes into a folder of its own under `out`; None if it failed."""
    folder = os.path.join(out, os.path.splitext(os.path.basename(spec))[0])
    os.makedirs(folder, exist_ok=True)
    _, compiled = run([skewer, "compile", spec, "-o", folder])
    if not compiled:
        return None
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".o"))


def kernels_of(output):
    """Returns the entries of `kernels` in a report; none if the text is no report."""
    try:
        return json.loads(output)["kernels"]
    except (ValueError, KeyError, TypeError):
        return []


def bench_spec(arguments, spec):
    """Prints the spec's rows. Returns False if compiling or measuring failed, or a result was wrong."""
    name = os.path.splitext(os.path.basename(spec))[0]
    object_bytes = None
    if arguments.compile:
        object_bytes = compile_spec(arguments.skewer, spec, arguments.out)
        if object_bytes is None:
            return False
    command = [arguments.skewer, "bench", "--json", spec]
    if arguments.threads:
        command += ["--threads", arguments.threads]
    if arguments.plain:
        command.append("--plain")
    output, right = run(command)
    kernels = kernels_of(output)
    if right and not kernels:
        print(f"table: '{' '.join(command)}' printed no report", file=sys.stderr)
    for kernel in kernels:
        row = row_of(name if len(kernels) == 1 else kernel["name"], kernel, object_bytes)
        print(line_of(row) + ("" if right else "  wrong"), flush=True)
    return right and bool(kernels)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skewer", required=True, help="the compiler driver")
    parser.add_argument("--compile", action="store_true", help="compile each spec first and show the size of its object")
    parser.add_argument("--out", default="out", help="folder for what --compile makes")
    parser.add_argument("--threads", help="passed to skewer bench")
    parser.add_argument("--plain", action="store_true",
                        help="time attention of the same sizes without positions too: what do the positions cost?")
    parser.add_argument("specs", nargs="+")
    arguments = parser.parse_args()

    print(line_of([heading for heading, _ in COLUMNS]), flush=True)
    failed = [spec for spec in arguments.specs if not bench_spec(arguments, spec)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
