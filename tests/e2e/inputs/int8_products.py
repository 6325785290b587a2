#!/usr/bin/env python3
"""Compares layers whose queries and keys are i8 with NumPy: sums of integers, times the scales in float64. The scales
are those of a tensor, head, token or block of tokens. `explain` must say that the content is multiplied as integers, except
where a scale lies along the depth, sums could exceed 32 bits, a few queries have a depth that does not fill vectors, or the
depth is 1 and so no axis of a sum. Prints what is wrong.

    int8_products.py SKEWER [--deepest] TARGET …
"""
import subprocess
import sys
import tempfile

import numpy as np

# The type of the scales, the factor in the text, their shape, and the scale of each row and element.
SCALES = {
    "none": (None, "{x}", None, None),
    "tensor": ("f32[1]", "{x} * {s}", lambda h, n, d: (1,), lambda s, n: s[:, None, None]),
    "head": ("f32[{h}]", "{x} * {s}[:, None, None]", lambda h, n, d: (h,), lambda s, n: s[:, None, None]),
    "token": ("f32[batch, {h}, {n}]", "{x} * {s}[..., None]", lambda h, n, d: (2, h, n), lambda s, n: s[..., None]),
    "half": ("bf16[batch, {h}, {n}]", "{x} * {s}[..., None]", lambda h, n, d: (2, h, n), lambda s, n: s[..., None]),
    "block": ("f32[batch, {h}, {n} // 8]", 'einsum("b h j d, b h (j // 8) -> b h j d", {x}, {s})', lambda h, n, d: (2, h, n // 8),
              lambda s, n: np.repeat(s, 8, -1)[..., None]),
    "depth": ("f32[{h}, dim]", "{x} * {s}[:, None]", lambda h, n, d: (h, d), lambda s, n: s[:, None]),
}
# Other terms of the score: the operand, the text, its shape.
TERMS = {
    "": (None, "", None),
    "bias": ("bias : f32[heads*shared, Nq, N]", " + bias", lambda h, nq, n, d: (h, nq, n)),
    "slope": ("slope : f32[heads*shared]", " + alibi(slope)", lambda h, nq, n, d: (h,)),
    "table": ("table : f32[Nq + N - 1, dim]", ' + einsum("b h i d, (j - i + Nq - 1) d -> b h i j", qn, table) * 0.1',
              lambda h, nq, n, d: (nq + n - 1, d)),
}
MASKS = {"": lambda i, j: j >= 0, "j <= i": lambda i, j: j <= i, "abs(i - j) < 9": lambda i, j: abs(i - j) < 9}
TEXT = """param heads = {heads}, shared = {shared}, dim = {dim}, width = {width}{params}
size batch{sizes}
kernel f(q : i8[batch, heads*shared, {nq}, dim], k : i8[batch, heads, N, dim], v : {value}[batch, heads, N, width]{declared})
    -> {value}[batch, heads*shared, {nq}, width] {{
  qn = {query}
  kn = {key}
  s = einsum("b h i d, b (h // shared) j d -> b h i j", qn, kn) * {scale}{term}
  return einsum("b h i j, b (h // shared) j e -> b h i e", softmax(s{mask}), v)
}}
"""
AFTER = """param N = {n}, heads = {heads}, dim = {dim}, width = {width}
size batch
kernel f(q, k : i8[batch, heads, N, dim], v : f32[batch, heads, N, width], qs, ks : f32[batch, heads, N])
    -> f32[batch, heads, N, width] {{
  s = einsum("b h i d, b h j d -> b h i j", q, k) * qs[..., None] * ks[:, :, None, :] * {scale}
  return einsum("b h i j, b h j e -> b h i e", softmax(s), v)
}}
"""
# `atMost`: the lengths are sizes of the call, up to this one. `after`: scales multiply the product in the text.
DEFAULTS = {"query": "token", "key": "token", "nq": 0, "n": 72, "heads": 2, "shared": 1, "dim": 64, "width": 24, "value": "f32",
            "term": "", "mask": "", "least": -128, "most": 127, "atMost": 0, "after": False, "integers": True}
ROWS = [kind for kind in SCALES if kind != "depth"]
CASES = [{"query": query, "key": key} for n, query in enumerate(ROWS) for key in (query, ROWS[n - 1])]
CASES += [{"key": "depth", "integers": False}, {"query": "depth", "integers": False}]
CASES += [{"dim": dim, "integers": dim > 1} for dim in (1, 2, 3, 20, 30, 65, 128, 200)]
CASES += [{"dim": dim, "least": -128, "most": -128} for dim in (64, 130, 1030)]
CASES += [{"least": 127, "most": 127}, {"dim": 30, "least": -128, "most": -127, "query": "none"}]
CASES += [{"term": term, "mask": mask} for term in TERMS for mask in MASKS]
CASES += [{"shared": 3, "n": 50}, {"shared": 3, "query": "head", "key": "block", "n": 64}, {"nq": 40, "n": 131, "mask": "j <= i"}]
CASES += [{"atMost": 90, "n": n, "mask": mask} for n in (1, 37, 90) for mask in MASKS]
CASES += [{"value": "bf16"}, {"value": "bf16", "term": "bias"}, {"value": "bf16", "query": "none", "key": "none"},
          {"value": "bf16", "query": "half", "key": "half"}, {"value": "bf16", "n": 300, "query": "half", "key": "tensor", "mask": "j <= i"}]
CASES += [{"after": True}, {"after": True, "dim": 20}, {"n": 700}]
CASES += [{"nq": nq, "query": query, "key": key, "dim": dim, "integers": dim % 64 == 0} for nq, query, key, dim in
          ((1, "token", "token", 64), (1, "none", "half", 256), (5, "head", "block", 128), (31, "token", "none", 64), (8, "block", "token", 20))]
CASES += [{"nq": 3, "term": "bias", "mask": "j <= i"}, {"nq": 4, "dim": 128, "n": 131, "least": -128, "most": -128}, {"nq": 1, "shared": 8}]
# Sums of 2^31 - 2^14; one product more would be too large. Its packing has many instructions.
DEEPEST = [{"dim": 131071, "n": 33, "heads": 1, "least": -128, "most": -128}]


def rounded(x):
    """Returns numbers that bf16 holds."""
    return ((x.view(np.uint32) + 0x8000) & 0xFFFF0000).view(np.float32)


def layer(rng, query, key, nq, n, heads, shared, dim, width, value, term, mask, least, most, atMost, after, **_):
    nq, all_heads = nq or n, heads * shared
    names = {"n": "N" if atMost or nq == n else "Nq"}
    numbers = {"q": rng.integers(least, most + 1, (2, all_heads, nq, dim)).astype(np.int8),
               "k": rng.integers(least, most + 1, (2, heads, n, dim)).astype(np.int8),
               "v": rounded(rng.standard_normal((2, heads, n, width)).astype(np.float32))}
    files = {"q": numbers["q"], "k": numbers["k"], "v": numbers["v"]}
    declared, texts, scale = "", {}, 0.3 * dim**-0.5
    wide = {x: numbers[x].astype(np.float64) for x in "qk"}
    for x, kind, rows, h in (("q", query, nq, all_heads), ("k", key, n, heads)):
        what, factor, shape, spread = SCALES[kind]
        texts[x] = factor.format(x=x, s=x + "s")
        if what is None:
            scale *= 0.01
            continue
        declared += f", {x}s : " + what.format(h="heads*shared" if x == "q" else "heads", n=names["n"] if x == "q" else "N")
        scales = rounded((0.01 * (0.5 + rng.random(shape(h, rows, dim)))).astype(np.float32))
        files[x + "s"] = scales
        if kind == "depth":
            wide[x] = wide[x] * spread(scales.astype(np.float64), rows)
        else:
            numbers[x + "s"] = spread(scales.astype(np.float64), rows)
    of_query, of_key = (np.broadcast_to(numbers.get(x, np.ones((1, 1, 1))), (2, h, rows, 1)) for x, h, rows in
                        (("qs", all_heads, nq), ("ks", heads, n)))
    k, of_key, v = (np.repeat(x, shared, 1) for x in (wide["k"], of_key, numbers["v"].astype(np.float64)))
    s = (wide["q"] @ np.swapaxes(k, 2, 3)) * of_query * np.swapaxes(of_key, 2, 3) * scale
    i, j = np.arange(nq)[:, None], np.arange(n)
    operand, text, shape = TERMS[term]
    if operand:
        x = rng.standard_normal(shape(all_heads, nq, n, dim)).astype(np.float32)
        files[term] = x
        declared += ", " + operand
        x = x.astype(np.float64)
        if term == "table":
            s = s + 0.1 * np.einsum("bhid,ijd->bhij", wide["q"] * of_query, x[j - i + nq - 1])
        else:
            s = s + (x if term == "bias" else -x[:, None, None] * abs(i - j))
    s = np.where(MASKS[mask](i, j), s, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(top), top, 0))
    want = np.divide(e, e.sum(-1, keepdims=True), out=np.zeros_like(e), where=e.sum(-1, keepdims=True) > 0) @ v
    if after:
        return AFTER.format(n=n, heads=heads, dim=dim, width=width, scale=repr(scale)), files, want
    params = "" if atMost else f", N = {n}" + ("" if nq == n else f", Nq = {nq}")
    text = TEXT.format(heads=heads, shared=shared, dim=dim, width=width, params=params, sizes=f"\nsize N <= {atMost}" if atMost else "",
                       nq=names["n"], value=value, declared=declared, query=texts["q"], key=texts["k"], scale=repr(scale),
                       term=text if nq != n else text.replace("Nq", "N"), mask=mask and " where " + mask)
    return text if nq != n else text.replace("Nq", "N"), files, want


