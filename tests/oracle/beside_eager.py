#!/usr/bin/env python3
"""Compares the error of a compiled kernel with the error of eager code in f32, both against float64, for random layers.

    beside_eager.py --seeds 0:3000 [--target x86-64-v3] [--most 2] [--numpy] [--quiet]

Eager code is PyTorch's on the CPU if it can be imported, otherwise NumPy's. The script needs the Python package `skewer`. A check
is one result of one layer for one spread of the operands (SPREADS). It divides the root mean square of the kernel's error, over
all elements of the result, by the one of eager code. If eager code is more exact than f32 can hold the result, the rounding to
f32 counts as its error. A check above --most is repeated with eight more draws. If their median is below --most, it was noise;
otherwise the check is printed with its text. Exits with 1 if there is such a check, if a layer does not compile, or if only one
of kernel and float64 is infinite or NaN.
"""
import argparse
import os
import sys
import time
import warnings

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from eager.arithmetic import EAGER, OfNumpy  # noqa: E402
from eager.layers import Layer  # noqa: E402

import skewer  # noqa: E402

SPREADS = (0.03, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50)  # of the queries
AGAIN = 8


def square(x):
    return float(np.vdot(x, x))


def errors(layer, kernel, spread, seed, arithmetic):
    """Returns for each result: the sums of squares of the errors of the kernel and of eager code; whether the kernel is infinite
    or NaN exactly where float64 is; and the largest value."""
    arrays, sizes = layer.drawn(spread, seed)
    got = kernel(**arrays)
    with np.errstate(all="ignore"):
        exact = layer.eager(arithmetic(64), arrays, sizes)
        eager = layer.eager(arithmetic(32), arrays, sizes)
    found = []
    for ours, theirs, right in zip(got if isinstance(got, tuple) else (got,), eager, exact):
        held = right.astype(np.float32).astype(np.float64)  # infinite if f32 is
        numbers = np.isfinite(held)
        same = np.array_equal(np.where(numbers, 0, held), np.where(numbers, 0, ours.astype(np.float64)), equal_nan=True) and \
            np.isfinite(ours[numbers]).all()
        squares = [square(x[numbers] - right[numbers]) for x in (ours.astype(np.float64), theirs.astype(np.float64), held)]
        largest = float(np.abs(right[numbers]).max(initial=0))
        found.append((squares[0], max(*squares[1:], np.finfo(np.float32).tiny), bool(same), largest))
    return found


def ratio(one):
    return (one[0] / one[1]) ** 0.5


def lasting(layer, kernel, spread, seed, result, arithmetic):
    """Returns the median ratio of several sets of operands, because two keys that nearly tie make a single ratio extreme."""
    seeds = [seed + 1000003 * (n + 1) for n in range(AGAIN)]
    return float(np.median([ratio(errors(layer, kernel, spread, one, arithmetic)[result]) for one in seeds]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:100", help="FIRST:END")
    parser.add_argument("--target", default="host")
    parser.add_argument("--most", type=float, default=2.0)
    parser.add_argument("--numpy", action="store_true", help="beside NumPy, also where there is PyTorch")
    parser.add_argument("--quiet", action="store_true", help="no line on the way")
    options = parser.parse_args()
    first, end = map(int, options.seeds.split(":"))
    warnings.simplefilter("ignore", skewer.CompileWarning)
    arithmetic = OfNumpy if options.numpy else EAGER
    print("beside", arithmetic.name, flush=True)
    ratios, wrong, noise, said = [], 0, 0, time.time()
    for seed in range(first, end):
        layer = Layer(seed)
        try:
            kernel = skewer.compile(layer.text, target=options.target, cache=False)
        except skewer.SkewerError as error:
            wrong += 1
            print("seed %d: %s\n%s\n%s" % (seed, layer.kind, error, layer.text), flush=True)
            continue
        for spread in SPREADS:
            for result, one in enumerate(errors(layer, kernel, spread, seed, arithmetic)):
                value = ratio(one)
                ratios.append(value)
                again = lasting(layer, kernel, spread, seed, result, arithmetic) if value > options.most else 0
                noise += value > options.most >= again
                if not one[2] or again > options.most:
                    wrong += 1
                    print("seed %d, spread %g, result %d: %s\n  %.2f times eager's error, %.2f over %d sets, largest value %.3g\n%s" %
                          (seed, spread, result, "" if one[2] else "NOT THE SAME NUMBERS", value, again, AGAIN, one[3], layer.text),
                          flush=True)
        if not options.quiet and time.time() > said + 60:
            said = time.time()
            print("seed %d: %d checks" % (seed, len(ratios)), flush=True)
    print("%d checks of %d layers: median %.2f, 99 of 100 below %.2f, largest %.2f; %d above %g that further operands did not "
          "confirm, %d that they did" % (len(ratios), end - first, np.median(ratios), np.quantile(ratios, .99), max(ratios), noise,
                                         options.most, wrong))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
