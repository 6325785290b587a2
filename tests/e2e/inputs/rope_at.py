#!/usr/bin/env python3
"""Compares rotary positions at run time, below 2^20, with float64 formulas from the papers.

    rope_at.py SKEWER
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

LONGEST, BATCH, HEADS, N, DIM = 1 << 20, 2, 3, 37, 128
P = DIM // 2
PAIRS = np.arange(P)
FACTORS = (1 + PAIRS * 0.37).round(2)


def frequencies(base):
    return float(base) ** (-PAIRS / P)


def yarn(factor, original, base, fast=32, slow=1):
    """Returns YaRN's frequencies: pairs that turn often enough keep theirs (arXiv:2309.00071, section 3.2)."""
    pair = lambda turns: DIM * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base))  # noqa: E731
    low, high = max(np.floor(pair(fast)), 0), min(np.ceil(pair(slow)), DIM - 1)
    ramp = np.clip((PAIRS - low) / max(high - low, 0.001), 0, 1)
    return frequencies(base) / factor * ramp + frequencies(base) * (1 - ramp)


def half(x, angles):
    c, s, x = np.cos(angles)[:, None], np.sin(angles)[:, None], x.astype(float)
    return np.concatenate([x[..., :P] * c - x[..., P:] * s, x[..., P:] * c + x[..., :P] * s], -1)


def interleaved(x, angles):
    c, s, x = np.cos(angles)[:, None], np.sin(angles)[:, None], x.astype(float)
    return np.stack([x[..., ::2] * c - x[..., 1::2] * s, x[..., 1::2] * c + x[..., ::2] * s], -1).reshape(x.shape)


def main():
    skewer = sys.argv[1]
    rng = np.random.default_rng(3)
    x = rng.standard_normal((BATCH, HEADS, N, DIM)).astype(np.float32)
    ids = rng.integers(0, LONGEST, (BATCH, N)).astype(np.int32)
    ids[0, :2] = LONGEST - 1, 0
    three = rng.integers(0, LONGEST, (BATCH, N, 3)).astype(np.int32)
    section, axis = np.digitize(PAIRS, [16, 40]), np.digitize(PAIRS, [8, 36])
    within = PAIRS - np.array([0, 8, 36])[axis]
    one = lambda f: ids[:, :, None] * f  # noqa: E731
    cases = [
        ("rope_half_at(x, ids, longest, base = 500000)", "batch, N", ids, half(x, one(frequencies(500000)))),
        ("rope_at(x, ids, longest)", "batch, N", ids, interleaved(x, one(frequencies(10000)))),
        ("yarn_half_at(x, ids, longest, factor = 8, original = 4096)", "batch, N", ids, (0.1 * np.log(8) + 1) * half(x, one(yarn(8, 4096, 10000)))),
        (f"longrope_half_at(x, ids, longest, [{', '.join(map(str, FACTORS))}], scale = 1.19)", "batch, N", ids, 1.19 * half(x, one(frequencies(10000) / FACTORS))),
        ("mrope_half_at(x, ids, longest, sections = (16, 24, 24))", "batch, 3, N", three.transpose(0, 2, 1), half(x, three[:, :, section] * frequencies(1000000))),
        ("rope_axes_at(x, ids, longest, sizes = (8, 28, 28))", "batch, N, 3", three, interleaved(x, three[:, :, axis] * 10000.0 ** (-within / np.array([8, 28, 28])[axis]))),
    ]
    for call, shape, positions, want in cases:
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/turn.attn", "w", encoding="utf-8") as stream:
                stream.write(
                    f"param N = {N}, heads = {HEADS}, dim = {DIM}, longest = {LONGEST}\nsize batch\n"
                    f"kernel turn(x : f32[batch, heads, N, dim], ids : i32[{shape}] in 0..longest - 1) -> f32[batch, heads, N, dim] {{\n  return {call}\n}}\n"
                )
            np.save(f"{folder}/x.npy", x)
            np.save(f"{folder}/ids.npy", np.ascontiguousarray(positions))
            command = [skewer, "run", f"{folder}/turn.attn", f"--output={folder}/o.npy"] + [f"--input={name}={folder}/{name}.npy" for name in ("x", "ids")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            error = np.inf
            if done.returncode == 0 and os.path.exists(f"{folder}/o.npy"):
                error = np.abs(np.load(f"{folder}/o.npy") - want).max() / np.abs(want).max()
        print(f"{call.split('(')[0]}: {'right' if error < 3e-7 else f'error {error:.2g} {done.stderr[-1500:]}'}")


main()
