"""numerics.py SKEWER FOLDER TARGET KIND: compares layers with float64 whose text says in which order to compute. The operands
show a wrong order: masks of 0 and 1, times far from 0, gates near 1, numbers near the ends of f32.

The error of a kernel may be twice NumPy's error in f32, operation by operation as the text has them, and some roundings. Prints a
line for each case. Exits with 1 if a case is wrong, or holds something as large as the scores."""
import re
import subprocess
import sys

import numpy as np

B, H, N, D = 2, 3, 37, 8
FLOOR = 6e-7  # share of the largest value: the error of a softmax and a sum of N products without cancellation
INFINITY = np.inf


def softmax(s):
    m = s.max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        e = np.exp(s - np.where(np.isneginf(m), 0, m))
        total = e.sum(-1, keepdims=True)
        return np.where(total == 0, 0, e / np.where(total == 0, 1, total))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rows(x):
    return x[..., :, None]


def columns(x):
    return x[..., None, :]


class Layer:
    """A layer softmax(…) of scores and further operands, times values."""

    def __init__(self, weights, operands, oracle, make, before="", sizes="size batch"):
        shapes = ", ".join(operands)
        self.text = (f"param N = {N}, heads = {H}, dim = {D}\n{sizes}\n"
                     f"kernel layer(q, k, v : f32[batch, heads, N, dim]{', ' if shapes else ''}{shapes})"
                     f" -> f32[batch, heads, N, dim] {{\n"
                     f'  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5\n{before}'
                     f'  return einsum("b h i j, b h j d -> b h i d", {weights}, v)\n}}\n')
        self.oracle, self.make = oracle, make

    def inputs(self, rng):
        given = {name: rng.standard_normal((B, H, N, D)).astype(np.float32) for name in "qkv"}
        given.update({name: np.asarray(value) for name, value in self.make(rng).items()})
        given.update({name: value for name, value in given.items()})
        return given

    def result(self, given):
        own = dict(given)
        q, k, v = (own.pop(name) for name in "qkv")
        s = np.einsum("bhid,bhjd->bhij", q, k) * q.dtype.type(D**-0.5)
        with np.errstate(all="ignore"):
            return np.einsum("bhij,bhjd->bhid", self.oracle(s, **own), v)


def f32(x):
    return np.asarray(x, np.float32)


def ones_and_zeros(*shape):
    return lambda rng: {"m": f32(rng.random(shape) < 0.7)}


def times(rng):
    return {"t": f32(1000 + np.sort(rng.integers(0, 150, (B, N)), -1))}


def far(rng):
    return {"a": f32(10000 + rng.integers(-3, 4, (B, H, N))), "c": f32(10000 + rng.integers(-3, 4, (B, H, N)))}


def pairs(rng):
    return {"a": f32(10000 + rng.integers(-3, 4, (H, N, N))), "c": f32(np.full((H, N, N), 10000))}


def near_one(rng):
    return {"q": f32(1e4 * rng.standard_normal((B, H, N, D))), "g": f32(1 - 1e-4 * rng.random((B, H, N)))}


MASKS = {
    "pairs": ("m : f32[N, N]", "m", (N, N), lambda m: m),
    "keys": ("m : f32[N]", "m", (N,), lambda m: m),
    "batch": ("m : f32[batch, N]", "m[b, j]", (B, N), lambda m: m[:, None, None]),
    "both": ("m : f32[1, 1, N, N]", "m", (1, 1, N, N), lambda m: m),
    "heads": ("m : f32[heads, N, N]", "m", (H, N, N), lambda m: m),
    "given": ("const m : f32[N, N]", "m", (N, N), lambda m: m),
}
# Ways in which published code hides keys by a mask of 0 and 1: the text of the added term, and its value.
HIDDEN = {
    "scaled": ("(1 - {m}) * -1e9", lambda m: (1 - m) * m.dtype.type(-1e9)),
    "divided": ("({m} - 1) / 1e-9", lambda m: (m - 1) / m.dtype.type(1e-9)),
    "negated": ("-((1 - {m}) * 1e9)", lambda m: -((1 - m) * m.dtype.type(1e9))),
}
AROUND = {
    "plain": ("softmax(s + {x})", lambda s, x: softmax(s + x)),
    "halved": ("softmax(0.5 * (s + {x}))", lambda s, x: softmax(s.dtype.type(0.5) * (s + x))),
    "capped": ("softmax(softcap(s + {x}, 30))", lambda s, x: softmax(30 * np.tanh((s + x) / 30))),
    "sigmoid": ("sigmoid(s + {x})", lambda s, x: sigmoid(s + x)),
}


