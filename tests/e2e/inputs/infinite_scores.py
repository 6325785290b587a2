#!/usr/bin/env python3
"""Compares the softmax and the lse of infinite scores with NumPy: infinite by an operand, by a condition on values, by a choice,
or next to a sink. A row of -inf alone is 0.

    infinite_scores.py SKEWER
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

H, N, D = 2, 20, 8
inf, nan = np.inf, np.nan
SINK = 'a = concat({}, broadcast(g[h], "h -> h i 1", i = N), dim = 2)'
KERNELS = {  # name: the statements after the content `s`, and the argument of the softmax
    "operand": "a = s + u[h, i, j]",
    "condition": "a = s + (inf if u[h, i, j] > 2 else 0)",
    "choice": "a = inf if u[h, i, j] > 2 else s",
    "position": "a = s if i != j or i % 5 > 0 else inf",
    "sink": SINK.format("s + u[h, i, j]"),
    "keys": SINK.format("s + c[h, j] where j <= i"),
}


def scores(name, q, k, u, c, g):
    i, j = np.indices((N, N))
    s = np.einsum("hid,hjd->hij", q, k)
    if name in ("operand", "sink"):
        s = s + u
    if name in ("condition", "choice"):
        s = np.where(u > 2, inf, s)
    if name == "position":
        s = np.where((i == j) & (i % 5 == 0), inf, s)
    if name == "keys":
        s = np.where(j <= i, s + c[:, None], -inf)
    if name in ("sink", "keys"):
        s = np.concatenate([s, np.broadcast_to(g[:, None, None], (H, N, 1))], -1)
    return s


def attended(s, v):
    with np.errstate(all="ignore"):
        top = s.max(-1, keepdims=True)
        isEmpty = top == -inf
        e = np.exp(s - np.where(isEmpty, 0, top))
        weights = np.where(isEmpty, 0, e / e.sum(-1, keepdims=True))
        lse = np.where(isEmpty, -inf, top + np.log(e.sum(-1, keepdims=True)))[..., 0]
    lse[(s == inf).any(-1)] = inf
    return np.einsum("hij,hjd->hid", weights[..., :N], v), lse


def main():
    rng = np.random.default_rng(3)
    arrays = {name: rng.standard_normal((H, N, D)).astype(np.float32) for name in "qkv"}
    u = rng.standard_normal((H, N, N)).astype(np.float32)
    u[:, 3, 5] = u[:, 4, 5] = u[:, 4, 7] = inf
    u[:, 6], u[0, 8], u[0, 8, 2], u[1, 9, 3] = -inf, -inf, inf, nan
    u[0, 10, 3], u[0, 10, 5] = nan, inf
    c = rng.standard_normal((H, N)).astype(np.float32)
    c[0, 7], c[1, 2] = inf, -inf
    arrays |= {"u": u, "c": c, "g": np.array([1, inf], np.float32)}
    kinds = {**dict.fromkeys("qkv", "f32[H, N, D]"), "u": "f32[H, N, N]", "c": "f32[H, N]", "g": "f32[H]"}
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, array in arrays.items():
            np.save(f"{folder}/{name}.npy", array)
        for kernel, body in KERNELS.items():
            used = [name for name in kinds if name in "qkv" or name + "[" in body]
            weights = "softmax(a)[..., :N]" if kernel in ("sink", "keys") else "softmax(a)"
            with open(f"{folder}/s.attn", "w", encoding="utf-8") as stream:
                stream.write(f"param H = {H}, N = {N}, D = {D}\nkernel f({', '.join(f'{name} : {kinds[name]}' for name in used)})"
                             ' -> (out : f32[H, N, D], lse : f32[H, N]) {\n  s = einsum("h i d, h j d -> h i j", q, k)\n'
                             f'  {body}\n  return einsum("h i j, h j d -> h i d", {weights}, v), logsumexp(a)\n}}\n')
            want = attended(scores(kernel, *(arrays[n].astype(float) for n in "qkucg")), arrays["v"].astype(float))
            for option in ([], ["--unfused"], ["--target=x86-64-v2"]):
                done = subprocess.run([sys.argv[1], "run", f"{folder}/s.attn", *option, f"--output=out={folder}/out.npy", f"--output=lse={folder}/lse.npy"]
                                      + [f"--input={name}={folder}/{name}.npy" for name in used], capture_output=True, text=True, check=False)
                found = []
                for result, expected in zip(("out", "lse"), want):
                    if done.returncode == 0:
                        found.append(np.allclose(np.load(f"{folder}/{result}.npy"), expected, rtol=1e-5, atol=1e-6, equal_nan=True))
                        os.remove(f"{folder}/{result}.npy")
                if found == [True, True]:
                    right += 1
                else:
                    print(f"{kernel} {option}: out and lse right: {found} {done.stderr[-800:]}")
    print(f"{right} of {3 * len(KERNELS)} right")


main()
