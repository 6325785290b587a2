#!/usr/bin/env python3
"""NaN and infinities in queries and keys of bf16, with and without masks that hide them, against NumPy.

    bf16_dots.py SKEWER TARGET
"""
import subprocess
import sys
import tempfile

import numpy as np

N, D = 37, 19
inf, nan = np.inf, np.nan
LAYER = """kernel layer(q, k, v : bf16[{n}, {d}]) -> bf16[{n}, {d}] {{
  return einsum("i j, j d -> i d", softmax(einsum("i d, j d -> i j", q, k) * 0.25{mask}), v)
}}
"""
MASKS = {"": np.ones((N, N), bool), " where j <= i": np.tril(np.ones((N, N), bool))}
SPOTS = {  # operand, row, the values of its first elements
    "a key that is NaN": ("k", 20, [nan]),
    "a key with both infinities": ("k", 20, [inf, -inf]),
    "a query that is NaN": ("q", 20, [1, nan]),
}


def rounded(array):
    """The nearest bf16, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    even = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), np.float32(nan), even.view(np.float32))


def attended(q, k, v, seen):
    with np.errstate(all="ignore"):
        scores = np.where(seen, 0.25 * (q[:, None, :] * k[None, :, :]).sum(-1), -inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights = np.where(seen, weights / weights.sum(-1, keepdims=True), 0)
        return np.einsum("ij,jd->id", weights, v)


def main():
    rng = np.random.default_rng(5)
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for mask, seen in MASKS.items():
            for what, (operand, row, values) in SPOTS.items():
                arrays = {name: rounded(rng.standard_normal((N, D))) for name in "qkv"}
                arrays[operand][row, : len(values)] = values
                expected = attended(*(arrays[name].astype(np.float64) for name in "qkv"), seen)
                for name, array in {**arrays, "expected": expected}.items():
                    np.save(f"{folder}/{name}.npy", array.astype(np.float32))
                with open(f"{folder}/layer.attn", "w", encoding="utf-8") as file:
                    file.write(LAYER.format(n=N, d=D, mask=mask))
                inputs = [f"--input={name}={folder}/{name}.npy" for name in "qkv"]
                run = subprocess.run(
                    [sys.argv[1], "run", f"{folder}/layer.attn", f"--target={sys.argv[2]}", *inputs,
                     f"--expect={folder}/expected.npy", "--tolerance=8e-3"], capture_output=True, text=True)
                if run.returncode == 0:
                    right += 1
                else:
                    print(f"{what}{mask}: {run.stdout}{run.stderr}")
    print(f"{right} of {len(MASKS) * len(SPOTS)} right")


main()
