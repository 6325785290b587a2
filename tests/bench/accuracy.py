#!/usr/bin/env python3
"""accuracy.py [SPEC...]: the share of its tolerance that each kernel's error is, over seeds and processors' schedules.

Without specs those of tests/bench, tests/e2e/schemes, tests/e2e/layers and tests/e2e/conformance. Of a processor whose vectors
are as wide as this one's the schedule is taken for the code of this one (`--schedule`), since it is the order of sums that
matters; processors that choose the same schedule are one run. Of others the code itself runs. The worst share of each spec
stands on a line, that of each folder at the end. Status 1 where a share is above --most (0.5: docs/accuracy.md).
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
    """The number of the term whose table rows are added to keys; 0 where there is none."""
    return next((number for number, term in enumerate(terms, 1) if term.get("strategy") == "strided_add"), 0)


def kernels_of(spec, options, target):
    """Each kernel's name with the schedule's parts, none where it has no attention or several that differ."""
    done = call("explain", spec, "--json", "--target=" + target, *options)
    if done.returncode:
        sys.exit("%s: %s" % (spec, done.stderr))
    for kernel in json.loads(done.stdout)["kernels"]:
        found = {PARTS.search(a["schedule"] or "").groups() + (strided_of(a["terms"]),)
                 for a in kernel["attentions"] if PARTS.search(a["schedule"] or "")}
        yield kernel["name"], found.pop() if len(found) == 1 else None


def shares_of(spec, kernel, options, seeds, rows, how):
    """The worst share of each seed's results, fewer where the kernel could not be run, and what was said of that."""
    done = call("run", spec, "--kernel", kernel, "--seeds", str(seeds), *(["--rows", str(rows)] if rows else []), *options, how)
    found = re.findall(r"largest error (\S+) of the largest value \(tolerance (\S+)\)", done.stdout)
    each = len(found) // seeds  # results
    shares = [float(error) / float(tolerance) for error, tolerance in found]
    return [max(shares[seed * each:(seed + 1) * each]) for seed in range(seeds)] if each else [], done.stderr.strip()


def lanes_of(target):
    """None where the processor's schedule cannot be told."""
    spec = os.path.join(TESTS, "bench/specs/plain-1k.attn")
    return next((schedule[0] for _, schedule in kernels_of(spec, [], target) if schedule), None)


def ways_of(spec, options, targets, lanes):
    """Options that make each kernel as a target does, and the first target that asks for it: {(kernel, options): target}."""
    ways = {}
    for target in targets:
        for kernel, schedule in kernels_of(spec, options, target):
            how = "--target=" + target
            if lanes[target] == lanes["host"]:
                how = "--target=host" # also where there is nothing to choose
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
