#!/usr/bin/env python3
"""Compares decoding, a few queries against a cache, with NumPy in float64: rows that fill no tile, depths that fill no vector,
empty and full lengths, NaN after the last key, numbers of 16 bits, pages that a table names, and keys in parts that several
threads share. The bits must not depend on the threads: one case in three is computed again by three of them.

    decode.py SKEWER [TARGET …]
"""
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

TEXT = """size batch
kernel decode(q : f32[batch, groups, rows, Nq, dim], k : {type}[batch, groups, C, dim], v : {type}[batch, groups, C, width],
              lengths : i32[batch] in 0..C) -> f32[batch, groups, rows, Nq, width] {{
  s = einsum("b g m i d, b g j d -> b g m i j", q, k) * dim^-0.5
  return einsum("b g m i j, b g j e -> b g m i e", {weights}, v)
}}
"""
PAGED = """size batch
kernel decode(q : f32[batch, groups, rows, Nq, dim], k : {type}[pages, groups, page, dim], v : {type}[pages, groups, page, width],
              block : i32[batch, C // page] in 0..pages - 1, lengths : i32[batch] in 0..C) -> f32[batch, groups, rows, Nq, width] {{
  s = einsum("b g m i d, (block[b, p]) g s d -> b g m i (p s)", q, k, p = C // page) * dim^-0.5
  return einsum("b g m i (p s), (block[b, p]) g s e -> b g m i e", {weights}, v, p = C // page)
}}
"""
GROWN = """size batch
kernel decode(q : f32[batch, groups, rows, Nq, dim], k : {type}[batch, groups, C, dim], v : {type}[batch, groups, C, width],
              kn : {type}[batch, groups, Nq, dim], vn : {type}[batch, groups, Nq, width]) -> f32[batch, groups, rows, Nq, width] {{
  s = einsum("b g m i d, b g j d -> b g m i j", q, concat(k, kn, dim = 2)) * dim^-0.5
  return einsum("b g m i j, b g j e -> b g m i e", softmax(s where j <= C + i), concat(v, vn, dim = 2))
}}
"""
WEIGHTS = {
    "plain": ("softmax(s where {key} < lengths[b])", lambda s, seen: softmax(s, seen)),
    "causal": ("softmax(s where {key} <= lengths[b] - Nq + i)", lambda s, seen: softmax(s, seen)),
    "capped": ("softmax(tanh(s / 5) * 5 where {key} < lengths[b])", lambda s, seen: softmax(np.tanh(s / 5) * 5, seen)),
    "sigmoid": ("sigmoid(s) * ({key} < lengths[b])", lambda s, seen: np.where(seen, 1 / (1 + np.exp(-s)), 0)),
    "holes": ("softmax(s where {key} < lengths[b] and ({key}) % 5 != 2)", lambda s, seen: softmax(s, seen)),
    "from": ("softmax(s where {key} >= lengths[b])", lambda s, seen: softmax(s, seen)),
}


def softmax(s, seen):
    s = np.where(seen, s, -np.inf)
    top = np.where(seen.any(-1, keepdims=True), s.max(-1, keepdims=True), 0)
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def rounded(x, kind):
    """Returns the array rounded to the element type, and the bytes of the file."""
    x = x.astype(np.float32)
    if kind == "f16":
        half = x.astype(np.float16)
        return half.astype(np.float64), half
    if kind == "bf16":
        bits = x.view(np.uint32)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return bits.view(np.float32).astype(np.float64), bits.view(np.float32)
    return x.astype(np.float64), x


