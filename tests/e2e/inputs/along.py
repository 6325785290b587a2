#!/usr/bin/env python3
"""Compares reductions and sums along axes, and conditions on values, with NumPy in float64: sizes near those of vectors, each
axis of a tensor, run-time sizes of 0 and more, NaN and infinities, types of 16 and of 8 bits.

    along.py SKEWER [TARGET]
"""
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

TARGET = sys.argv[2] if len(sys.argv) > 2 else "host"
ALONG = {
    "sum(x, {at})": lambda x, at: x.sum(at),
    "mean(x, {at})": lambda x, at: x.mean(at) if x.shape[at] else np.full(np.delete(x.shape, at), np.nan),
    "max(x, axis = {at})": lambda x, at: x.max(at, initial=-np.inf),
    "min(x, axis = {at})": lambda x, at: x.min(at, initial=np.inf),
    "cumsum(x, {at})": lambda x, at: np.cumsum(x, at),
}
RUNNING = {"t <= i": (False, False), "t < i": (False, True), "i <= t": (True, False), "t > i": (True, True)}
VALUES = {
    "x if x > y else -y": lambda x, y: np.where(x > y, x, -y),
    "select(not (x >= y), 1 / x, y)": lambda x, y: np.where(~(x >= y), 1 / x, y),
    "x * (y < 1 and x == x)": lambda x, y: np.where((y < 1) & (x == x), x, 0),
    "x if isfinite(y) or x != 0 else y": lambda x, y: np.where(np.isfinite(y) | (x != 0), x, y),
    "sign(x) + round(3 * y)": lambda x, y: np.sign(x) + np.rint(np.float32(3) * y.astype(np.float32)),
    "y if isnan(x) else x": lambda x, y: np.where(np.isnan(x), y, x),
    "(x > 0) + (y > 0)": lambda x, y: (x > 0) * 1.0 + (y > 0),
}


def running(x, before, after):
    """Returns the running sum along the middle axis, with or without the element, from the beginning or to the end."""
    x = x[:, ::-1] if before else x
    out = np.cumsum(x, 1)
    if after:
        out = np.concatenate([np.zeros_like(out[:, :1]), out[:, :-1]], 1)
    return out[:, ::-1] if before else out


def cases(rng):
    """Yields (text, operands, expected)."""
    number = itertools.count()
    for (form, function), (a, b) in itertools.product(ALONG.items(), ((1, 1), (3, 8), (17, 9), (9, 40), (5, 700), (530, 3))):
        for at in (1, 2) if "cumsum" in form else (0, 1, 2):
            kind = ("f32", "bf16", "f16", "i8")[next(number) % 4]
            batch = (2, 1, 3)[next(number) % 3]
            x = rng.standard_normal((batch, a, b))
            x = np.clip(np.rint(30 * x), -128, 127) if kind == "i8" else rounded(x, kind)
            odd = next(number) % 3 == 0 and kind != "i8"
            if odd:
                x[0, a // 2, b // 2], x[-1, a - 1, 0] = np.nan, np.inf
            shape = [s for k, s in enumerate(("batch", a, b)) if k != at or "cumsum" in form]
            text = f"size batch\nkernel f(x : {kind}[batch, {a}, {b}]) -> f32[{', '.join(map(str, shape))}] {{ return {form.format(at=at)} }}"
            yield text, {"x": x.astype(np.int8) if kind == "i8" else x.astype(np.float32)}, function(x, at)
    for (form, flags), (n, d) in itertools.product(RUNNING.items(), ((1, 3), (8, 8), (33, 41), (600, 5))):
        x, g = rounded(rng.standard_normal((2, n, d)), "f32"), rounded(rng.standard_normal(n), "f32")
        for result, order in (("b i d", (0, 1, 2)), ("b d i", (0, 2, 1))):
            text = (f"kernel f(x : f32[2, {n}, {d}], g : f32[{n}]) -> f32[{', '.join(str((2, n, d)[k]) for k in order)}] {{\n"
                    f'  return einsum("b t d, t -> {result}", x, g, i = {n}, where = {form})\n}}')
            yield text, {"x": x.astype(np.float32), "g": g.astype(np.float32)}, running(x * g[:, None], *flags).transpose(order)
    # Later elements never count, even if they are NaN.
    x = rng.standard_normal((2, 50, 5))
    x[:, 30:] = np.nan
    yield ("kernel f(x : f32[2, 50, 5]) -> f32[2, 50, 5] { return cumsum(x, 1) }", {"x": x.astype(np.float32)}, np.cumsum(x.astype(np.float32), 1, np.float64))
    for (form, function), (a, b) in itertools.product(VALUES.items(), ((1, 1), (7, 19), (4, 64))):
        x, y = rounded(rng.standard_normal((2, a, b)), "f32"), rounded(rng.standard_normal((2, a, b)), "f32")
        if a > 1:
            x[0, 0, :6], y[0, 0, :6] = (np.nan, np.inf, -np.inf, 0, 1, np.nan), (1, np.nan, 2, 0, -np.inf, np.nan)
            y[1, 2, :4], x[1, 1, :4] = (0.5, -0.5, 2.5, 1 / 6), (-0.0, 0, 0.5, 1)
        text = f"size batch\nkernel f(x, y : f32[batch, {a}, {b}]) -> f32[batch, {a}, {b}] {{ return {form} }}"
        yield text, {"x": x.astype(np.float32), "y": y.astype(np.float32)}, function(x, y)


def rounded(x, kind):
    x = np.asarray(x, np.float32)
    if kind == "f16":
        x = x.astype(np.float16).astype(np.float32)
    if kind == "bf16":
        bits = x.view(np.uint32)
        x = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return x.astype(np.float64)


def run(skewer, text, operands, want):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/f.attn", "w", encoding="utf-8") as stream:
            stream.write(text)
        command = [skewer, "run", f"{folder}/f.attn", f"--target={TARGET}", "--rows=1", "--tolerance=1e9", f"--output={folder}/o.npy"]
        for name, values in operands.items():
            np.save(f"{folder}/{name}.npy", values)
            command.append(f"--input={name}={folder}/{name}.npy")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not os.path.exists(f"{folder}/o.npy"):
            return f"exit {done.returncode}: {done.stderr[-400:]}"
        got = np.load(f"{folder}/o.npy").astype(np.float64)
    if not np.array_equal(np.isfinite(got), np.isfinite(want)) or not np.array_equal(got[~np.isfinite(got)], want[~np.isfinite(want)], equal_nan=True):
        return "NaN and infinities stand elsewhere"
    got, want = got[np.isfinite(got)], want[np.isfinite(want)]
    error = np.abs(got - want).max(initial=0) / np.abs(want).max(initial=1e-30)
    return None if error < 1e-6 else f"error {error:.2g} of the largest value"


def main():
    failed = count = 0
    with np.errstate(all="ignore"):
        for text, operands, want in cases(np.random.default_rng(3)):
            count += 1
            why = run(sys.argv[1], text, operands, want)
            if why:
                failed += 1
                print(f"{text}: {why}")
    print(f"{failed} wrong" if count > 130 else f"only {count} cases")


main()
