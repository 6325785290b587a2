#!/usr/bin/env python3
"""Compares layers with operands of 8 bits with NumPy in float64: keys, values, queries and weights, with a scale for each head,
row, block of positions, or column.

    quantised.py SKEWER [TARGET …]
"""
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

# (scales of keys and values; the text that turns keys and values into numbers; the same in NumPy)
SCALES = {
    "none": ("", "k", "v", lambda s: 1),
    "head": ("ks, vs : f32[heads] ~ 0.01", "k * ks[:, None, None]", "v * vs[:, None, None]", lambda s: s[:, None, None]),
    "row": ("ks, vs : f32[batch, heads, N] ~ 0.01", "k * ks[..., None]", "v * vs[..., None]", lambda s: s[..., None]),
    "block": ("ks, vs : f32[batch, heads, N // 4] ~ 0.01", "kn * ks[b, h, j // 4]", "vn * vs[b, h, j // 4]", lambda s: np.repeat(s, 4, -1)[..., None]),
    "column": ("ks : f32[heads, dim] ~ 0.01, vs : f32[heads, width] ~ 0.01", "k * ks[:, None]", "v * vs[:, None]", lambda s: s[:, None]),
}
TEXT = """param Nq = {nq}, N = {n}, heads = {heads}, dim = {dim}, width = {width}
size batch
kernel f(q : {query}[batch, heads, Nq, dim], k : i8[batch, heads, N, dim], v : i8[batch, heads, N, width]{scales},
         lengths : i32[batch] in 0..N) -> f32[batch, heads, Nq, width] {{
  qn = einsum("b h i d -> b h i d", q){scaled}
  kn = einsum("b h j d -> b h j d", k)
  vn = einsum("b h j e -> b h j e", v)
  s = einsum("b h i d, b h j d -> b h i j", qn, {key}) * {scale}
  return einsum("b h i j, b h j e -> b h i e", softmax(s where j < lengths[b]), {value})
}}
"""
LINEAR = """param M = {m}, C = {c}, E = {e}
kernel f(x : f32[M, C], w : i8[E, C], s : f32[E] ~ 0.01) -> f32[M, E] {{ return einsum("m c, e c -> m e", x, w) * s }}
"""


def softmax(s, seen):
    s = np.where(seen, s, -np.inf)
    top = np.where(seen.any(-1, keepdims=True), s.max(-1, keepdims=True), 0)
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def layer(rng, scales, query, nq, n, heads, dim, width):
    declared, key, value, brought = SCALES[scales]
    shape = {"head": (heads,), "row": (2, heads, n), "block": (2, heads, n // 4)}
    files = {"q": rng.standard_normal((2, heads, nq, dim)).astype(np.float32), "lengths": np.array([n, max(1, n // 3)], np.int32)}
    if query == "i8":
        files["q"] = rng.integers(-128, 128, files["q"].shape).astype(np.int8)
    files["k"] = rng.integers(-128, 128, (2, heads, n, dim)).astype(np.int8)
    files["v"] = rng.integers(-128, 128, (2, heads, n, width)).astype(np.int8)
    if scales != "none":
        for name, columns in (("ks", dim), ("vs", width)):
            files[name] = (0.01 * (1 + rng.random(shape.get(scales, (heads, columns))))).astype(np.float32)
    scale = (0.01 if scales == "none" else 1.0) * dim**-0.5 * (0.01 if query == "i8" else 1)
    text = TEXT.format(nq=nq, n=n, heads=heads, dim=dim, width=width, query=query, scales=declared and ",\n         " + declared, key=key,
                       value=value, scale=repr(scale), scaled="")
    wide = {name: values.astype(np.float64) for name, values in files.items()}
    k = wide["k"] * (brought(wide["ks"]) if scales != "none" else 1)
    v = wide["v"] * (brought(wide["vs"]) if scales != "none" else 1)
    seen = np.broadcast_to(np.arange(n) < wide["lengths"][:, None, None, None], (2, heads, nq, n))
    return text, files, softmax(np.einsum("bhid,bhjd->bhij", wide["q"], k) * scale, seen) @ v


def linear(rng, m, c, e):
    files = {"x": rng.standard_normal((m, c)).astype(np.float32), "w": rng.integers(-128, 128, (e, c)).astype(np.int8),
             "s": (0.01 * rng.random(e)).astype(np.float32)}
    return LINEAR.format(m=m, c=c, e=e), files, files["x"].astype(np.float64) @ files["w"].T.astype(np.float64) * files["s"]


def run(skewer, target, spec):
    text, files, want = spec
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/f.attn", "w", encoding="utf-8") as stream:
            stream.write(text)
        command = [skewer, "run", f"{folder}/f.attn", f"--target={target}", "--rows=1", "--tolerance=1e9", f"--output={folder}/o.npy"]
        for name, values in files.items():
            np.save(f"{folder}/{name}.npy", values)
            command.append(f"--input={name}={folder}/{name}.npy")
        explained = subprocess.run([skewer, "explain", f"{folder}/f.attn", f"--target={target}"], capture_output=True, text=True, check=False)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not os.path.exists(f"{folder}/o.npy"):
            return explained.stdout, "refused: " + done.stderr[-400:]
        got = np.load(f"{folder}/o.npy").astype(np.float64)
    error = np.abs(got - want).max() / np.abs(want).max()
    return explained.stdout, None if error < 2e-6 else f"error {error:.2g} of the largest value"


def main():
    skewer, targets = sys.argv[1], sys.argv[2:] or ["x86-64-v2", "x86-64-v3", "host"]
    rng = np.random.default_rng(5)
    sizes = ((1, 96, 2, 32, 32), (5, 44, 3, 20, 33), (70, 100, 2, 16, 8))
    failed = 0
    for number, (scales, size) in enumerate(itertools.product(SCALES, sizes)):
        target = targets[number % len(targets)]
        explained, why = run(skewer, target, layer(rng, scales, "i8" if number % 4 == 3 else "f32", *size))
        if why or "  fused" not in explained:
            failed += 1
            print(f"{target} {scales} {size}: {why or explained}")
    for target, size in itertools.product(targets, ((1, 64, 48), (37, 129, 65))):
        _, why = run(skewer, target, linear(rng, *size))
        if why:
            failed += 1
            print(f"{target} linear {size}: {why}")
    print(f"{failed} wrong")


main()
