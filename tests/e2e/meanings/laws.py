"""laws.py SKEWER [NAME …]: tests sums that keep the number of their parts, decisions on lengths, bits, and picked entries that
are missing. Each text has NumPy code for its meaning, or a part of the message that refuses it."""
import os
import subprocess
import sys
import tempfile

import numpy as np

rng = np.random.default_rng(11)


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def softmax(s, mask=True):
    s = np.where(np.broadcast_to(mask, s.shape), s, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


CASES = {}


def case(text, inputs, oracle, options=(), name=None):
    CASES[name or text.split("kernel ")[1].split("(")[0]] = (text, inputs, oracle, options)


def at(text, sizes, inputs, oracle):
    """Returns the cases of one text at several lengths."""
    for n in sizes:
        kernel = text.split("kernel ")[1].split("(")[0]
        given = inputs(n)
        case(text, given, lambda n=n, **arrays: oracle(n, **arrays), name=f"{kernel}-{n}")


# Sums over an axis that no operand has after the rewrites.
v, k3, x23, g = f(4), f(2, 3, 4), f(2, 3), f(4, 3)
case('kernel repeated(v : f32[4]) -> f32[4] {\n  p = einsum("i -> i", v)\n  return sum(broadcast(p, "i -> i j", j = 5), j)\n}',
     {"v": v}, lambda v: 5 * v)
case('kernel heads(k : f32[2, 3, 4]) -> f32[2, 3, 4] {\n  return mean(broadcast(k, "b j d -> b h j d", h = 4), h)\n}',
     {"k": k3}, lambda k: k)
case("kernel doubled(x : f32[2, 3]) -> f32[2, 3] {\n  return sum(concat(x[..., None], x[..., None], dim = 2), 2)\n}",
     {"x": x23}, lambda x: 2 * x)
case('kernel gathered(x : f32[4, 3]) -> f32[3] {\n  return einsum("r d -> d", gather(x, r // 4, r = 12, dim = 0))\n}',
     {"x": g}, lambda x: 4 * x[:3].sum(0))
case('kernel queries(q : f32[3], k : f32[5, 3]) -> f32[5] {\n'
     '  s = einsum("i d, j d -> i j", broadcast(q, "d -> i d", i = 6), k)\n  return einsum("i j -> j", s)\n}',
     {"q": f(3), "k": f(5, 3)}, lambda q, k: 6 * k @ q)
case('kernel always(v : f32[4]) -> f32[4] {\n  p = einsum("i -> i", v)\n  s = einsum("i -> i j", p, j = 3)\n'
     '  return sum(s if j < 7 else 0, j)\n}', {"v": v}, lambda v: 3 * v)
case('kernel product(x : f32[3], y : f32[4]) -> f32[3] {\n  a = broadcast(x, "i -> i c", c = 5)\n  b = broadcast(y, "j -> c j", c = 5)\n'
     '  return einsum("i c, c j -> i", a, b, sum = j)\n}', {"x": f(3), "y": f(4)}, lambda x, y: 5 * x * y.sum())
case('kernel ones(x : f32[1, 3]) -> f32[3] {\n  return sum(broadcast(x, "a d -> a c d", c = 4), (0, 1))\n}',
     {"x": f(1, 3)}, lambda x: 4 * x[0])
case('kernel scores(q, k, v : f32[5, 4]) -> f32[5, 4] {\n  wide = broadcast(q, "i d -> i c d", c = 3)\n'
     '  s = einsum("i c d, j d -> i j", wide, k)\n  return einsum("i j, j d -> i d", softmax(s * 0.2), v)\n}',
     {"q": f(5, 4), "k": f(5, 4), "v": f(5, 4)}, lambda q, k, v: softmax(0.6 * q @ k.T) @ v)
case('kernel clamped(a : f32[2, 2, 2], c : f32[8, 2, 3], t : f32[4]) -> f32[4, 2] {\n'
     '  return einsum("x k k, (n k) x (clamp(k - n, -1, 1) + 1), (clamp(k - n, -1, 1) + 1) -> n x", a, c, t, x = 2, k = 2, n = 4)\n}',
     {"a": f(2, 2, 2), "c": f(8, 2, 3), "t": f(4)},
     lambda a, c, t: np.array([sum(a[:, k, k] * c[2 * n + k, :, np.clip(k - n, -1, 1) + 1] * t[np.clip(k - n, -1, 1) + 1]
                                   for k in range(2)) for n in range(4)]))

# Numbers that depend on lengths, and numbers that the kernel computes.
SIZES = (1, 7, 40, 64)
HEAD = "size N <= 64\n"
ROWS = '(y : f32[N, 4]) -> f32[N, 4] {\n  t = einsum("n c -> n c", y)\n  return '


def rows(name, expression, oracle, sizes=SIZES):
    at(f"{HEAD}kernel {name}{ROWS}{expression}\n}}", sizes, lambda n: {"y": f(n, 4)}, lambda n, y: oracle(n, y))


rows("square", "t * N^2", lambda n, y: y * n**2)
rows("falling", "t * (N*N - N)", lambda n, y: y * (n * n - n))
rows("divisor", "t / (N*N + 1)", lambda n, y: y / (n * n + 1))
rows("cube", "t * (N^3 - 1) + N * N", lambda n, y: y * (n**3 - 1) + n * n)
rows("root", "t * sqrt(N * N + 3)", lambda n, y: y * np.sqrt(n * n + 3))
rows("positive", "t * (1 if N > 0 else 2)", lambda n, y: y)
rows("least", "t * min(N, 64)", lambda n, y: y * n)
rows("decay", "t * exp(-abs(n - 3) / N)", lambda n, y: y * np.exp(-np.abs(np.arange(n) - 3) / n)[:, None])
PAIRS = ('kernel {}(q, k, v : f32[N, 4]) -> f32[N, 4] {{\n  s = einsum("i d, j d -> i j", q, k)\n'
         '  return einsum("i j, j d -> i d", softmax(s + {}), v)\n}}')


def bias(name, expression, oracle, sizes=SIZES):
    at(HEAD + PAIRS.format(name, expression), sizes, lambda n: {"q": f(n, 4), "k": f(n, 4), "v": f(n, 4)},
       lambda n, q, k, v: softmax(q @ k.T + oracle(n, np.arange(n)[:, None], np.arange(n)[None, :])) @ v)


bias("distance", "exp(-abs(j - i) / N)", lambda n, i, j: np.exp(-abs(j - i) / n))
bias("parabola", "-(j - i)^2 / (2*N)", lambda n, i, j: -((j - i) ** 2) / (2 * n))
bias("gauss", "exp(-(j - i)^2 / N^2)", lambda n, i, j: np.exp(-((j - i) ** 2) / n**2))
TWO = ('size N <= 64, M <= 64\nkernel equal(q : f32[M, 3], k, v : f32[N, 3]) -> f32[M, 3] {\n'
       '  s = einsum("i d, j d -> i j", q, k)\n  return einsum("i j, j d -> i d", softmax(s where %s), v)\n}')
for number, (condition, mask) in enumerate({
        "j <= i + N - M": lambda n, m, i, j: j <= i + n - m, "j - i <= N - M": lambda n, m, i, j: j - i <= n - m,
        "j < i + N - M + 1": lambda n, m, i, j: j < i + n - m + 1, "M - i <= N - j": lambda n, m, i, j: m - i <= n - j,
}.items()):
    for n, m in ((6, 4), (64, 64), (64, 1), (9, 9)):
        case(TWO % condition, {"q": f(m, 3), "k": f(n, 3), "v": f(n, 3)},
             lambda q, k, v, n=n, m=m, mask=mask: softmax(q @ k.T, mask(n, m, np.arange(m)[:, None], np.arange(n)[None, :])) @ v,
             name=f"equal-{number}-{n}-{m}")
case("param N = 1, scale = 1 if N < 2 else 1 / (N - 1), other = 1 / (N - 1) if N > 1 else 3\n"
     "kernel taken(x : f32[2, 3]) -> f32[2, 3] {\n  return x * scale * other\n}", {"x": x23}, lambda x: 3 * x)
# Whole numbers as words of bits.
words = rng.integers(-2**31, 2**31, (3, 5)).astype(np.int32)
table = f(16, 4)
case('kernel fields(w : i32[3, 5], t : f32[16], x : f32[3, 5]) -> f32[3, 5] {\n'
     '  return einsum("a b -> a b", x) + t[w[a, b] >> 7 & 15]\n}',
     {"w": words, "t": f(16), "x": f(3, 5)}, lambda w, t, x: x + t[(w >> 7) & 15])
case('kernel unpacked(w : i32[3, 5], scale : f32[3], x : f32[3, 40]) -> f32[3, 40] {\n'
     '  return einsum("n c -> n c", x) + scale[n] * ((w[n, c >> 3] >> (4 * (c & 7)) & 15) - 8)\n}',
     {"w": words, "scale": f(3), "x": f(3, 40)},
     lambda w, scale, x: x + scale[:, None] * ((w[:, np.arange(40) // 8] >> (4 * (np.arange(40) % 8)) & 15) - 8.0))
case("kernel texts(w : i32[3, 5], t : f32[16, 4]) -> f32[3, 5, 4] {\n"
     '  return einsum("((w[a, b] >> 3) & 15) d -> a b d", t)\n}', {"w": words, "t": table}, lambda w, t: t[(w >> 3) & 15])
case('kernel masks(w : i32[5] in 0..1000, t : f32[1024], x : f32[5]) -> f32[5] {\n'
     '  return einsum("a -> a", x) + t[w[a] & 819]\n}',
     {"w": np.array([0, 5, 819, 1000, 333], np.int32), "t": f(1024), "x": f(5)}, lambda w, t, x: x + t[w & 819])
case("kernel numbers(x : f32[2, 3]) -> f32[2, 3] {\n  return x * (1 << 4) * (100 >> 3) * (-5 >> 1) * (27 & 6)\n}",
     {"x": x23}, lambda x: x * 16 * 12 * -3 * 2)

# Picked entries, with -1 for a missing one, next to others before one softmax.
B, Q, E, D = 2, 6, 4, 8
top = rng.integers(-1, 6, (B, Q, E)).astype(np.int32)
top[0, 2] = -1
S = {"q": f(B, 2, Q, D), "kv": f(B, 6, D), "top": top, "sink": f(2)}
PICK = ('size b\nkernel {}(q : f32[b, 2, 6, 8], kv : f32[b, 6, 8], top : i32[b, 6, 4] in -1..5, sink : f32[2]) -> f32[b, 2, 6, 8] {{\n'
        '  picked = einsum("b h i d, b (top[b, i, e]) d -> b h i e", q, kv) where top[b, i, e] >= 0\n')
VALUES = 'einsum("b h i e, b (top[b, i, e]) d -> b h i d", {}, kv)'


def picked(q, kv, top):
    rows = kv[np.arange(B)[:, None, None], np.maximum(top, 0)]
    return np.einsum("bhid,bied->bhie", q, rows), rows, (top >= 0)[:, None]


def alone(q, kv, top, sink):
    s, rows, there = picked(q, kv, top)
    return np.einsum("bhie,bied->bhid", softmax(s, there), rows)


def with_sink(q, kv, top, sink):
    s, rows, there = picked(q, kv, top)
    column = np.broadcast_to(sink[None, :, None, None], s.shape[:3] + (1,))
    w = softmax(np.concatenate([s, column], 3), np.concatenate([np.broadcast_to(there, s.shape), np.ones(column.shape, bool)], 3))
    return np.einsum("bhie,bied->bhid", w[..., :E], rows)


def with_near(q, kv, top, sink):
    s, rows, there = picked(q, kv, top)
    near = np.einsum("bhid,bjd->bhij", q, kv)
    i, j = np.arange(Q)[:, None], np.arange(6)[None, :]
    w = softmax(np.concatenate([near, s], 3), np.concatenate([np.broadcast_to((j <= i) & (i - j < 3), near.shape),
                                                             np.broadcast_to(there, s.shape)], 3))
    return np.einsum("bhij,bjd->bhid", w[..., :6], kv) + np.einsum("bhie,bied->bhid", w[..., 6:], rows)


case(PICK.format("alone") + "  return " + VALUES.format("softmax(picked)") + "\n}", S, alone)
case(PICK.format("beside_sink") + "  w = softmax(concat(picked, sink[None, :, None, None], dim = 3))\n  return "
     + VALUES.format("w[..., :4]") + "\n}", S, with_sink)
case(PICK.format("beside_near") + '  near = einsum("b h i d, b j d -> b h i j", q, kv) where j <= i and i - j < 3\n'
     "  w = softmax(concat(near, picked, dim = 3))\n"
     '  return einsum("b h i j, b j d -> b h i d", w[..., :6], kv) + ' + VALUES.format("w[..., 6:]") + "\n}", S, with_near)

# A text whose meaning differs between lengths is refused, and the message says what to write.
REFUSED = {
    "equality": (HEAD + "kernel r" + ROWS + "t * (1 if N == 7 else 2)\n}", "this holds at N = 7, but not at N = 64"),
    "truth": (HEAD + "kernel r" + ROWS + "t * (N == 7)\n}", "this holds at N = 7, but not at N = 64"),
    "select": (HEAD + "kernel r" + ROWS + "t * select(N != 9, 1, 2)\n}", "this holds at N = 64, but not at N = 9"),
    "rest": (HEAD + "kernel r" + ROWS + "t * (1 if N % 3 == 1 else 2)\n}", "the decision at other lengths is not the one at N = 64"),
    "product": (HEAD + "kernel r" + ROWS + "t * (1 if (N - 5) * (N - 9) == 0 else 2)\n}", "this holds at N = 9, but not at N = 64"),
    "least": (HEAD + "kernel r" + ROWS + "t * min(N, 50)\n}", "which does not follow from its value at N = 64"),
    "two": ("size N <= 64, M <= 64\nkernel r(y : f32[N, 4], z : f32[M, 4]) -> f32[N, 4] {\n"
            '  return einsum("n c, m c -> n c", y, z) * (1 if N - M == 9 else 2)\n}', ", but not at M = 64, N = 64"),
    "logarithm": (HEAD + "kernel r" + ROWS + "t * (1 if log(N) > 1.6 else 2)\n}", "this holds at N = 64, but not at N = 4"),
    "mask": (HEAD + "kernel r" + ROWS + "t & 3\n}", "'&' takes whole numbers and positions, found a tensor"),
    "places": ('kernel r(w : i32[3], x : f32[3]) -> f32[3] {\n  return einsum("a -> a", x) * (1 >> w[a])\n}',
               "bits are shifted by 0 to 62 places"),
}
FAILING = {
    "long": (HEAD + "kernel r" + ROWS + "t\n}", {"y": f(65, 4)}, "expected N = 1 to 64, found 65"),
    "none": (HEAD + "kernel r" + ROWS + "t\n}", {"y": f(0, 4)}, "expected N = 1 to 64, found 0"),
    "missing": ("size N <= 64\nkernel r(x : f32[2*N, 3]) -> f32[2*N, 3] {\n  return x * 2\n}", {"x": f(6, 3)}, "--size N=…"),
}


def run(skewer, text, inputs, folder, *options):
    spec = os.path.join(folder, "text.attn")
    with open(spec, "w") as out:
        out.write(text + "\n")
    command = [skewer, "run", spec, *options]
    for name, array in inputs.items():
        np.save(os.path.join(folder, name + ".npy"), array)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    return subprocess.run(command, capture_output=True, text=True)


def main():
    skewer, names = sys.argv[1], sys.argv[2:]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, inputs, oracle, options) in CASES.items():
            if names and name not in names:
                continue
            out = os.path.join(folder, "out.npy")
            done = run(skewer, text, inputs, folder, "--output", out, *options)
            expected = np.asarray(oracle(**{n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}))
            if done.returncode:
                print(f"{name}: {text}\n{done.stderr}")
            else:
                found = np.load(out).astype(np.float64)
                error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30) if found.shape == expected.shape else np.inf
                if not error < 4e-6:
                    print(f"{name}: off by {error:.2g} of the largest value\n{text}")
                else:
                    continue
            wrong += 1
        for name, (text, said) in REFUSED.items():
            spec = os.path.join(folder, "text.attn")
            with open(spec, "w") as file:
                file.write(text + "\n")
            done = subprocess.run([skewer, "compile", spec, "-o", os.path.join(folder, "c")], capture_output=True, text=True)
            if (names and name not in names) or (done.returncode == 1 and said in done.stderr):
                continue
            print(f"{name}: expected to hear '{said}':\n{text}\n{done.stderr}")
            wrong += 1
        for name, (text, inputs, said) in FAILING.items():
            done = run(skewer, text, inputs, folder) if not names or name in names else None
            if done is None or (done.returncode and said in done.stderr):
                continue
            print(f"{name}: expected to hear '{said}':\n{text}\n{done.stderr}")
            wrong += 1
    print(f"{len(CASES) + len(REFUSED) + len(FAILING)} texts, {wrong} wrong")
    return wrong != 0


sys.exit(main())
