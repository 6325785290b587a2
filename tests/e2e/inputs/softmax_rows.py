#!/usr/bin/env python3
"""Compares a softmax whose weights are the result with NumPy: rows of any length, conditions, empty rows, NaN and infinities.

    softmax_rows.py SKEWER
"""
import itertools
import subprocess
import sys
import tempfile

import numpy as np

MASKS = {"": lambda i, j: j >= 0, " where j <= i": lambda i, j: j <= i, " where (i + j) % 3 != 1 and i != 2": lambda i, j: ((i + j) % 3 != 1) & (i != 2)}


def expected(x, seen):
    """Returns the weights. A row that sees a NaN, or whose largest element is infinite, is NaN where it sees, 0 elsewhere."""
    shown = np.where(seen, x, -np.inf)
    with np.errstate(invalid="ignore"):
        top = shown.max(-1, keepdims=True)
        power = np.where(seen, np.exp(shown - np.where(np.isneginf(top), 0, top)), 0)
        total = power.sum(-1, keepdims=True)
        return np.where(seen, power / np.where(total == 0, 1, total), 0)


def main():
    skewer, rng, wrong, tried = sys.argv[1], np.random.default_rng(5), 0, 0
    for n, (condition, rule), target, special in itertools.product((1, 7, 33, 1030), MASKS.items(), ("x86-64-v2", "host"), (False, True)):
        x = (rng.standard_normal((2, 5, n)) * 4).astype(np.float32)
        if special:
            x[0, 1, n // 2], x[0, 3, 0], x[1, 0, :], x[1, 4, n - 1] = np.nan, np.inf, -np.inf, -np.inf
        want = expected(x.astype(np.float64), rule(np.arange(5)[:, None], np.arange(n)[None, :]))
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/rows.attn", "w", encoding="utf-8") as stream:
                stream.write(f'kernel rows(x : f32[2, 5, {n}]) -> f32[2, 5, {n}] {{\n  s = einsum("b i j -> b i j", x)\n  return softmax(s{condition})\n}}\n')
            np.save(f"{folder}/x.npy", x)
            command = [skewer, "run", f"{folder}/rows.attn", f"--target={target}", f"--input=x={folder}/x.npy", f"--output={folder}/o.npy"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            got = np.load(f"{folder}/o.npy") if done.returncode == 0 else np.full(x.shape, 9.0)
        tried += 1
        if not np.allclose(got, want, rtol=0, atol=3e-7, equal_nan=True):
            wrong += 1
            print(n, condition, target, special, done.stderr[-300:], np.nanmax(np.abs(got - want)))
    print(f"{wrong} wrong of {tried}")


main()