def masks():
    for how, (declared, read, shape, seen) in MASKS.items():
        for spelled, (text, value) in HIDDEN.items():
            for around, (whole, weights) in AROUND.items():
                if (how != "pairs" and spelled != "scaled") or (spelled != "scaled" and around != "plain"):
                    continue
                yield f"mask of {how}, {spelled}, {around}", Layer(
                    whole.format(x=text.format(m=read)), [declared],
                    lambda s, m, w=weights, v=value, e=seen: w(s, v(e(m))), ones_and_zeros(*shape))


def brackets():
    yield from masks()
    t, a, c = "t : f32[batch, N]", "a : f32[batch, heads, N]", "c : f32[batch, heads, N]"
    ac = ["a, c : f32[batch, heads, N]"]
    dense = ["a, c : f32[heads, N, N]"]
    causal = np.tril(np.ones((N, N), bool))
    yield "square of a difference", Layer("softmax(s - (t[b, i] - t[b, j])^2 / 800)", [t], lambda s, t: softmax(
        s - (rows(t) - columns(t))[:, None]**2 / 800), times)
    yield "weights of a distance", Layer("s * exp(-(t[b, i] - t[b, j])^2 / 800)", [t], lambda s, t: s * np.exp(
        -(rows(t) - columns(t))[:, None]**2 / 800), lambda rng: {"t": times(rng)["t"] + f32(1e6)})
    yield "decay", Layer("softmax(s + (a[b, h, i] - a[b, h, j]) where j <= i)", [a], lambda s, a: softmax(
        np.where(causal, s + (rows(a) - columns(a)), -INFINITY)),
        lambda rng: {"a": f32(np.cumsum(np.round(-128 * rng.random((B, H, N))) / 64, -1) - 4000)})
    yield "a slope times a difference", Layer("softmax(s - 0.1 * (t[b, i] - t[b, j]))", [t], lambda s, t: softmax(
        s - s.dtype.type(0.1) * (rows(t) - columns(t))[:, None]), lambda rng: {"t": times(rng)["t"] + f32(1e5)})
    yield "bias without its mean", Layer("softmax(s + (a - mean(a, -1)[..., None])[..., None, :])", [a],
                                         lambda s, a: softmax(s + columns(a - a.mean(-1, keepdims=True))), lambda rng: {"a": far(rng)["a"]})
    yield "two tensors", Layer("softmax(s + (a - c))", dense, lambda s, a, c: softmax(s + (a - c)), pairs)
    yield "two tensors before the scores", Layer("softmax((a - c) + s)", dense, lambda s, a, c: softmax(s + (a - c)), pairs)
    yield "two tensors below a cap", Layer("softmax(softcap(s + (a - c), 30))", dense,
                                           lambda s, a, c: softmax(30 * np.tanh((s + (a - c)) / 30)), pairs)
    yield "two tensors below a sigmoid", Layer("sigmoid(s + (a - c))", dense, lambda s, a, c: sigmoid(s + (a - c)), pairs)
    yield "two tensors below tanh", Layer("tanh(s + (a - c))", dense, lambda s, a, c: np.tanh(s + (a - c)), pairs)
    yield "three in brackets", Layer("softmax(s + (a - c + g))", dense + ["g : f32[heads, N, N]"], lambda s, a, c, g: softmax(s + (a - c + g)),
                                     lambda rng: {**pairs(rng), "g": f32(rng.standard_normal((H, N, N)))})
    yield "without scores", Layer("softmax(0 * s + (a - c) + (a - c)^2)", dense, lambda s, a, c: softmax(0 * s + ((a - c) + (a - c)**2)), pairs)
    yield "gate near one", Layer("softmax(s * (1 - g)[..., None])", ["g : f32[batch, heads, N]"],
                                 lambda s, g: softmax(s * rows(1 - g)), near_one)
    yield "gate of keys near one", Layer("softmax(s * (1 - g)[b, h, j])", ["g : f32[batch, heads, N]"],
                                         lambda s, g: softmax(s * columns(1 - g)), near_one)
    yield "difference of gates", Layer("softmax(s * (a[b, h, i] - c[b, h, j]))", ac, lambda s, a, c: softmax(s * (rows(a) - columns(c))), far)
    yield "linear weights", Layer("s * (a[b, h, i] - c[b, h, j]) * (j <= i)", ac, lambda s, a, c: np.where(
        causal, s * (rows(a) - columns(c)), 0), far)
    yield "difference of heads", Layer("softmax(s * (a - c)[:, None, None])", ["a, c : f32[heads]"],
                                       lambda s, a, c: softmax(s * (a - c)[:, None, None]),
                                       lambda rng: {"a": f32([10000.5, 10001, 9999]), "c": f32([10000] * 3)})
    projected = Layer("softmax(s + (x[b, h, i] - y[b, h, j]))", ["w : f32[dim]"], None, lambda rng: {"w": f32(1000 * rng.random(D)), **{
        name: f32(5 + 0.1 * rng.standard_normal((B, H, N, D))) for name in "qk"}},
                      '  x = einsum("b h i d, d -> b h i", q, w)\n  y = einsum("b h j d, d -> b h j", k, w)\n')

    def of_projections(given):
        q, k, v, w = (given[name] for name in "qkvw")
        s = np.einsum("bhid,bhjd->bhij", q, k) * q.dtype.type(D**-0.5)
        return np.einsum("bhij,bhjd->bhid", softmax(s + (rows(q @ w) - columns(k @ w))), v)
    projected.result = of_projections
    yield "difference of projections", projected


