#!/usr/bin/env python3
"""Compares rotary positions of the first dimensions alone, and turned back, with float64 code as it is published.

    rope_dims.py SKEWER
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

BATCH, HEADS, N, DIM, LONGEST = 2, 3, 20, 32, 3000
FACTORS = [1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]


def turned(x, angles, is_half):
    """Turns the first 2P dimensions by P angles a token, in pairs (k, k + P) or (2k, 2k + 1)."""
    pairs = angles.shape[-1]
    c, s = np.cos(angles), np.sin(angles)
    first, rest = x[..., :2 * pairs], x[..., 2 * pairs:]
    if is_half:  # GPT-NeoX, Phi: rotate_half of the rotary part, followed by the rest
        a, b = first[..., :pairs], first[..., pairs:]
        return np.concatenate([a * c - b * s, b * c + a * s, rest], -1)
    a, b = first[..., ::2], first[..., 1::2]  # GLM, GPT-J
    return np.concatenate([np.stack([a * c - b * s, b * c + a * s], -1).reshape(first.shape), rest], -1)


def grown(x, dims, factor):
    """Multiplies the turned dimensions by the factor, as published code multiplies cosines and sines (Phi-3, Phi-4-mini)."""
    return np.concatenate([x[..., :dims] * factor, x[..., dims:]], -1)


def rates(pairs, base=10000.0):
    return base ** (-np.arange(pairs) / pairs)


def yarn(pairs, factor, original, base=10000.0, fast=32, slow=1):
    place = lambda turns: pairs * np.log(original / (turns * 2 * np.pi)) / np.log(base)  # noqa: E731
    low, high = max(np.floor(place(fast)), 0), min(np.ceil(place(slow)), 2 * pairs - 1)
    ramp = np.clip((np.arange(pairs) - low) / max(high - low, 0.001), 0, 1)
    return rates(pairs, base) * (1 - ramp * (1 - 1 / factor))


def main():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((BATCH, HEADS, N, DIM)).astype(np.float32)
    ids = rng.integers(0, LONGEST, (BATCH, N)).astype(np.int32)
    ids[0, :2] = LONGEST - 1, 0
    angles = rng.standard_normal((N, 6))
    tables = {"cosines": np.cos(angles).astype(np.float32), "sines": np.sin(angles).astype(np.float32)}
    at = np.arange(N)[:, None]
    run = ids[:, None, :, None]
    wide = x.astype(float)
    cases = [
        ("rope(x, dims = 12)", turned(wide, at * rates(6), False)),
        ("rope_half(x, dims = 16, base = 500000)", turned(wide, at * rates(8, 500000.0), True)),
        ("rope_half(x, dims = dim // 4, start = 7)", turned(wide, (at + 7) * rates(4), True)),
        ("rope(x, inverse = 1)", turned(wide, -at * rates(16), False)),
        ("rope_half(x, dims = 24, inverse = 1)", turned(wide, -at * rates(12), True)),
        ("rope_half(rope_half(x, prefix = 3, dims = 10), prefix = 3, dims = 10, inverse = 1)", wide),
        ("rope2d(rope2d(x, map = (4, 5)), map = (4, 5), inverse = 1)", wide),
        ("rope2d_half(rope2d_half(x, map = (5, 4)), map = (5, 4), inverse = 1)", wide),
        ("rotate(x, cosines, sines, dims = 12)", turned(wide, angles, False)),
        ("rotate_half(x, cosines, sines, dims = 12)", turned(wide, angles, True)),
        ("rope_at(x, ids)", turned(wide, run * rates(16), False)),
        ("rope_at(x, ids, dims = 12, inverse = 1)", turned(wide, -run * rates(6), False)),
        ("rope_half_at(x, ids)", turned(wide, run * rates(16), True)),
        ("rope_half_at(x, ids, dims = 16)", turned(wide, run * rates(8), True)),
        ("rope_half_at(rope_half_at(x, ids, 4000, dims = 20), ids, dims = 20, inverse = 1)", wide),
        ("yarn_half_at(x, ids, factor = 8, original = 512, dims = 24)",
         turned(grown(wide, 24, 0.1 * np.log(8) + 1), run * yarn(12, 8, 512), True)),
        ("yarn_half_at(x, ids, factor = 8, original = 512, inverse = 1)",
         turned(wide / (0.1 * np.log(8) + 1), -run * yarn(16, 8, 512), True)),
        ("yarn_half_at(yarn_half_at(x, ids, factor = 4, original = 512, dims = 24), ids, factor = 4, original = 512, dims = 24,"
         " inverse = 1)", wide),
        (f"longrope_half_at(x, ids, factors = {FACTORS}, dims = 16, scale = 1.25)",
         turned(grown(wide, 16, 1.25), run * rates(8) / np.array(FACTORS), True)),
        (f"longrope_half_at(x, ids, factors = {FACTORS}, dims = 16, scale = 1.25, inverse = 1)",
         turned(grown(wide, 16, 0.8), -run * rates(8) / np.array(FACTORS), True)),
        (f"longrope_half_at(longrope_half_at(x, ids, factors = {2 * FACTORS}, scale = 1.19), ids, factors = {2 * FACTORS},"
         " scale = 1.19, inverse = 1)", wide),
        ("mrope_half_at(mrope_half_at(x, three, sections = (4, 6, 6)), three, sections = (4, 6, 6), inverse = 1)", wide),
        ("rope_axes_at(rope_axes_at(x, places, sizes = (4, 6, 6)), places, sizes = (4, 6, 6), inverse = 1)", wide),
    ]
    three = np.stack([ids, ids[:, ::-1], ids // 2], 1)
    arrays = {"x": x, "ids": ids, "three": three, "places": three.transpose(0, 2, 1), **tables}
    kinds = {"x": "f32[batch, heads, N, dim]", "ids": "i32[batch, N] in 0..longest - 1", "three": "i32[batch, 3, N] in 0..longest - 1",
             "places": "i32[batch, N, 3] in 0..longest - 1", "cosines": "f32[N, 6]", "sines": "f32[N, 6]"}
    wrong = 0
    for call, want in cases:
        used = [name for name in kinds if name + "," in call or name + ")" in call]
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/turn.attn", "w", encoding="utf-8") as stream:
                stream.write(f"param N = {N}, heads = {HEADS}, dim = {DIM}, longest = {LONGEST}\nsize batch\n"
                             f"kernel turn({', '.join(name + ' : ' + kinds[name] for name in used)}) -> f32[batch, heads, N, dim] {{\n"
                             f"  return {call}\n}}\n")
            command = [sys.argv[1], "run", f"{folder}/turn.attn", f"--output={folder}/o.npy"]
            for name in used:
                np.save(f"{folder}/{name}.npy", np.ascontiguousarray(arrays[name]))
                command.append(f"--input={name}={folder}/{name}.npy")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            error = np.inf
            if done.returncode == 0 and os.path.exists(f"{folder}/o.npy"):
                error = np.abs(np.load(f"{folder}/o.npy") - want).max() / np.abs(want).max()
        if not error < 4e-7:
            wrong += 1
            print(f"{call}: error {error:.2g} {done.stdout[-500:]} {done.stderr[-1500:]}")
    print(f"{len(cases) - wrong} of {len(cases)} right")


main()
