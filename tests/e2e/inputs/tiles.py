#!/usr/bin/env python3
"""Compares layers with NumPy in float64 whose masks are known at compile time and are no interval: contents that count inside a
window only, windows on maps, sizes near those of tiles, queries that see nothing, heads with masks of their own, NaN as values.

    tiles.py SKEWER [TARGET …]
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

MASKED = """param N = {N}, M = {M}, heads = 2, dim = {d}
size batch
kernel masked(q : f32[batch, heads, N, dim], k, v : f32[batch, heads, M, dim], t : f32[heads, N + M - 1]) -> f32[batch, heads, N, dim] {{
  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5 + t[h, j - i + N - 1]
  return einsum("b h i j, b h j d -> b h i d", softmax(s where {mask}), v)
}}
"""
WITHIN = """param N = {N}, M = {M}, heads = 2, dim = {d}
size batch
kernel within(q : f32[batch, heads, N, dim], k, v : f32[batch, heads, M, dim], t : f32[heads, N + M - 1]) -> f32[batch, heads, N, dim] {{
  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5
  return einsum("b h i j, b h j d -> b h i d", softmax((s if {mask} else 0) + t[h, j - i + N - 1]), v)
}}
"""
MAP = """param H = {H}, W = {W}, K = {K}, R = K // 2, heads = 2, dim = {d}
size batch
kernel near(q, k, v : f32[batch, heads, H*W, dim], const rpb : f32[heads, 2*K - 1, 2*K - 1]) -> f32[batch, heads, H*W, dim] {{
  content = einsum("b h (iy ix) d, b h (jy jx) d -> b h (iy ix) (jy jx)", q, k, iy = H, jy = H) * dim^-0.5
  top     = clamp(iy - R, 0, H - K)
  left    = clamp(ix - R, 0, W - K)
  bias    = rpb[h, jy - iy + K - 1, jx - ix + K - 1]
  weights = softmax(content {bias} where jy >= top and jy < top + K and jx >= left and jx < left + K)
  return einsum("b h i j, b h j d -> b h i d", weights, v)
}}
"""


def attention(s, v, seen):
    s = np.where(seen, s, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(top), top, 0))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


def masked(a, n, m, d, seen, inside):
    i, j, h = np.arange(n)[:, None], np.arange(m)[None, :], np.arange(2)[:, None, None]
    s = a["q"] @ a["k"].swapaxes(-1, -2) * d**-0.5
    holds = np.broadcast_to(seen(i, j, h), (2, n, m))
    s = (np.where(holds, s, 0) if inside else s) + a["t"][:, j - i + n - 1]
    return attention(s, a["v"], np.ones_like(holds) if inside else holds)


def near(a, height, width, reach, d, biased):
    y, x = np.divmod(np.arange(height * width), width)
    top, left = np.clip(y - reach // 2, 0, height - reach), np.clip(x - reach // 2, 0, width - reach)

    def within(of, first):
        return (of[None, :] >= first[:, None]) & (of[None, :] < first[:, None] + reach)

    seen = within(y, top) & within(x, left)
    s = a["q"] @ a["k"].swapaxes(-1, -2) * d**-0.5
    if biased:
        rows = np.clip(y[None, :] - y[:, None] + reach - 1, 0, 2 * reach - 2)
        columns = np.clip(x[None, :] - x[:, None] + reach - 1, 0, 2 * reach - 2)
        s = s + a["rpb"][:, rows, columns]
    return attention(s, a["v"], seen)


MASKS = [
    ("abs(i - j) <= 20 or i < 3 or j < 3", lambda i, j, h: (abs(i - j) <= 20) | (i < 3) | (j < 3)),
    ("j <= i and (j < 64 or i // 64 - j // 64 <= 1 or (i // 64 * 5 + 3) % 9 == j // 64)",
     lambda i, j, h: (j <= i) & ((j < 64) | (i // 64 - j // 64 <= 1) | ((i // 64 * 5 + 3) % 9 == j // 64))),
    ("i // 100 == j // 100", lambda i, j, h: i // 100 == j // 100),
    ("j >= i // 32 * 32 - 48 and j < i // 32 * 32 + 80", lambda i, j, h: (j >= i // 32 * 32 - 48) & (j < i // 32 * 32 + 80)),
    ("abs(i - j) >= 150 and (i // 64 + j // 64) % 2 == 0",
     lambda i, j, h: (abs(i - j) >= 150) & ((i // 64 + j // 64) % 2 == 0)),
    ("abs(i - j) <= 7 + 90*h or j == 5", lambda i, j, h: (abs(i - j) <= 7 + 90 * h) | (j == 5)),
]


def cases():
    """Yields (text, operands, expected result, places of values that no query may see)."""
    for number, (text, seen) in enumerate(MASKS):
        for n, m, d in [(200 + 31 * number, 333, 16), (530, 259 + 64 * number, 20)]:
            shapes = {"q": (1, 2, n, d), "k": (1, 2, m, d), "v": (1, 2, m, d), "t": (2, n + m - 1)}
            yield MASKED.format(N=n, M=m, d=d, mask=text), shapes, lambda a, s=seen, n=n, m=m, d=d: masked(a, n, m, d, s, False)
    for text, seen in MASKS[0], MASKS[3], MASKS[5]:
        for n, m, d in [(200, 205, 16), (45, 37, 20)]:
            shapes = {"q": (1, 2, n, d), "k": (1, 2, m, d), "v": (1, 2, m, d), "t": (2, n + m - 1)}
            yield WITHIN.format(N=n, M=m, d=d, mask=text), shapes, lambda a, s=seen, n=n, m=m, d=d: masked(a, n, m, d, s, True)
    for height, width, reach, d in [(20, 32, 13, 16), (9, 64, 7, 12), (14, 36, 5, 8), (11, 40, 1, 16)]:
        for bias in ("", "+ bias"):
            shapes = {x: (1, 2, height * width, d) for x in "qkv"} | {"rpb": (2, 2 * reach - 1, 2 * reach - 1)}
            if not bias:
                del shapes["rpb"]
            text = MAP.format(H=height, W=width, K=reach, d=d, bias=bias)
            if not bias:
                text = text.replace(", const rpb : f32[heads, 2*K - 1, 2*K - 1]", "").replace(
                    "  bias    = rpb[h, jy - iy + K - 1, jx - ix + K - 1]\n", "")
            yield text, shapes, lambda a, y=height, x=width, r=reach, d=d, b=bool(bias): near(a, y, x, r, d, b)


def main():
    skewer, targets = sys.argv[1], sys.argv[2:] or ["host", "cascadelake", "x86-64-v3"]
    wrong = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (text, shapes, oracle) in enumerate(cases()):
            rng = np.random.default_rng(number)
            arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
            want = oracle({k: x.astype(np.float64) for k, x in arrays.items()})
            spec, out = os.path.join(folder, "spec.attn"), os.path.join(folder, "out.npy")
            with open(spec, "w", encoding="utf-8") as stream:
                stream.write(text)
            options = []
            for name, array in arrays.items():
                np.save(os.path.join(folder, name), array)
                options += ["--input", f"{name}={folder}/{name}.npy"]
            target = targets[number % len(targets)]
            ran = subprocess.run([skewer, "run", spec, "--target=" + target, "--rows=1", "--output", out, *options],
                                 capture_output=True, text=True)
            count += 1
            error = np.abs(np.load(out) - want).max() / np.abs(want).max() if ran.returncode == 0 else np.inf
            if not error < 4e-6:
                wrong += 1
                print(f"{number} {target}: {error:.2g}\n{text}", ran.stderr)
    print(f"{count} layers, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