def factors():
    yield "weights over their sum", Layer("w / sum(w, -1)[..., None]", [], lambda s: np.maximum(s, 0) / np.maximum(s, 0).sum(-1, keepdims=True),
                                          lambda rng: {"q": f32(1.2e36 * np.abs(rng.standard_normal((B, H, N, D)))),
                                                       "k": f32(np.abs(rng.standard_normal((B, H, N, D))))}, "  w = max(s, 0)\n")
    a = "a : f32[batch, heads, N]"
    yield "weights over a number", Layer("softmax(s) / a[..., None]", [a], lambda s, a: softmax(s) / rows(a), lambda rng: {
        "a": f32(np.full((B, H, N), 2e38)), "v": f32(2e37 * rng.standard_normal((B, H, N, D)))})
    yield "weights over a number of keys", Layer("softmax(s) / a[b, h, j]", [a], lambda s, a: softmax(s) / columns(a), lambda rng: {
        "a": f32(np.full((B, H, N), 2e38)), "v": f32(2e37 * rng.standard_normal((B, H, N, D)))})
    yield "scores over a number", Layer("softmax(s / a[..., None])", [a], lambda s, a: softmax(s / rows(a)), lambda rng: {
        "a": f32(np.full((B, H, N), 2e38)), "q": f32(1e37 * rng.random((B, H, N, D)))})
    yield "biased scores over a number", Layer("softmax((s + a[b, h, j]) / a[..., None])", [a], lambda s, a: softmax(
        (s + columns(a)) / rows(a)), lambda rng: {"a": f32(1e38 * (1 + rng.random((B, H, N)))), "q": f32(1e37 * rng.random((B, H, N, D)))})
    yield "a factor of keys", Layer("exp(s - 60) * a[b, h, j]", [a], lambda s, a: np.exp(s - 60) * columns(a), lambda rng: {
        "a": f32(1e20 * rng.random((B, H, N))), "v": f32(1e20 * rng.standard_normal((B, H, N, D)))})
    scaled = Layer("softmax(t)", [], None, lambda rng: {"q": f32(1e20 * rng.standard_normal((B, H, N, D))),
                                                        "k": f32(1e20 * rng.standard_normal((B, H, N, D)))},
                   '  t = einsum("b h i d, b h j d -> b h i j", q * 1e-20, k * 1e-20)\n')
    scaled.result = lambda given: np.einsum("bhij,bhjd->bhid", softmax(np.einsum(
        "bhid,bhjd->bhij", given["q"] * given["q"].dtype.type(1e-20), given["k"] * given["q"].dtype.type(1e-20))), given["v"])
    yield "two scales", scaled


def infinities():
    m = "m : f32[batch, N]"

    def hidden(rng):
        return {"m": f32(np.where(rng.random((B, N)) < 0.7, 0, -INFINITY))}
    # A row of -inf has no keys.
    yield "mask of queries", Layer("softmax(s + m[b, i])", [m], lambda s, m: softmax(s + rows(m)[:, None]), hidden)
    yield "infinite queries", Layer("softmax(s + m[b, i])", [m], lambda s, m: softmax(s + rows(m)[:, None]),
                                    lambda rng: {"m": f32([[INFINITY, np.nan, 1] + [0] * (N - 3)] * B)})

    def behind(rng):
        a = rng.standard_normal((B, N))
        v = rng.standard_normal((B, H, N, D))
        v[0, :, np.nonzero(a[0] <= 0)[0][0]] = np.nan
        v[1, :, np.nonzero(a[1] <= 0)[0][1]] = INFINITY
        return {"a": f32(a), "v": f32(v)}
    by = Layer("softmax(s if a[b, j] > 0 else -inf)", ["a : f32[batch, N]"], None, behind)

    def without(given):
        q, k, v, a = (given[name] for name in "qkva")
        s = np.einsum("bhid,bhjd->bhij", q, k) * q.dtype.type(D**-0.5)
        seen = (a > 0)[:, None, None]
        return np.einsum("bhij,bhjd->bhid", softmax(np.where(seen, s, -INFINITY)), np.where((a > 0)[:, None, :, None], v, 0))
    by.result = without
    yield "keys hidden by values", by