def fault(skewer, target, case, folder):
    """Returns what is wrong with a layer; nothing if it is right."""
    text, files, want = layer(np.random.default_rng(7), **case)
    with open(f"{folder}/f.attn", "w", encoding="utf-8") as stream:
        stream.write(text)
    command = [skewer, "run", f"{folder}/f.attn", f"--target={target}", "--rows=4", f"--output={folder}/o.npy"]
    for name, values in files.items():
        np.save(f"{folder}/{name}.npy", values)
        command.append(f"--input={name}={folder}/{name}.npy")
    explained = subprocess.run([skewer, "explain", f"{folder}/f.attn", f"--target={target}"], capture_output=True, text=True, check=False)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"status {done.returncode}: {done.stdout[-300:]}{done.stderr[-600:]}\n{text}"
    if ("multiplied as integers" in explained.stdout) != case["integers"]:
        return f"explained wrongly: {explained.stdout}"
    error = np.abs(np.load(f"{folder}/o.npy").astype(np.float64) - want).max() / np.abs(want).max()
    most = 8e-3 if case["value"] == "bf16" else 2e-6
    return None if error < most else f"error {error:.2g} of the largest value"


def main():
    skewer, targets = sys.argv[1], [argument for argument in sys.argv[2:] if argument != "--deepest"]
    cases, wrong = CASES + (DEEPEST if "--deepest" in sys.argv else []), 0
    for target in targets:
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                why = fault(skewer, target, DEFAULTS | case, folder)
            if why:
                wrong += 1
                print(f"{target} {case}: {why}")
    print(f"{wrong} of {len(targets) * len(cases)} wrong")


if __name__ == "__main__":
    main()
