#!/usr/bin/env python3
"""Changes random texts in ways that keep their meaning, and checks that the changed text gives the same value or an error.

    metamorphic.py --meaning build/release/bin/skewer-meaning --seeds 0:20000 [--kernels] [--evaluator] [--keep FOLDER]

The changes: names of every kind are replaced by fresh names, or by names that clash; operands of + and * are swapped; expressions
get names, and names are inlined; a call becomes the scheme's body; tensors go there and back by rearrange; params come from -D or
are written out; statements change places; joins are written with None. Without --kernels the float64 reference computes the
values; with --kernels compiled kernels do, and are compared with the reference too. With --evaluator the second evaluator
(attn_text) computes each text too. The script prints each violation with its two texts, and exits with 1 if there is one.
"""
import argparse
import collections
import os
import random
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from meta.changes import CHANGES  # noqa: E402
from meta.generator import Generator  # noqa: E402
from meta.tree import Printer  # noqa: E402

AT_ONCE = 400            # texts in one call of the compiler
TOLERANCE = {False: 2e-7, True: 2e-5}  # shares of the largest value, by --kernels; constants are rounded to f32


def meanings(tool, texts, options):
    """Returns (results, "") or (None, the first error) for each (text, -D)."""
    out = []
    for begin in range(0, len(texts), AT_ONCE):
        some = texts[begin:begin + AT_ONCE]
        stream = "".join("=== {} {}\n{}".format(number, " ".join(f"{name}={value}" for name, value in defines.items()), text)
                         for number, (text, defines) in enumerate(some))
        done = subprocess.run([tool, *options], input=stream, capture_output=True, text=True, check=False)
        results, errors = sections(done.stdout), sections(done.stderr)
        if done.returncode or len(results) != len(some):
            out += crashed(tool, some, options) if len(some) > 1 else [(None, f"CRASH {done.returncode}: {done.stderr[-300:]}")]
            continue
        for lines, said in zip(results, errors):
            arrays = [array_of(line) for line in lines]
            error = next((line for line in said if "error" in line), "")
            out.append((arrays, "") if arrays and not error else (None, error or "no result"))
    return out


def crashed(tool, texts, options):
    return [meanings(tool, [each], options)[0] for each in texts]


def sections(output):
    found = []
    for line in output.splitlines():
        if line.startswith("=== "):
            found.append([])
        elif found:
            found[-1].append(line)
    return found


def array_of(line):
    _, _, rank, *rest = line.split(" ")
    shape = [int(size) for size in rest[:int(rank)]]
    return np.array([float(value) for value in rest[int(rank):]]).reshape(shape)


def differ(one, other, tolerance):
    """Returns how two results differ, or None."""
    for a, b in zip(one, other):
        if a.shape != b.shape:
            return f"shapes {a.shape} and {b.shape}"
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        scale = max(np.abs(a[np.isfinite(a)]).max(initial=0), 1e-6)
        with np.errstate(invalid="ignore"):
            far = ~same & ~(np.abs(a - b) <= tolerance * scale)
        if far.any():
            at = tuple(int(n[0]) for n in np.nonzero(far))
            return f"{a[at]:.9g} and {b[at]:.9g} at {list(at)}"
    return None


def evaluated(text, inputs):
    from attn_text import AttnError, Program, evaluate  # pylint: disable=import-outside-toplevel
    try:
        return list(evaluate(Program(text), inputs).values()), ""
    except AttnError as error:
        return None, str(error)