class Sums:
    """A layer with logsumexp of rows with infinities, alone and of scores."""
    text = f"param N = {N}\nkernel layer(x : f32[6, N]) -> f32[6] {{ return logsumexp(x) }}\n"

    def inputs(self, rng):
        x = rng.standard_normal((6, N))
        x[1, 3], x[2, 0], x[3], x[4, 5] = INFINITY, -INFINITY, -INFINITY, np.nan
        x[5, 7] = 3e38
        return {"x": f32(x)}

    def result(self, given):
        x = given["x"]
        m = x.max(-1)
        reference = np.where(np.isinf(m), 0, m)
        with np.errstate(all="ignore"):
            total = np.log(np.exp(x - reference[..., None]).sum(-1)) + reference
        return np.where(m == INFINITY, INFINITY, total)


class SumsOfScores(Sums):
    text = (f"param N = {N}\nsize batch\nkernel layer(q, k : f32[batch, N, {D}]) -> f32[batch, N] "
            '{ return logsumexp(einsum("b i d, b j d -> b i j", q, k)) }\n')

    def inputs(self, rng):
        q, k = f32(np.abs(rng.standard_normal((2, B, N, D))))
        q[0, 4, 2] = INFINITY
        return {"q": q, "k": k}

    def result(self, given):
        return Sums.result(self, {"x": np.einsum("bid,bjd->bij", given["q"], given["k"])})


def functions():
    gates = Layer("softmax(s + (c[b, h, i] - c[b, h, j]) where j <= i)", ["f : f32[batch, heads, N]"], None, lambda rng: {
        "f": f32(np.where(rng.random((B, H, N)) < 0.03, -88, rng.standard_normal((B, H, N))))}, "  c = cumsum(log(sigmoid(f)), -1)\n")

    def result(given):
        q, k, v, f = (given[name] for name in "qkvf")
        s = np.einsum("bhid,bhjd->bhij", q, k) * q.dtype.type(D**-0.5)
        c = np.cumsum(-np.logaddexp(0, -f), -1, dtype=f.dtype)
        s = np.where(np.tril(np.ones((N, N), bool)), s + (rows(c) - columns(c)), -INFINITY)
        return np.einsum("bhij,bhjd->bhid", softmax(s), v)
    gates.result = result
    yield "log of a gate", gates


KINDS = {"brackets": brackets, "factors": factors, "infinities": infinities, "functions": functions}


def error(got, want):
    if got.shape != want.shape or (np.isnan(got) != np.isnan(want)).any():
        return INFINITY
    with np.errstate(invalid="ignore"):
        difference = np.where((got == want) | np.isnan(want), 0, np.abs(got - want))
    return difference.max() / np.abs(want[np.isfinite(want)]).max()


def check(skewer, folder, target, name, layer):
    """Returns the error of a case; nothing if it is right."""
    given = layer.inputs(np.random.default_rng(7))
    want = layer.result({key: value.astype(np.float64) for key, value in given.items()})
    eager = error(layer.result(given).astype(np.float64), want)
    path = f"{folder}/layer.attn"
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(layer.text)
    command = [skewer, "run", path, f"--target={target}", "--rows=1", "--tolerance=1e9", "--output", f"{folder}/out.npy"]
    for key, value in given.items():
        np.save(f"{folder}/{key}.npy", value)
        command += ["--input", f"{key}={folder}/{key}.npy"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        return f"{name}: {run.stderr.strip()}"
    own = error(np.load(f"{folder}/out.npy").astype(np.float64), want)
    most = max(2 * eager, FLOOR) if np.isfinite(eager) else FLOOR
    print(f"{name}: {own:.1e} of the largest value, eager {eager:.1e}")
    explained = subprocess.run([skewer, "explain", path, f"--target={target}"], capture_output=True, text=True, check=False).stdout
    if isinstance(layer, Layer) and re.search("as large as the scores, (is|are) held|not fused", explained):
        return f"{name}: something as large as the scores is held"
    return f"{name}: {own:.2e} of the largest value, more than {most:.2e}" if not own <= most else ""


def main():
    skewer, folder, target, kind = sys.argv[1:5]
    cases = list(KINDS[kind]())
    if kind == "infinities":
        cases += [("logsumexp", Sums()), ("logsumexp of scores", SumsOfScores())]
    wrong = [text for name, layer in cases if (text := check(skewer, folder, target, name, layer))]
    for text in wrong:
        print("WRONG", text)
    print(f"{kind}: {len(cases) - len(wrong)} of {len(cases)} right")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
