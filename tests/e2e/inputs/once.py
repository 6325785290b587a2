#!/usr/bin/env python3
"""Compares layers with NumPy in float64 whose parts are computed once and read often: pair biases that the layer projects, tables
made by a network, sums of gates up to a key, the published rotate_half, chunks and residues that a mask separates.

    once.py SKEWER [TARGET …]
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

BIAS = """param S = {S}, N = {N}, heads = {h}, dim = {d}, c = {c}
size batch
kernel bias(q, k, v : f32[batch, S, heads, N, dim], z : f32[batch, N, N, c], w : f32[c, heads] ~ c^-0.5) -> f32[batch, S, heads, N, dim] {{
  bias = einsum("b i j c, c h -> b h i j", z, w)
  s = einsum("b s h i d, b s h j d -> b s h i j", q, k) * dim^-0.5 + bias[:, None]
  return einsum("b s h i j, b s h j d -> b s h i d", softmax(s), v)
}}
"""
NETWORK = """param N = {N}, heads = {h}, dim = {d}, hidden = {c}
size batch
kernel network(q, k, v : f32[batch, heads, N, dim], w1 : f32[hidden], w2 : f32[hidden, heads] ~ hidden^-0.5) -> f32[batch, heads, N, dim] {{
  x = tabulate((t - N + 1) / N, t = 2*N - 1)
  table = einsum("t u, u h -> t h", max(x[:, None] * w1, 0), w2)
  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5 + table[j - i + N - 1, h]
  return einsum("b h i j, b h j d -> b h i d", softmax(s where j <= i), v)
}}
"""
GATE = """param N = {N}, heads = {h}, dim = {d}
size batch
kernel gate(q, k, v : f32[batch, heads, N, dim], f : f32[batch, heads, N]) -> f32[batch, heads, N, dim] {{
  sum = einsum("b h t, n t -> b h n", log(sigmoid(f)), tabulate(t <= n, n = N, t = N))
  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5 + sum[b, h, i] - sum[b, h, j]
  return einsum("b h i j, b h j d -> b h i d", softmax(s where j <= i), v)
}}
"""
ROTATED = """param N = {N}, heads = {h}, dim = {d}
size batch
scheme rotated(x : [b, h, n, d]) {{
  angles = tabulate(n * 10000^(-2*p / dim), n = N, p = dim // 2)
  both   = concat(angles, angles, dim = 1)
  half   = concat(-x[..., dim // 2:], x[..., :dim // 2], dim = 3)
  return x * cos(both) + half * sin(both)
}}
kernel rotate(q, k, v : f32[batch, heads, N, dim]) -> f32[batch, heads, N, dim] {{
  s = einsum("b h i d, b h j d -> b h i j", rotated(q), rotated(k)) * dim^-0.5
  return einsum("b h i j, b h j d -> b h i d", softmax(s), v)
}}
"""
APART = """param N = {N}, heads = {h}, dim = {d}, c = {c}
size batch
kernel apart(q, k, v : f32[batch, heads, N, dim], t : f32[heads, 2*N - 1]) -> f32[batch, heads, N, dim] {{
  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5 + t[h, j - i + N - 1]
  return einsum("b h i j, b h j d -> b h i d", softmax(s where {mask}), v)
}}
"""


def attention(s, v, seen=True):
    s = np.where(seen, s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def offsets(n):
    return np.arange(n)[None, :] - np.arange(n)[:, None]


def bias(a, n, d, **_):
    projected = np.einsum("bijc,ch->bhij", a["z"], a["w"])
    return attention(a["q"] @ a["k"].swapaxes(-1, -2) * d**-0.5 + projected[:, None], a["v"])


def network(a, n, d, **_):
    x = (np.arange(2 * n - 1) - n + 1) / n
    table = np.maximum(x[:, None] * a["w1"], 0) @ a["w2"]
    s = a["q"] @ a["k"].swapaxes(-1, -2) * d**-0.5 + table[offsets(n) + n - 1].transpose(2, 0, 1)
    return attention(s, a["v"], offsets(n) <= 0)


def gate(a, n, d, **_):
    total = np.cumsum(-np.log1p(np.exp(-a["f"])), -1)
    s = a["q"] @ a["k"].swapaxes(-1, -2) * d**-0.5 + total[..., None] - total[..., None, :]
    return attention(s, a["v"], offsets(n) <= 0)


def rotate(a, n, d, **_):
    angle = np.arange(n)[:, None] * 10000.0 ** (-2 * np.arange(d // 2) / d)

    def turned(x):
        z = (x[..., : d // 2] + 1j * x[..., d // 2 :]) * np.exp(1j * angle)
        return np.concatenate([z.real, z.imag], -1)

    return attention(turned(a["q"]) @ turned(a["k"]).swapaxes(-1, -2) * d**-0.5, a["v"])


def apart(a, n, d, seen, **_):
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    s = a["q"] @ a["k"].swapaxes(-1, -2) * d**-0.5 + a["t"][:, offsets(n) + n - 1]
    return attention(s, a["v"], seen(i, j))


def cases():
    for S, n, h, d, c in [(5, 19, 3, 8, 20), (1, 33, 2, 16, 12), (4, 48, 8, 8, 3), (2, 16, 1, 4, 33)]:
        shapes = {x: (2, S, h, n, d) for x in "qkv"} | {"z": (2, n, n, c), "w": (c, h)}
        yield BIAS, bias, shapes, dict(S=S, N=n, h=h, d=d, c=c), {}
    for n, h, d, c in [(37, 3, 8, 24), (50, 2, 8, 7)]:
        shapes = {x: (2, h, n, d) for x in "qkv"} | {"w1": (c,), "w2": (c, h)}
        yield NETWORK, network, shapes, dict(N=n, h=h, d=d, c=c), {}
    for n in (1, 16, 45):
        shapes = {x: (2, 2, n, 8) for x in "qkv"}
        yield GATE, gate, shapes | {"f": (2, 2, n)}, dict(N=n, h=2, d=8), {}
        yield ROTATED, rotate, shapes, dict(N=n, h=2, d=8), {}
    masks = [
        ("i // c == j // c", lambda i, j, c: i // c == j // c),
        ("j <= i and i // c == j // c", lambda i, j, c: (j <= i) & (i // c == j // c)),
        ("(i - j) % c == 0 and abs(i - j) <= 3*c", lambda i, j, c: ((i - j) % c == 0) & (abs(i - j) <= 3 * c)),
        ("i % c == j % c and j <= i", lambda i, j, c: (i % c == j % c) & (j <= i)),
        ("i // c == j // c and (i % 2 == j % 2 or j < i)", lambda i, j, c: (i // c == j // c) & ((i % 2 == j % 2) | (j < i))),
    ]
    for n, c in [(48, 12), (60, 4), (36, 18), (35, 8)]:  # the last one has no whole number of chunks
        for text, seen in masks:
            shapes = {x: (2, 2, n, 8) for x in "qkv"} | {"t": (2, 2 * n - 1)}
            yield APART, apart, shapes, dict(N=n, h=2, d=8, c=c, mask=text), {"seen": lambda i, j, s=seen, c=c: s(i, j, c)}


def main():
    skewer, targets = sys.argv[1], sys.argv[2:] or ["host", "x86-64-v2", "x86-64-v3"]
    wrong = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (text, oracle, shapes, sizes, more) in enumerate(cases()):
            rng = np.random.default_rng(number)
            arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
            want = oracle({k: x.astype(np.float64) for k, x in arrays.items()}, n=sizes["N"], d=sizes["d"], **more)
            spec, out = os.path.join(folder, "spec.attn"), os.path.join(folder, "out.npy")
            with open(spec, "w", encoding="utf-8") as stream:
                stream.write(text.format(**sizes))
            options = []
            for name, array in arrays.items():
                np.save(os.path.join(folder, name), array)
                options += ["--input", f"{name}={folder}/{name}.npy"]
            target = targets[number % len(targets)]
            ran = subprocess.run([skewer, "run", spec, "--target=" + target, "--output", out, *options],
                                 capture_output=True, text=True)
            count += 1
            error = np.abs(np.load(out) - want).max() / np.abs(want).max() if ran.returncode == 0 else np.inf
            if not error < 4e-6:
                wrong += 1
                print(f"{oracle.__name__} {sizes} {target}: {error:.2g}", ran.stderr)
    print(f"{count} layers, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
