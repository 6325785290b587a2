#!/usr/bin/env python3
"""Compares layers with operands of 8 bits, i8 and f8e4m3, with NumPy in float64: keys, values, queries and weights, with a
scale for the tensor, or for each head, row, block of positions, or column. In decoding, heads share keys and values, as
"(g r)" or as h // r, and the elements behind a row's length are NaN where the type has one. A cache is then read as it is: no
copy of it is made, whatever the scales.

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
    "tensor": ("ks, vs : f32[1] ~ 0.01", "k * ks", "v * vs", lambda s: s),
    "head": ("ks, vs : f32[heads] ~ 0.01", "k * ks[:, None, None]", "v * vs[:, None, None]", lambda s: s[:, None, None]),
    "row": ("ks, vs : f32[batch, heads, N] ~ 0.01", "k * ks[..., None]", "v * vs[..., None]", lambda s: s[..., None]),
    "block": ("ks, vs : f32[batch, heads, N // 4] ~ 0.01", "kn * ks[b, h, j // 4]", "vn * vs[b, h, j // 4]", lambda s: np.repeat(s, 4, -1)[..., None]),
    "column": ("ks : f32[heads, dim] ~ 0.01, vs : f32[heads, width] ~ 0.01", "k * ks[:, None]", "v * vs[:, None]", lambda s: s[:, None]),
}
TEXT = """param Nq = {nq}, N = {n}, heads = {heads}, dim = {dim}, width = {width}
size batch
kernel f(q : {query}[batch, heads, Nq, dim], k : {kind}[batch, heads, N, dim], v : {kind}[batch, heads, N, width]{scales},
         lengths : i32[batch] in 0..N) -> f32[batch, heads, Nq, width] {{
  qn = einsum("b h i d -> b h i d", q){scaled}
  kn = einsum("b h j d -> b h j d", k)
  vn = einsum("b h j e -> b h j e", v)
  s = einsum("b h i d, b h j d -> b h i j", qn, {key}) * {scale}
  return einsum("b h i j, b h j e -> b h i e", softmax(s where j < lengths[b]), {value})
}}
"""
LINEAR = """param M = {m}, C = {c}, E = {e}
kernel f(x : f32[M, C], w : {kind}[E, C], s : f32[E] ~ 0.01) -> f32[M, E] {{ return einsum("m c, e c -> m e", x, w) * s }}
"""
DECODE = """param C = {n}, groups = {heads}, shared = {shared}, dim = {dim}, width = {width}, new = {new}
size batch
kernel f(q : f32[batch, groups*shared, new, dim], k : {kind}[batch, groups, C, dim], v : {kind}[batch, groups, C, width]{scales},
         lengths : i32[batch] in new..C) -> f32[batch, groups*shared, new, width] {{
  kn = einsum("b g j d -> b g j d", k)
  vn = einsum("b g j e -> b g j e", v)
  s = einsum("{queries}, {keys} -> {scores}", q, {key}{sizes}) * {scale}
  return einsum("{scores}, {values} -> {result}", softmax(s where j <= lengths[b] - new + i), {value})
}}
"""
# How heads share keys and values.
SHARED = {
    "(g r)": {"queries": "b (g r) i d", "keys": "b g j d", "scores": "b g r i j", "values": "b g j e", "result": "b (g r) i e",
              "sizes": ", g = groups"},
    "h // r": {"queries": "b h i d", "keys": "b (h // shared) j d", "scores": "b h i j", "values": "b (h // shared) j e",
               "result": "b h i e", "sizes": ""},
}


def numbers_of(bits):
    """Returns the numbers of E4M3: a sign, four bits of exponent, three of the fraction; all seven bits are NaN."""
    exponent, fraction = bits.astype(int) >> 3 & 15, bits.astype(int) & 7
    size = np.where(exponent > 0, np.ldexp(8.0 + fraction, exponent - 10), np.ldexp(1.0 * fraction, -9))
    return np.where(bits & 127 == 127, np.nan, size) * np.where(bits >> 7, -1, 1)


def stored(rng, kind, shape):
    """Returns random elements of 8 bits; of f8e4m3, subnormal ones and sizes up to 15."""
    if kind == "i8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    return (rng.integers(0, 88, shape) + 128 * rng.integers(0, 2, shape)).astype(np.uint8)


def wide(array):
    return numbers_of(array) if array.dtype == np.uint8 else array.astype(np.float64)


def softmax(s, seen):
    s = np.where(seen, s, -np.inf)
    top = np.where(seen.any(-1, keepdims=True), s.max(-1, keepdims=True), 0)
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def with_scales(rng, files, scales, n, heads, dim, width):
    """Adds the scales of keys and values; returns the tensors as numbers."""
    shape = {"tensor": (1,), "head": (heads,), "row": (2, heads, n), "block": (2, heads, n // 4)}
    if scales != "none":
        for name, columns in (("ks", dim), ("vs", width)):
            files[name] = (0.01 * (1 + rng.random(shape.get(scales, (heads, columns))))).astype(np.float32)
    numbers = {name: wide(array) for name, array in files.items()}
    if scales != "none":
        numbers["k"] = numbers["k"] * SCALES[scales][3](numbers["ks"])
        numbers["v"] = numbers["v"] * SCALES[scales][3](numbers["vs"])
    return numbers


def layer(rng, kind, scales, query, nq, n, heads, dim, width):
    declared, key, value, _ = SCALES[scales]
    files = {"q": rng.standard_normal((2, heads, nq, dim)).astype(np.float32), "lengths": np.array([n, max(1, n // 3)], np.int32)}
    if query != "f32":
        files["q"] = stored(rng, query, files["q"].shape)
    files["k"], files["v"] = stored(rng, kind, (2, heads, n, dim)), stored(rng, kind, (2, heads, n, width))
    scale = (0.01 if scales == "none" else 1.0) * dim**-0.5 * (0.01 if query == "i8" else 1)
    text = TEXT.format(nq=nq, n=n, heads=heads, dim=dim, width=width, query=query, scales=declared and ",\n         " + declared, key=key,
                       value=value, scale=repr(scale), scaled="", kind=kind)
    numbers = with_scales(rng, files, scales, n, heads, dim, width)
    seen = np.broadcast_to(np.arange(n) < files["lengths"][:, None, None, None], (2, heads, nq, n))
    return text, files, softmax(np.einsum("bhid,bhjd->bhij", numbers["q"], numbers["k"]) * scale, seen) @ numbers["v"]


def decode(rng, kind, scales, form, new, n, heads, shared, dim, width):
    declared, key, value, _ = SCALES[scales]
    files = {"q": rng.standard_normal((2, heads * shared, new, dim)).astype(np.float32), "k": stored(rng, kind, (2, heads, n, dim)),
             "v": stored(rng, kind, (2, heads, n, width)), "lengths": np.array([n, max(new, n // 3)], np.int32)}
    scale = (0.01 if scales == "none" else 1.0) * dim**-0.5
    declared = declared.replace("heads", "groups").replace("N", "C")
    text = DECODE.format(n=n, heads=heads, shared=shared, dim=dim, width=width, new=new, kind=kind, key=key.replace("[b, h,", "[b, g,"),
                         value=value.replace("[b, h,", "[b, g,"), scale=repr(scale), scales=declared and ",\n         " + declared,
                         **SHARED[form])
    numbers = with_scales(rng, files, scales, n, heads, dim, width)
    place, query = np.arange(n), np.arange(new)[:, None]
    seen = np.broadcast_to(place <= files["lengths"][:, None, None, None] - new + query, (2, heads * shared, new, n))
    k, v = (np.repeat(numbers[name], shared, 1) for name in "kv")
    want = softmax(np.einsum("bhid,bhjd->bhij", numbers["q"], k) * scale, seen) @ v
    if kind == "f8e4m3":
        files["k"][1, :, files["lengths"][1]:], files["v"][1, :, files["lengths"][1]:] = 0x7F, 0xFF
    return text, files, want


def linear(rng, kind, m, c, e):
    files = {"x": rng.standard_normal((m, c)).astype(np.float32), "w": stored(rng, kind, (e, c)),
             "s": (0.01 * rng.random(e)).astype(np.float32)}
    return LINEAR.format(m=m, c=c, e=e, kind=kind), files, files["x"].astype(np.float64) @ wide(files["w"]).T * files["s"]


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
    for number, (kind, scales, size) in enumerate(itertools.product(("i8", "f8e4m3"), SCALES, sizes)):
        target = targets[number % len(targets)]
        explained, why = run(skewer, target, layer(rng, kind, scales, kind if number % 4 == 3 else "f32", *size))
        if why or "  fused" not in explained:
            failed += 1
            print(f"{target} {kind} {scales} {size}: {why or explained}")
    for number, (kind, scales, form) in enumerate(itertools.product(("i8", "f8e4m3"), SCALES, SHARED)):
        target = targets[number % len(targets)]
        size = ((1, 96, 2, 4, 32, 32), (1, 300, 3, 2, 48, 16), (1, 44, 1, 8, 64, 33))[number % 3]
        explained, why = run(skewer, target, decode(rng, kind, scales, form, *size))
        if why or "  fused" not in explained or "held between stages" in explained:
            failed += 1
            print(f"{target} decode {kind} {scales} {form} {size}: {why or explained}")
    for target, kind, size in itertools.product(targets, ("i8", "f8e4m3"), ((1, 64, 48), (37, 129, 65))):
        _, why = run(skewer, target, linear(rng, kind, *size))
        if why:
            failed += 1
            print(f"{target} linear {kind} {size}: {why}")
    print(f"{failed} wrong")


main()
