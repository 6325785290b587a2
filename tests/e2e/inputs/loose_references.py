#!/usr/bin/env python3
"""Rows of bf16 whose scores rise beyond those of the first keys, by more than f32 holds too, against NumPy.

    loose_references.py SKEWER TARGET

A kernel that goes through blocks of keys may subtract the maximum of the first block from all scores, as long as no
weight becomes too large. Each case has a row or a block of keys for which it must not, or something else that is not
finite. Prints the cases that are wrong, and how many are right.
"""
import subprocess
import sys
import tempfile

import numpy as np

N, D, BLOCK = 600, 32, 128
inf, nan = np.inf, np.nan
LAYER = """param N = {n}, D = {d}
kernel layer(q, k, v : bf16[N, D], mask : f32[N]) -> bf16[N, D] {{
  return einsum("i j, j d -> i d", softmax(einsum("i d, j d -> i j", q, k) * 0.125{term}{seen}), v)
}}
"""


def rounded(array):
    """The nearest bf16, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    even = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), np.float32(nan), even.view(np.float32))


def keys(places, factor):
    def change(q, k, v, mask):
        k[places] *= factor
    return change


def key(place, *values):
    def change(q, k, v, mask):
        k[place, : len(values)] = values
    return change


def numbers(low, high, value):
    def change(q, k, v, mask):
        mask[low:high] = value
    return change


def negative_nan(q, k, v, mask):
    k[400, 0] = np.array([0xFFC00000], np.uint32).view(np.float32)[0]


def late_value(q, k, v, mask):
    v[500, 3] = nan
    mask[100:200] = 3


CASES = {  # what, the change of the operands, whether the numbers of the mask are added
    "as usual": (keys([], 1), False),
    "one late key is 50 times as large": (keys([300], 50), False),
    "one late key is 1000 times as large": (keys([450], 1000), False),
    "late keys are 1e4 times as large": (keys(slice(500, 600), 1e4), False),
    "late keys are 1e15 times as large": (keys(slice(256, 600), 1e15), False),
    "the first keys are 1000 times as large": (keys(slice(0, 100), 1000), False),
    "a late key is NaN": (key(333, nan), False),
    "a late key is a negative NaN": (negative_nan, False),
    "a late key is infinite": (key(599, inf, 1), False),
    "a late key has both infinities": (key(599, inf, -inf), False),
    "-1e9 hides the first keys": (numbers(0, 200, -1e9), True),
    "-1e5 hides the first keys": (numbers(0, 200, -1e5), True),
    "-1e4 hides the first keys": (numbers(0, 200, -1e4), True),
    "the lowest number hides the first keys": (numbers(0, 130, -3.38e38), True),
    "-inf hides the first keys": (numbers(0, 300, -inf), True),
    "-1e9 hides all keys": (numbers(0, N, -1e9), True),
    "all keys have 1.1e4 more": (numbers(0, N, 1.1e4), True),  # at 11,356 a reference is subtracted before the FMA
    "all keys have 3e4 more": (numbers(0, N, 3e4), True),
    "late keys have 2e4 more": (numbers(300, N, 2e4), True),
    "late keys have 200 more": (numbers(400, 500, 200), True),
    "a late key has infinitely more": (numbers(400, 401, inf), True),
    "a late number is NaN": (numbers(500, 501, nan), True),
    "a late value is NaN": (late_value, False),
    "a late value is NaN, and numbers are added": (late_value, True),
}
SEEN = {"": np.ones((N, N), bool), " where j <= i": np.tril(np.ones((N, N), bool)),
        " where j >= i": np.triu(np.ones((N, N), bool))}


def attended(q, k, v, mask, adds, seen):
    """The scores are of f32, as numbers far from 0 make a difference. A row of -inf alone has no weights."""
    with np.errstate(all="ignore"):
        scores = (0.125 * np.einsum("id,jd->ij", q, k, optimize=False) + (mask if adds else 0)).astype(np.float32)
        scores = np.where(seen, scores, -inf).astype(np.float64)
        largest = scores.max(-1, keepdims=True)
        weights = np.exp(scores - np.where(largest == -inf, 0, largest))
        weights = np.where(seen, weights / np.where(largest == -inf, 1, weights.sum(-1, keepdims=True)), 0)
        return np.where(seen[:, :, None], weights[:, :, None] * v, 0).sum(1)


def main():
    rng = np.random.default_rng(7)
    right = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, (change, adds) in CASES.items():
            for seen, pairs in SEEN.items():
                arrays = {name: rounded(rng.standard_normal((N, D))) for name in "qkv"}
                mask = np.zeros(N, np.float32)
                change(arrays["q"], arrays["k"], arrays["v"], mask)
                arrays = {name: rounded(array) for name, array in arrays.items()}
                wide = {name: array.astype(np.float64) for name, array in {**arrays, "mask": mask}.items()}
                expected = attended(*wide.values(), adds, pairs)
                for name, array in {**arrays, "mask": mask, "expected": expected}.items():
                    np.save(f"{folder}/{name}.npy", array.astype(np.float32))
                with open(f"{folder}/layer.attn", "w", encoding="utf-8") as file:
                    file.write(LAYER.format(n=N, d=D, term=" + mask[j]" if adds else "", seen=seen))
                inputs = [f"--input={name}={folder}/{name}.npy" for name in ("q", "k", "v", "mask")]
                run = subprocess.run(
                    [sys.argv[1], "run", f"{folder}/layer.attn", f"--target={sys.argv[2]}", *inputs,
                     f"--schedule=row_block=32,key_block={BLOCK}", f"--expect={folder}/expected.npy",
                     "--tolerance=1e-2"], capture_output=True, text=True, check=False)
                count += 1
                right += run.returncode == 0
                if run.returncode:
                    print(f"{what}{seen}: {run.stdout.strip()[-300:]} {run.stderr.strip()[-300:]}", flush=True)
    print(f"{right} of {count} right")


main()
