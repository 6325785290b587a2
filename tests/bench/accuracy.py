#!/usr/bin/env python3
"""accuracy.py [SPEC...]: the share of its tolerance that each kernel's error is, over seeds and processors' schedules.

Without specs those of tests/bench, tests/e2e/schemes and tests/e2e/layers. A processor whose code runs here runs it; of one
with wider vectors or other instructions the schedule is taken for the code of this one (`--schedule`), since it is the
order of sums that matters. Status 1 where a share is above --most (0.5: docs/accuracy.md). SKEWER=path/to/skewer.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys

SKEWER = os.environ.get("SKEWER", "skewer")
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGETS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "zen4", "zen5", "cascadelake", "sapphirerapids", "host"]
PARTS = re.compile(r"(\d+) lanes, tile (\d+)x(\d+), row block (\d+), keys (\d+) at a time, (\d+) rows an item")


def call(*arguments):
    return subprocess.run([SKEWER, *arguments], capture_output=True, text=True)


def kernels_of(spec, options, target):
    """Each kernel's name with the schedule's parts, none where it has no attention or several that differ."""
    done = call("explain", spec, "--json", "--target=" + target, *options)
    if done.returncode:
        sys.exit("%s: %s" % (spec, done.stderr))
    for kernel in json.loads(done.stdout)["kernels"]:
        found = {PARTS.search(a["schedule"] or "").groups() + (any(t.get("strategy") == "strided_add" for t in a["terms"]),)
                 for a in kernel["attentions"] if PARTS.search(a["schedule"] or "")}
        yield kernel["name"], found.pop() if len(found) == 1 else None


def share(spec, kernel, options, seed, rows, how):
    done = call("run", spec, "--kernel", kernel, "--seed", str(seed), *(["--rows", str(rows)] if rows else []), *options, *how)
    found = re.findall(r"largest error (\S+) of the largest value \(tolerance (\S+)\)", done.stdout)
    if not found:
        return None, done.stderr.strip()
    return max(float(error) / float(tolerance) for error, tolerance in found), done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--rows", type=int, default=0, help="of each result (default: as many as are cheap)")
    parser.add_argument("--most", type=float, default=0.5)
    parser.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    folders = ["bench/specs", "e2e/schemes", "e2e/layers"]
    specs = arguments.specs or sorted(s for f in folders for s in glob.glob(os.path.join(TESTS, f, "*.attn")))
    options = [o for d in arguments.D for o in ("-D", d)]
    lanes = next((s[0] for _, s in kernels_of(os.path.join(TESTS, "bench/specs/plain-1k.attn"), [], "host") if s), "8")
    worst, count = 0, 0
    for spec in specs:
        shares, skipped = {}, set()
        for target in arguments.targets.split(","):
            for kernel, schedule in kernels_of(spec, options, target):
                how = ["--target=" + target]
                if target != "host" and schedule and schedule[0] == lanes:
                    names = ("tile_rows", "tile_vectors", "row_block", "key_block", "rows_per_item")
                    how = ["--schedule=" + ",".join("%s=%s" % pair for pair in zip(names, schedule[1:6]))]
                    how[0] += ",offsets=strided_add" if schedule[6] else ""
                for seed in range(1, arguments.seeds + 1):
                    value, message = share(spec, kernel, options, seed, arguments.rows, how)
                    if value is None:
                        skipped.add("%s on %s: %s" % (kernel, target, message.splitlines()[-1] if message else "no result"))
                        break
                    shares[kernel, target, seed] = value
        if shares:
            at = max(shares, key=shares.get)
            count += len(shares)
            worst = max(worst, shares[at])
            print("%-40s %.2f  (%s, %s, seed %d)%s" % (os.path.relpath(spec, TESTS), shares[at], *at,
                                                       "  ABOVE" if shares[at] > arguments.most else ""), flush=True)
        for one in sorted(skipped):
            print("%-40s left out: %s" % (os.path.relpath(spec, TESTS), one), flush=True)
    print("%d runs, at most %.2f of the tolerance" % (count, worst))
    sys.exit(1 if worst > arguments.most or not count else 0)


main()