class Campaign:
    def __init__(self, options):
        self.options, self.count = options, collections.Counter()
        self.violations = 0

    def report(self, seed, what, verdict, base, changed=None):
        self.violations += 1
        self.count["VIOLATION " + what.split(":")[0]] += 1
        if self.violations <= self.options.show:
            print(f"--- seed {seed}, {what}: {verdict}\n{base}")
            if changed is not None:
                print(f"--- changed\n{changed}", flush=True)
        if self.options.keep:
            os.makedirs(self.options.keep, exist_ok=True)
            with open(os.path.join(self.options.keep, f"{seed}-{what.split(':')[0].replace(' ', '-')}.txt"), "w", encoding="utf-8") as stream:
                stream.write(f"{what}: {verdict}\n{base}---\n{changed or ''}")

    def run(self, seeds):
        texts, jobs = [], []
        for seed in seeds:
            text = Generator(seed).random_text()
            dice = random.Random(seed * 7919 + 1)
            texts.append((Printer().text(text), {}))
            base = len(texts) - 1
            for change in dice.sample(CHANGES, self.options.changes):
                made = change(text, dice)
                if made is not None and (made[1], made[2]) != texts[base]:
                    jobs.append((seed, base, len(texts), made[0], made[3]))
                    texts.append((made[1], made[2]))
        found = meanings(self.options.meaning, texts, ["--kernels"] if self.options.kernels else [])
        for seed, base, at, what, same in jobs:
            self.judge(seed, what, same, (texts[base][0], found[base]), (self.shown(texts[at]), found[at]))
        if self.options.kernels:
            bases = sorted({(seed, base) for seed, base, *_ in jobs})
            for (seed, base), (values, _) in zip(bases, meanings(self.options.meaning, [texts[base] for _, base in bases], [])):
                how = differ(values, found[base][0], TOLERANCE[True]) if values is not None and found[base][0] is not None else None
                if how:
                    self.report(seed, "reference", f"reference and kernel: {how}", texts[base][0])
        for (_, defines), (values, error) in zip(texts, found):
            self.count["refused" if values is None else "accepted"] += not defines
            if error.startswith("CRASH"):
                self.violations += 1
        for base in sorted({job[1] for job in jobs}) if self.options.evaluator else ():
            self.beside_evaluator(next(job[0] for job in jobs if job[1] == base), texts[base][0], found[base])

    @staticmethod
    def shown(text):
        return "".join(f"# -D {name}={value}\n" for name, value in text[1].items()) + text[0]

    def judge(self, seed, what, same, one, other):
        (text, (values, error)), (changed, (theirs, their_error)) = one, other
        self.count["pairs"] += 1
        if values is None or theirs is None:
            if same and (values is None) != (theirs is None):
                self.report(seed, what, f"accepted, and refused: {error or their_error}", text, changed)
            elif "CRASH" in error + their_error or "compiler is at fault" in error + their_error:
                self.report(seed, what, error or their_error, text, changed)
            return
        self.count["compared"] += 1
        how = differ(values, theirs, TOLERANCE[self.options.kernels])
        if how:
            self.report(seed, what, how, text, changed)

    def beside_evaluator(self, seed, text, found):
        values, error = found
        mine, why = evaluated(text, self.operands(text))
        if (values is None) != (mine is None):
            self.report(seed, "evaluator", f"compiler: {error or 'accepted'} | evaluator: {why or 'accepted'}", text)
        elif values is not None:
            how = differ(values, mine, 1e-6)
            if how:
                self.report(seed, "evaluator", f"compiler and evaluator: {how}", text)

    def operands(self, text):
        """Returns the compiler's own operands, each from a kernel that returns it alone."""
        import re  # pylint: disable=import-outside-toplevel
        head = re.search(r"kernel layer\((.*)\) ->", text).group(1)
        params = re.search(r"^param.*$", text, re.MULTILINE).group(0)
        operands = re.findall(r"(\w+) : (f32\[[^\]]*\])", head)
        results = ", ".join(f"r{name} : {kind}" for name, kind in operands)
        echo = f"{params}\nkernel layer({head}) -> ({results}) {{\n  return {', '.join(name + ' * 1' for name, _ in operands)}\n}}\n"
        if len(operands) == 1:
            echo = f"{params}\nkernel layer({head}) -> {operands[0][1]} {{\n  return {operands[0][0]} * 1\n}}\n"
        values, error = meanings(self.options.meaning, [(echo, {})], [])[0]
        if values is None:
            raise RuntimeError(error + "\n" + echo)
        return {name: value for (name, _), value in zip(operands, values)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--meaning", required=True, help="the tool skewer-meaning")
    p.add_argument("--seeds", default="0:500")
    p.add_argument("--changes", type=int, default=3, help="changes of each text")
    p.add_argument("--kernels", action="store_true", help="what compiled kernels return")
    p.add_argument("--evaluator", action="store_true", help="beside the second evaluator too")
    p.add_argument("--show", type=int, default=20, help="violations to print")
    p.add_argument("--keep", help="folder for the texts of violations")
    options = p.parse_args()
    begin, end = map(int, options.seeds.split(":"))
    campaign = Campaign(options)
    for first in range(begin, end, 100):
        campaign.run(range(first, min(first + 100, end)))
    print(", ".join(f"{value} {name}" for name, value in sorted(campaign.count.items())))
    accepted = campaign.count["accepted"]
    if not accepted or accepted < campaign.count["refused"]:
        print("most texts are refused: the generator is at fault")
    sys.exit(1 if campaign.violations or accepted < campaign.count["refused"] else 0)


if __name__ == "__main__":
    main()
