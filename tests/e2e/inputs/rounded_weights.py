#!/usr/bin/env python3
"""Compares the error of attentions whose weights are rounded to bf16 with that of float64 with weights and results rounded to bf16.

    rounded_weights.py SKEWER TARGET

The root mean square may be 1.3 times as large as that of float64, the largest error twice as large. Then the script compares
layers with NaN and infinities among the values with NumPy, with and without a mask that hides them.
"""
import subprocess
import sys
import tempfile

import numpy as np

HEADS, N, D = 2, 500, 64
inf, nan = np.inf, np.nan
LAYER = """kernel layer(q, k, v : bf16[{h}, {n}, {d}]) -> bf16[{h}, {n}, {d}] {{
  return einsum("h i j, h j d -> h i d", softmax(einsum("h i d, h j d -> h i j", q, k) * {scale}{mask}), v)
}}
"""
MASKS = {"": lambda i, j: (i >= 0) & (j >= 0), " where j <= i": lambda i, j: j <= i, " where abs(i - j) < 70": lambda i, j: abs(i - j) < 70}


def rounded(array):
    """The nearest bf16, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    even = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), np.float32(nan), even.view(np.float32))


def attended(q, k, v, scale, mask, rounds=False):
    n = q.shape[-2]
    seen = MASKS[mask](np.arange(n)[:, None], np.arange(n)[None, :])
    with np.errstate(all="ignore"):
        scores = np.where(seen, scale * np.einsum("hid,hjd->hij", q, k), -inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        weights = rounded(weights).astype(np.float64) if rounds else weights
    if np.isfinite(v).all():
        result = weights @ v
    else:  # a hidden key adds nothing, whatever its value is
        result = np.stack([[np.einsum("j,jd->d", w[s], x[s]) for w, s in zip(ws, seen)] for ws, x in zip(weights, v)])
    return rounded(result).astype(np.float64) if rounds else result


def run(skewer, target, folder, arrays, scale, mask):
    h, n, d = arrays["q"].shape
    with open(f"{folder}/layer.attn", "w", encoding="utf-8") as file:
        file.write(LAYER.format(h=h, n=n, d=d, scale=scale, mask=mask))
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array.astype(np.float32))
    command = [skewer, "run", f"{folder}/layer.attn", f"--target={target}", f"--output={folder}/out.npy", "--rows=1",
               "--tolerance=1e9", *(f"--input={name}={folder}/{name}.npy" for name in arrays)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return np.load(f"{folder}/out.npy").astype(np.float64)


def main():
    skewer, target = sys.argv[1:]
    rng = np.random.default_rng(7)
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for mask in MASKS:
            for spread in (0.5, 1, 2):
                arrays = {name: rounded(rng.standard_normal((HEADS, N, D)) * (spread if name in "qk" else 1)) for name in "qkv"}
                doubles = [array.astype(np.float64) for array in arrays.values()]
                exact, narrow = (attended(*doubles, D**-0.5, mask, rounds) for rounds in (False, True))
                error = np.abs(run(skewer, target, folder, arrays, D**-0.5, mask) - exact)
                least = np.abs(narrow - exact)
                rms, largest = np.sqrt((error**2).mean() / (least**2).mean()), error.max() / least.max()
                good = rms <= 1.3 and largest <= 2
                right += good
                print(f"{'right' if good else 'WRONG'}: spread {spread}{mask}: rms {rms:.2f}, largest {largest:.2f} times")
        print(f"{right} of {3 * len(MASKS)} exact enough")
        right = 0
        for mask in MASKS:
            for bad in (nan, inf):
                arrays = {name: rounded(rng.standard_normal((2, 150, 40))) for name in "qkv"}
                arrays["v"][1, 77, 3] = bad
                expected = attended(*(array.astype(np.float64) for array in arrays.values()), 0.2, mask)
                got = run(skewer, target, folder, arrays, 0.2, mask)
                with np.errstate(all="ignore"):
                    same = np.where(np.isfinite(expected), np.abs(got - expected) < 0.02,
                                    (got == expected) | np.isnan(got) & np.isnan(expected))
                right += same.all()
                if not same.all():
                    print(f"{bad}{mask}: {np.argwhere(~same)[:5].tolist()}")
        print(f"{right} of {2 * len(MASKS)} right with values that are no numbers")


if __name__ == "__main__":
    main()
