"""bar.py FOLDER [--run]: checks that the specs of positional schemes under FOLDER all fuse, and hold nothing as large as queries
times keys.

Each `explain --json` must have no term that is held or evaluated element by element, and no stage that holds scores. If the size
doubles, the workspace must grow by less than a quarter of the growth of one head's scores. With --run each kernel is also
compared with the reference.
"""
import json
import os
import re
import subprocess
import sys

# These terms may be evaluated: both positions matter, in a closed form without a table.
EVALUATED = {"fire"}
# The sizes that are doubled: tokens, or the height of a map.
SIZES = {"N": "1024", "H": "60"}


def explain(spec, options):
    result = subprocess.run(["skewer", "explain", spec, "--json", "--target=x86-64-v3", *options], capture_output=True,
                            text=True, timeout=120)
    if result.returncode:
        sys.exit("%s: %s" % (spec, result.stderr))
    return {kernel["name"]: kernel for kernel in json.loads(result.stdout)["kernels"]}


def faults(kernel, doubled):
    if kernel["unfused"] or not kernel["attentions"]:
        yield "does not fuse: %s" % kernel["unfused"]
    for stage in kernel["stages"]:
        if stage["title"] in ("attention by rows", "softmax"):
            yield "a stage holds scores: %s" % stage["title"]
    for attention in kernel["attentions"]:
        for term in attention["terms"]:
            if term["class"] == "pair by pair":
                yield "no class: %s" % term["text"]
            if term["strategy"] == "element":
                yield "evaluated one by one: %s" % term["text"]
    pairs = [sum(a["queries"] * a["keys"] for a in k["attentions"]) for k in (kernel, doubled)]
    growth = doubled["workspace_bytes"] - kernel["workspace_bytes"]
    more = pairs[1] - pairs[0]
    if more == 0:  # windows: there are twice as many of them
        more = 1.2 * kernel["workspace_bytes"]
    if growth > more:  # bytes against pairs of four bytes
        yield "the workspace grows by %d bytes for %d more pairs of a head" % (growth, more)


def main():
    folder, run = sys.argv[1], "--run" in sys.argv[2:]
    wrong = count = 0
    for name in sorted(os.listdir(folder)):
        spec = os.path.join(folder, name)
        if not name.endswith(".attn"):
            continue
        with open(spec) as f:
            text = re.sub(r"#.*", "", f.read())
        size = "H" if re.search(r"\bH\s*=\s*\d", text) else "N"
        at = lambda n: ["-D", "%s=%d" % (size, n)]
        small, large = explain(spec, at(int(SIZES[size]))), explain(spec, at(2 * int(SIZES[size])))
        for kernel in small:
            count += 1
            found = [] if name[:-5] in EVALUATED else list(faults(small[kernel], large[kernel]))
            if run:
                command = ["skewer", "run", spec, "--kernel", kernel, "--size", "batch=2", "--threads", "2",
                           *at(12 if size == "H" else 83)]
                result = subprocess.run(command, capture_output=True, text=True, timeout=120)
                if result.returncode:
                    found.append("is wrong: " + (result.stdout + result.stderr).strip()[-300:])
            wrong += bool(found)
            print("%s.%s: %s" % (name[:-5], kernel, "; ".join(found) or "fused"))
    print("%d kernels, %d wrong" % (count, wrong))
    sys.exit(1 if wrong or not count else 0)


main()
