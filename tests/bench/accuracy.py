#!/usr/bin/env python3
"""accuracy.py [SPEC...]: prints each kernel's error as a share of its tolerance, over seeds and processors' schedules.

Without specs it takes those of tests/bench, tests/e2e/schemes, tests/e2e/layers and tests/e2e/conformance. For a processor with
vectors as wide as this one's, it runs that processor's schedule in code for this one (`--schedule`), since the order of sums
matters. Processors that choose the same schedule share a run. For other processors it runs their own code. It prints the worst
share of each spec, and of each folder at the end. The status is 1 if a share is above --most (0.5: docs/accuracy.md).
SKEWER=path/to/skewer.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

SKEWER = os.environ.get("SKEWER", "skewer")
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGETS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "zen4", "zen5", "cascadelake", "sapphirerapids", "host"]
PARTS = re.compile(r"(\d+) lanes, tile (\d+)x(\d+), row block (\d+), keys (\d+) at a time, (\d+) rows? an item")


def call(*arguments):
    return subprocess.run([SKEWER, *arguments], capture_output=True, text=True)


def strided_of(terms):
    """Returns the number of the term whose table rows are added to keys; 0 if there is none."""
    return next((number for number, term in enumerate(terms, 1) if term.get("strategy") == "strided_add"), 0)


def kernels_of(spec, options, target):
    """Returns each kernel's name with the parts of its schedule; none if it has no attention, or several different ones."""
    done = call("explain", spec, "--json", "--target=" + target, *options)
    if done.returncode:
        sys.exit("%s: %s" % (spec, done.stderr))
    for kernel in json.loads(done.stdout)["kernels"]:
        found = {PARTS.search(a["schedule"] or "").groups() + (strided_of(a["terms"]),)
                 for a in kernel["attentions"] if PARTS.search(a["schedule"] or "")}
        yield kernel["name"], found.pop() if len(found) == 1 else None


def shares_of(spec, kernel, options, seeds, rows, how):
    """Returns the worst share of each seed's results, and messages; fewer shares if the kernel could not run."""
    done = call("run", spec, "--kernel", kernel, "--seeds", str(seeds), *(["--rows", str(rows)] if rows else []), *options, how)
    found = re.findall(r"largest error (\S+) of the largest value \(tolerance (\S+)\)", done.stdout)
    each = len(found) // seeds  # results
    shares = [float(error) / float(tolerance) for error, tolerance in found]
    return [max(shares[seed * each:(seed + 1) * each]) for seed in range(seeds)] if each else [], done.stderr.strip()


def lanes_of(target):
    """Returns the lanes of the processor's vectors; None if its schedule cannot be found."""
    spec = os.path.join(TESTS, "bench/specs/plain-1k.attn")
    return next((schedule[0] for _, schedule in kernels_of(spec, [], target) if schedule), None)


def ways_of(spec, options, targets, lanes):
    """Returns the options that make each kernel as a target does, with the first such target: {(kernel, options): target}."""
    ways = {}
    for target in targets:
        for kernel, schedule in kernels_of(spec, options, target):
            how = "--target=" + target
            if lanes[target] == lanes["host"]:
                how = "--target=host" # also if there is nothing to choose
                if schedule:
                    names = ("tile_rows", "tile_vectors", "row_block", "key_block", "rows_per_item")
                    how = "--schedule=" + ",".join("%s=%s" % pair for pair in zip(names, schedule[1:6]))
                    how += ",strategy%d=strided_add" % schedule[6] if schedule[6] else ""
            ways.setdefault((kernel, how), target)
    return ways


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--rows", type=int, default=0, help="of each result (default: as many as are cheap)")
    parser.add_argument("--most", type=float, default=0.5)
    parser.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    if not shutil.which(SKEWER):
        parser.error("there is no program '%s'; SKEWER=path/to/skewer says where it is" % SKEWER)
    folders = ["bench/specs", "e2e/schemes", "e2e/layers", "e2e/conformance/*"]
    specs = arguments.specs or sorted(s for f in folders for s in glob.glob(os.path.join(TESTS, f, "*.attn")))
    options = [o for d in arguments.D for o in ("-D", d)]
    targets = arguments.targets.split(",")
    lanes = {target: lanes_of(target) for target in targets + ["host"]}
    count, of_folder = 0, {}
    for spec in specs:
        name = os.path.relpath(spec, TESTS)
        shares, skipped = {}, set()
        for (kernel, how), target in ways_of(spec, options, targets, lanes).items():
            values, message = shares_of(spec, kernel, options, arguments.seeds, arguments.rows, how)
            if not values:
                skipped.add("%s on %s: %s" % (kernel, target, message.splitlines()[-1] if message else "no result"))
            shares.update({(kernel, target, seed): value for seed, value in enumerate(values, 1)})
        if shares:
            at = max(shares, key=shares.get)
            count += len(shares)
            folder = "/".join(name.split("/")[:2])
            of_folder[folder] = max(of_folder.get(folder, (0, "")), (shares[at], name))
            print("%-40s %.2f  (%s, %s, seed %d; %d runs)%s" % (name, shares[at], *at, len(shares),
                                                                "  ABOVE" if shares[at] > arguments.most else ""), flush=True)
        for one in sorted(skipped):
            print("%-40s left out: %s" % (name, one), flush=True)
    for folder, (value, name) in sorted(of_folder.items()):
        print("%s: at most %.2f of the tolerance (%s)" % (folder, value, name))
    worst = max((value for value, _ in of_folder.values()), default=0)
    print("%d runs, at most %.2f of the tolerance" % (count, worst))
    sys.exit(1 if worst > arguments.most or not count else 0)


main()
