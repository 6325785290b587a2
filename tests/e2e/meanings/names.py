"""names.py SKEWER [NAME …]: tests texts in which one name has several meanings: axes and values, schemes and their callers. Each
text has NumPy code for its meaning."""
import os
import subprocess
import sys
import tempfile

import numpy as np

rng = np.random.default_rng(11)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def causal(x):
    return softmax(np.where(np.tril(np.ones(x.shape[-2:], bool)), x, -np.inf))


def elu(x):
    return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)


def rope(x):
    n, d = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1] // 2)[None, :]
    c, s = np.cos(n * 10000.0 ** (-d / d.size)), np.sin(n * 10000.0 ** (-d / d.size))
    out = np.empty_like(x)
    out[..., ::2], out[..., 1::2] = x[..., ::2] * c - x[..., 1::2] * s, x[..., 1::2] * c + x[..., ::2] * s
    return out


x44, y44, w4, t24, k24 = normal(4, 4), normal(4, 4), normal(4), normal(2, 4), normal(2, 4, 3)
n4 = np.arange(4)
distance = np.abs(n4[:, None] - n4[None, :])
# By name: text, operands, meaning, and options of `run`.
CASES = {
    "position": (
        """kernel f(q, k, v : f32[4, 4]) -> f32[4, 4] {
             s = einsum("q d, k d -> q k", q, k)
             return einsum("q k, k d -> q d", softmax(s + (0 if position(k) <= position(q) else -inf)), v)
           }""",
        {"q": x44, "k": y44, "v": x44}, lambda q, k, v: causal(q @ k.T) @ v),
    "position_of_a_number": (
        """param d = 4
           kernel f(x : f32[4, d]) -> f32[4, d] {
             t = einsum("n d -> n d", x)
             return t * (position(d) < 2) * d[...]
           }""",
        {"x": x44}, lambda x: x * (n4 < 2) * 4),
    "position_in_a_text": (
        """kernel f(q, k : f32[4, 4], t : f32[7, 4]) -> f32[4, 4] {
             return einsum("q d, k d -> q k", q, k) + einsum("q d, (position(k) - position(q) + 3) d -> q k", q, t, k = 4)
           }""",
        {"q": x44, "k": y44, "t": normal(7, 4)},
        lambda q, k, t: q @ k.T + np.einsum("qd,qkd->qk", q, t[n4[None, :] - n4[:, None] + 3])),
    "value": (
        """kernel f(k : f32[4, 4], v : f32[4]) -> f32[4, 4] {
             s = einsum("k v -> k v", k)
             return s * (v[...] > 0) + 2 * k[...]
           }""",
        {"k": x44, "v": w4}, lambda k, v: k * (v > 0) + 2 * k),
    "builtin_and_axis": (
        """kernel f(a : f32[4, 4]) -> f32[4, 4] {
             t = einsum("b x -> b x", a)
             return elu(t) + sign(t)
           }""",
        {"a": x44}, lambda a: elu(a) + np.sign(a)),
    "operand_and_axis": (
        """scheme above(x, d) = x if x > d else 0
           scheme least(i) = i if i > 0.5 else 0
           kernel f(a : f32[4, 4]) -> f32[4, 4] {
             t = einsum("i d -> i d", a)
             return above(t, 0.25) + least(t)
           }""",
        {"a": x44}, lambda a: np.where(a > 0.25, a, 0) + np.where(a > 0.5, a, 0)),
    "local_and_axis": (
        """scheme twice(x) {
             d = x + 1
             return d * 2
           }
           kernel f(a : f32[4, 4]) -> f32[4, 4] { return twice(einsum("n d -> n d", a)) }""",
        {"a": x44}, lambda a: (a + 1) * 2),
    "axes_come_back": (
        """scheme doubled(x : [n, d]) = x * 2
           kernel f(y : f32[4, 4], w : f32[4]) -> f32[4, 4] {
             t = einsum("d n -> d n", y)
             return doubled(t) * w[n]
           }""",
        {"y": x44, "w": w4}, lambda y, w: 2 * y * w),
    "mask_behind_a_scheme": (
        """scheme doubled(x : [j, i]) = x * 2
           kernel f(y : f32[4, 4]) -> f32[4, 4] { return softmax(doubled(einsum("i j -> i j", y)) where j <= i) }""",
        {"y": x44}, lambda y: causal(2 * y)),
    "rope_keeps_names": (
        """kernel f(x : f32[1, 4, 4, 4], g : f32[4]) -> f32[1, 4, 4, 4] {
             t = einsum("w n s d -> w n s d", x)
             return rope(t) * g[n]
           }""",
        {"x": normal(1, 4, 4, 4), "g": w4}, lambda x, g: rope(x) * g[:, None, None]),
    "argument_along_an_axis": (
        """scheme gated(x : [n, d], g) = x * g
           kernel f(y : f32[4, 4], w : f32[4]) -> f32[4, 4] {
             t = einsum("a c -> a c", y)
             return gated(t, w[a])
           }""",
        {"y": x44, "w": w4}, lambda y, w: y * w[:, None]),
    "argument_of_another_axis": (
        """scheme shifted(x : [n], offset) = x * (offset + 1)
           kernel f(y : f32[4], z : f32[3]) -> f32[3, 4] {
             t = einsum("m -> m", y)
             u = einsum("n -> n", z)
             return einsum("m n -> n m", broadcast(shifted(t, 1), "m -> m n", n = 3)) * (shifted(u, n) - u * n)[:, None]
           }""",
        {"y": w4, "z": normal(3)}, lambda y, z: z[:, None] * 2 * y[None, :]),
    "one_axis_twice": (
        """scheme products(q : [i, d], k : [j, d]) = einsum("i d, j d -> i j", q, k)
           kernel f(x : f32[4, 4]) -> f32[4, 4] {
             t = einsum("n d -> n d", x)
             return products(t, t)
           }""",
        {"x": x44}, lambda x: x @ x.T),
    "schemes_in_schemes": (
        """scheme inner(x, n) = x * n
           scheme outer(n : [x], y) = inner(n, y) + inner(y, inner(n, 2))
           kernel f(a : f32[4], b : f32[4]) -> f32[4] {
             x = einsum("n -> n", a)
             return outer(x, b[n])
           }""",
        {"a": w4, "b": normal(4)}, lambda a, b: 3 * a * b),
    "score_axes_are_given": (
        """kernel f(q, k : f32[2, 4, 3], slope : f32[2]) -> f32[2, 4, 4] {
             s = einsum("g q d, g k d -> g q k", q, k)
             return s + alibi(slope, i = q, j = k)
           }""",
        {"q": k24, "k": normal(2, 4, 3), "slope": normal(2)},
        lambda q, k, slope: np.einsum("gqd,gkd->gqk", q, k) - slope[:, None, None] * distance),
    "builtin_schemes_see_nothing": (
        """scheme t5_bucket(d, buckets = 32, max_distance = 128) = clamp(d, -3, 3) + 20
           param len_r = 3, half = 2
           kernel f(q, k : f32[2, 4, 3], table : f32[32, 2]) -> f32[2, 4, 4] {
             return einsum("h i d, h j d -> h i j", q, k) + t5(table)
           }""",
        {"q": k24, "k": normal(2, 4, 3), "table": normal(32, 2)},
        lambda q, k, table: np.einsum("hid,hjd->hij", q, k) + np.moveaxis(
            table[np.where(n4[None, :] > n4[:, None], 16, 0) + distance], -1, 0)),
    "own_function_in_a_text": (
        """scheme min(x, y) = x + y
           kernel f(t : f32[9, 3]) -> f32[3, 3] { return einsum("(min(i, 1)) d -> i d", t, i = 3) + t[min(2, 1), d] }""",
        {"t": normal(9, 3)}, lambda t: t[1:4] + t[3]),
    "names_of_the_compiler": (
        """kernel f(y : f32[2, 4], v : f32[4]) -> f32[4, 4] {
             a = einsum("m x0 -> m x0", y)
             return concat(a, a, dim = 0) + einsum("x0 -> x0", v)
           }""",
        {"y": t24, "v": w4}, lambda y, v: np.concatenate([y, y]) + v),
    "along_an_axis_of_the_name": (
        """kernel f(y : f32[4, 4]) -> f32[4, 4] {
             t = einsum("along before -> along before", y)
             return cumsum(t, -1) + cumsum(t, along)
           }""",
        {"y": x44}, lambda y: y.cumsum(1) + y.cumsum(0)),
    "calls_and_numbers_in_a_text": (
        """scheme half(x) = x // 2
           kernel f(y : f32[4, 6]) -> f32[4, 2] {
             return einsum("_3 (half(_0)) -> _3 _0", y, _0 = 2) + rearrange(y, "_3 (_0 3) -> _3 _0 3")[:, :, 1]
           }""",
        {"y": normal(4, 6)}, lambda y: y[:, [0, 0]] + y.reshape(4, 2, 3)[:, :, 1]),
    "axis_named_as_a_function": (
        """kernel f(x : f32[4, 6]) -> f32[4, 2, 3] { return einsum("len (max b) -> len max b", x, max = 2) }""",
        {"x": normal(4, 6)}, lambda x: x.reshape(4, 2, 3)),
    "conditions_have_names": (
        """scheme band(offset, width) = abs(offset) <= width
           scheme kept(x, condition) = x if condition else 0
           kernel f(y : f32[4, 4]) -> f32[4, 4] {
             s      = einsum("i j -> i j", y)
             causal = j <= i
             near   = band(j - i, 2) and causal
             return softmax(s where causal) + (s if causal else 0) + kept(s, near) + kept(softmax(s where near), not causal)
           }""",
        {"y": x44},
        lambda y: causal(y) + np.tril(y) + np.where((distance <= 2) & (n4[None, :] <= n4[:, None]), y, 0)),
    "taken_apart": (
        """scheme difference(pair = (a, b), factor = 2) = factor * a - b + pair[0][...] * 0
           kernel f(x : f32[2, 4]) -> f32[4] {
             (a, b) = x
             c, d   = [b, a]
             return difference(pair = (a, b)) + difference(pair = x) + difference((c, d), factor = 3)
           }""",
        {"x": t24}, lambda x: 2 * (2 * x[0] - x[1]) + 3 * x[1] - x[0]),
    "part_of_another_axis": (
        """param N = 12, n = 4
           scheme ramp(t : [i]) = t * i
           kernel f(x, y : f32[n]) -> f32[n] {
             part i = n of N from q0
             t = einsum("i -> i", x)
             return einsum("i, c -> i", ramp(t), ramp(einsum("c -> c", y)), sum = c)
           }""",
        {"x": w4, "y": normal(4)}, lambda x, y: x * (n4 + 5) * (y * n4).sum(), "--origin=q0=5"),
}


def judge(skewer, text, operands, meaning, *options):
    """Returns why the text does not give its meaning; nothing if it does."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "spec.attn"), "w", encoding="utf-8") as stream:
            stream.write(text + "\n")
        command = [skewer, "run", "spec.attn", "--output=out.npy", *options]
        for key, value in operands.items():
            np.save(os.path.join(folder, key + ".npy"), value)
            command.append(f"--input={key}={key}.npy")
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if ran.returncode:
            return text + "\n" + ran.stdout + ran.stderr
        got = np.load(os.path.join(folder, "out.npy")).astype(np.float64)
    want = meaning(**{key: value.astype(np.float64) for key, value in operands.items()})
    if got.shape != want.shape:
        return f"{text}\nshape {got.shape}, expected {want.shape}"
    error = np.abs(got - want).max() / np.abs(want).max()
    return "" if error < 2e-6 else f"{text}\nerror {error:.1e} of the largest value"


def main():
    wrong = 0
    for name in sys.argv[2:] or CASES:
        if why := judge(sys.argv[1], *CASES[name]):
            wrong += 1
            print(f"{name}:\n{why}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