def case(rng, kind, weights, paged, groups, rows, nq, c, dim, width):
    lengths = np.array([c, 0, max(1, c // 3), min(c, 17)], np.int32)
    q, q_file = rounded(rng.standard_normal((4, groups, rows, nq, dim)), "f32")
    k, v = rng.standard_normal((4, groups, c, dim)), rng.standard_normal((4, groups, c, width))
    page = 2 if rows == 1 else 4  # fewer keys than are multiplied together, and as many
    pages = 4 * (c // page) + 3
    params = dict(groups=groups, rows=rows, Nq=nq, C=c, dim=dim, width=width)
    files = {"q": q_file, "lengths": lengths}
    behind = np.arange(c)[None, :] >= lengths[:, None]
    if weights != "from":  # a key that no query sees may be anything
        k[np.broadcast_to(behind[:, None], k.shape[:3])] = np.nan
        v[np.broadcast_to(behind[:, None], v.shape[:3])] = np.nan
    if weights == "holes":
        k[:, :, 2::5], v[:, :, 2::5] = np.nan, np.nan
    (k, k_file), (v, v_file) = rounded(k, kind), rounded(v, kind)
    if paged:
        params.update(page=page, pages=pages)
        block = rng.permutation(pages)[: 4 * (c // page)].reshape(4, -1).astype(np.int32)

        def pool(x):
            out = np.full((pages, groups, page, x.shape[-1]), np.nan, x.dtype)
            out[block] = x.reshape(4, groups, c // page, page, -1).transpose(0, 2, 1, 3, 4)
            return out

        k_file, v_file, files["block"] = pool(k_file), pool(v_file), block
    files.update(k=k_file, v=v_file)
    j, i = np.arange(c), np.arange(nq)
    limit = lengths[:, None, None, None, None]
    seen = {"causal": j <= limit - nq + i[:, None], "from": j >= limit, "holes": (j < limit) & (j % 5 != 2)}.get(weights, j < limit)
    seen = np.broadcast_to(seen, (4, groups, rows, nq, c))
    clean = lambda x: np.nan_to_num(x, nan=0.0)  # noqa: E731
    s = np.einsum("bgmid,bgjd->bgmij", q, clean(k)) * dim**-0.5
    want = np.einsum("bgmij,bgje->bgmie", WEIGHTS[weights][1](s, seen), clean(v))
    text = (PAGED if paged else TEXT).format(type=kind, weights=WEIGHTS[weights][0].format(key="p*page + s" if paged else "j"))
    if paged:  # `s` is an axis there
        text = text.replace("  s = ", "  scores = ").replace("softmax(s ", "softmax(scores ").replace("tanh(s /", "tanh(scores /")
        text = text.replace("sigmoid(s)", "sigmoid(scores)")
    return "param " + ", ".join(f"{a} = {b}" for a, b in params.items()) + "\n" + text, files, want


def bare(spec, joined):
    """Returns the same step without an axis of queries; with `joined`, all heads are in one dimension."""
    text, files, want = spec
    for old, new in (("g m i ", "(g m) " if joined else "g m "), ("rows, Nq, ", "rows, "), ("groups, rows", "groups*rows" if joined else "groups, rows")):
        text = text.replace(old, new)
    if joined:
        text = text.replace("q, k", "q, k, m = rows").replace(", v)", ", v, m = rows)").replace(", v, p", ", v, m = rows, p")
    shape = (4, -1) if joined else want.shape[:3]
    return text, dict(files, q=files["q"].reshape(*shape, files["q"].shape[-1])), want.reshape(*shape, want.shape[-1])


def grown(rng, kind, groups, rows, nq, c, dim, width):
    """Returns a case whose new keys follow the cache in a tensor of their own; the kernel must not copy the cache."""
    params = dict(groups=groups, rows=rows, Nq=nq, C=c, dim=dim, width=width)
    sizes = {"q": (rows, nq, dim), "k": (c, dim), "v": (c, width), "kn": (nq, dim), "vn": (nq, width)}
    files, wide = {}, {}
    for name, size in sizes.items():
        wide[name], files[name] = rounded(rng.standard_normal((3, groups, *size)), "f32" if name == "q" else kind)
    k, v = np.concatenate([wide["k"], wide["kn"]], 2), np.concatenate([wide["v"], wide["vn"]], 2)
    seen = np.arange(c + nq)[None, :] <= c + np.arange(nq)[:, None]
    s = np.einsum("bgmid,bgjd->bgmij", wide["q"], k) * dim**-0.5
    want = np.einsum("bgmij,bgje->bgmie", softmax(s, np.broadcast_to(seen, s.shape)), v)
    return "param " + ", ".join(f"{a} = {b}" for a, b in params.items()) + "\n" + GROWN.format(type=kind), files, want


def in_parts(queries, keys):
    """Returns the option for a schedule whose items have so many queries and keys."""
    block = (queries + 1) // 2 * 2
    return [f"--schedule=tile_rows=2,tile_vectors=1,row_block={block},key_block=16,keys_per_item={keys}"]


def run(skewer, target, spec, schedule=(), threads=True):
    text, files, want = spec
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/decode.attn", "w", encoding="utf-8") as stream:
            stream.write(text)
        command = [skewer, "run", f"{folder}/decode.attn", f"--target={target}", "--rows=1", "--tolerance=1e9", f"--output={folder}/o.npy"]
        for name, values in files.items():
            np.save(f"{folder}/{name}.npy", values)
            command.append(f"--input={name}={folder}/{name}.npy")
        explained = subprocess.run([skewer, "explain", f"{folder}/decode.attn", f"--target={target}"], capture_output=True, text=True, check=False)
        done = subprocess.run(command + list(schedule), capture_output=True, text=True, check=False)
        if done.returncode or not os.path.exists(f"{folder}/o.npy"):
            return explained.stdout, "refused: " + done.stderr[-400:]
        got = np.load(f"{folder}/o.npy").astype(np.float64)
        if threads and "keys_per_item" in "".join(schedule):
            subprocess.run(command + list(schedule) + ["--threads=3"], capture_output=True, check=True)
            if not np.array_equal(np.load(f"{folder}/o.npy").astype(np.float64), got):
                return explained.stdout, "another result with three threads"
    error = np.abs(got - want).max() / np.abs(want).max()
    return explained.stdout, None if error < 2e-6 else f"error {error:.2g} of the largest value"


def main():
    skewer, targets = sys.argv[1], sys.argv[2:] or ["x86-64-v2", "x86-64-v3", "host"]
    rng = np.random.default_rng(7)
    specs = []
    for kind, weights, paged in itertools.product(("f32", "bf16", "f16"), WEIGHTS, (False, True)):
        if kind != "f32" and weights not in ("plain", "causal"):
            continue
        for rows, nq, c, dim, width in ((4, 1, 200, 20, 33), (1, 1, 48, 64, 64), (3, 2, 72, 7, 16), (1, 13, 96, 32, 5), (4, 1, 64, 64, 24)):
            specs.append((kind, weights, paged, 2, rows, nq, c, dim, width))
    failed = in_place = 0
    for target, (number, spec) in itertools.product(targets, enumerate(specs)):
        if number % 3 != targets.index(target) % 3 and len(targets) > 1:
            continue  # each on one of the targets
        _, _, _, _, rows, nq, *_ = spec
        schedules = [[], ["--schedule=key_block=32,tile_vectors=1"], in_parts(rows * nq, 32), in_parts(rows * nq, 16)]
        explained, why = run(skewer, target, case(rng, *spec), schedules[number // 3 % 4], threads=number % 9 < 3)
        in_place += "key_dots" in explained
        if why or "  fused" not in explained:
            failed += 1
            print(f"{target} {spec}: {why or explained}")
    for target in targets:  # so many heads that keys are not divided, though the schedule has parts
        _, why = run(skewer, target, case(rng, "f32", "plain", False, 17, 2, 1, 72, 8, 16), in_parts(2, 16))
        if why:
            failed += 1
            print(f"{target} many heads: {why}")
    named = (("f32", "plain", False), ("bf16", "capped", False), ("f16", "plain", True), ("f32", "sigmoid", True), ("bf16", "holes", True))
    for number, (kind, weights, paged) in enumerate(named):  # no axis of queries
        target, rows = targets[number % len(targets)], 4 - number % 2 * 3
        for joined in (False, True):
            explained, why = run(skewer, target, bare(case(rng, kind, weights, paged, 2, rows, 1, 72, 24, 33), joined))
            if why or "  fused" not in explained or "elementwise" in explained:
                failed += 1
                print(f"{target} {kind} {weights} without an axis of queries: {why or explained}")
    forms = (("f32", 2, 4, 1, 200, 20, 33), ("bf16", 1, 3, 2, 15, 64, 64), ("f16", 2, 1, 5, 77, 7, 16))
    for target, sizes in itertools.product(targets, forms):
        explained, why = run(skewer, target, grown(rng, *sizes), in_parts(sizes[2] * sizes[3], 16) if sizes[4] > 20 else [])
        if why or "  fused" not in explained or "concatenate" in explained or "elementwise" in explained:
            failed += 1
            print(f"{target} grown {sizes}: {why or explained}")
    print(f"{failed} wrong, keys in place in {'most' if in_place > 0.6 * len(specs) / 3 * len(targets) / 3 else 'few'}")


main()
