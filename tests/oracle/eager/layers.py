"""Random layers: a text of the language, operands, and the same computation in eager code.

A layer has parts. Each part adds a statement to the text and a step to the eager computation. A step gets the arithmetic
(arithmetic.py), the operands and positions, and the result of the step before.
"""
import types

import numpy as np

LOWEST = float(np.finfo(np.float32).min)
# Conditions on positions, with the same in NumPy. `x` has i, j, N, M and index operands.
CAUSAL = ("j <= i", lambda x: x.j <= x.i)
WINDOW = ("abs(j - i) <= 6", lambda x: abs(x.j - x.i) <= 6)
AT_THE_END = ("j <= i + M - N", lambda x: x.j <= x.i + x.M - x.N)
LENGTHS = ("j < lengths[b]", lambda x: (x.j < x.lengths[:, None, None])[:, None])
SEGMENTS = ("own[b, i] == other[b, j]", lambda x: (x.own[:, :, None] == x.other[:, None, :])[:, None])


def normal(spread=1.0, mean=0.0):
    return lambda r, shape, _: r.standard_normal(shape) * spread + mean


def spread_of(spread=1.0):
    """Returns a drawing of numbers that grow with the spread of a set of operands."""
    return lambda r, shape, of_set: r.standard_normal(shape) * spread * of_set


def seen(share, hidden, shown=0.0):
    """Returns a drawing of `shown` and `hidden` at random. The first key is always shown, so that each row has one."""
    def draw(r, shape, _):
        numbers = np.where(r.random(shape) < share, shown, hidden)
        numbers[..., 0] = shown
        return numbers
    return draw


def whole(low, high):
    return lambda r, shape, sizes: r.integers(low, high(sizes), shape, endpoint=True)


class Layer:
    """The random layer of a seed. `text` is its specification, `kind` its parts in a few words."""

    def __init__(self, seed):
        r = self.random = np.random.default_rng([seed, 2026])
        self.operands, self.lines, self.steps, self.words = {}, [], [], []
        self._sizes()
        self._scores()
        parts = [self._bias, self._key_bias, self._slopes, self._table, self._values_table, self._times, self._decays, self._gate,
                 self._number_mask, self._operand_mask]
        for part in r.choice(len(parts), size=r.choice([0, 1, 1, 2, 2, 3]), replace=False):
            parts[part]()
        if r.random() < .2:
            self._softcap()
        if r.random() < .55:
            self._condition()
        self._weights()
        self._result()
        self.kind = " ".join(self.words)

    # ---- pieces of a text

    def chance(self, share):
        return self.random.random() < share

    def one_of(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def operand(self, name, dimensions, draw, kind="f32"):
        self.operands[name] = (kind, dimensions, draw)

    def say(self, text, step, word=""):
        """Adds a statement; `{s}` in its text is the result of the last one."""
        self.lines.append("s%d = " % len(self.lines) + text.replace("{s}", "s%d" % (len(self.lines) - 1)))
        self.steps.append(step)
        self.words += [word] if word else []

    def _sizes(self):
        decode = self.chance(.15)
        self.lengths = self.chance(.15)
        N = 1 if decode else self.one_of(5, 16, 33, 64, 100, 257)
        M = self.one_of(128, 300, 1000) if decode else N if self.chance(.6) else self.one_of(7, 40, 128, 300)
        D = self.one_of(4, 16, 32, 64, 80, 128)
        self.groups = self.one_of(1, 1, 1, 2, 4)
        heads = self.one_of(1, 2, 4) * self.groups if self.groups < 4 else 4
        self.sizes = {"N": N, "M": M, "D": D, "E": D if self.chance(.7) else self.one_of(8, 24, 72), "H": heads}
        self.square = N == M
        self.words.append("decode" if decode else "lengths" if self.lengths else "")
        # Enough rows for a meaningful ratio of errors, and no more work than that.
        enough = 4096 // (heads * N * self.sizes["E"]) + 1
        self.batch = int(np.clip(enough, 1, max(1, 1e6 // (heads * N * M))))

    def _scores(self):
        scale, number = self.one_of(("D^-0.5",) * 2, ("D^-0.5",) * 2, ("D^-0.5",) * 2, ("1.0", "1.0"), ("0.05", "0.05"))
        self.operand("q", "B H N D", spread_of())
        stored = self.one_of("f32", "f32", "f32", "f32", "bf16", "f16")
        self.operand("k", "B K M D", normal(), stored)
        values = normal(*self.one_of((1,), (1,), (1,), (30,), (1e4,), (1, 100)))
        self.operand("v", "B K M E", values, stored if stored != "f16" else "f32")
        factor = (lambda x: x.D ** -0.5) if number == "D^-0.5" else lambda x: float(number)
        cosine = self.chance(.08)
        if cosine:
            self.lines.append("qn = q / sqrt(sum(q * q, -1) + 1e-6)[..., None]")
            self.steps.append(None)
        key = "b h j d" if self.groups == 1 else "b (h // %d) j d" % self.groups
        self.lines.append('s%d = einsum("b h i d, %s -> b h i j", %s, k) * %s' %
                          (len(self.lines), key, "qn" if cosine else "q", scale))

        def content(a, x, _):
            q = x.q / a.sqrt(a.total(x.q * x.q) + 1e-6) if cosine else x.q
            return a.matmul(q, a.swapped(a.repeat(x.k, self.groups, 1))) * factor(x)
        self.steps.append(content)
        self.words += [word for word in ("cosine" if cosine else "", "unscaled" if scale == "1.0" else "",
                                         "grouped" if self.groups > 1 else "") if word]

    # ---- terms of the scores

    def _bias(self):
        self.operand("bias", "H N M", normal(self.one_of(1, 10, 100, 1e3)), self.one_of("f32", "f32", "bf16"))
        self.say("{s} + bias[h, i, j]", lambda a, x, s: s + x.bias[None], "bias")

    def _key_bias(self):
        self.operand("kb", "B M", normal(self.one_of(1, 100), self.one_of(0, 0, 1e4)))
        self.say("{s} + kb[b, j]", lambda a, x, s: s + x.kb[:, None, None, :], "key-bias")

    def _slopes(self):
        self.operand("slope", "H", normal(0.3))
        text, numbers = self.one_of(("{s} + slope[h] * abs(i - j)", lambda x: abs(x.i - x.j)),
                                    ("{s} + alibi(slope)", lambda x: -abs(x.i - x.j)),
                                    ("{s} + slope[h] * j", lambda x: x.j + 0 * x.i))
        self.say(text, lambda a, x, s: s + x.slope[:, None, None] * a.array(numbers(x)), "slopes")

    def _table(self):
        kind = self.one_of("rows", "clipped", "numbers")
        if kind == "numbers":
            self.operand("steps", "17 H", normal(self.one_of(1, 30)))
            self.say("{s} + steps[clamp(j - i, -8, 8) + 8, h]",
                     lambda a, x, s: s + a.swapped(x.steps)[:, np.clip(x.j - x.i, -8, 8) + 8][None], "bucket-bias")
            return
        rows, place = ("N+M-1 D", "j - i + N - 1") if kind == "rows" else ("9 D", "clamp(j - i, -4, 4) + 4")
        self.operand("table", rows, normal(0.5))
        self.say('{s} + einsum("b h i d, (%s) d -> b h i j", q, table) * D^-0.5' % place,
                 lambda a, x, s: s + a.take(a.matmul(x.q, a.swapped(x.table)), x.j - x.i + x.N - 1 if kind == "rows" else
                                            np.clip(x.j - x.i, -4, 4) + 4) * x.D ** -0.5, "table-" + kind)

    def _values_table(self):
        if self.sizes["N"] > 1:
            self.operand("vt", "N+M-1 E", normal())
            self.words.append("value-table")

    def _times(self):
        mean = self.one_of(0, 0, 1e3, 1e6)
        self.operand("t", "B M", normal(self.one_of(1, 50), mean))
        self.operand("u", "B N", normal(self.one_of(1, 50), mean))
        text, made = self.one_of(("{s} + (u[b, i] - t[b, j]) * 0.1", lambda a, d: d * 0.1),
                                 ("{s} - (u[b, i] - t[b, j])^2 / 800", lambda a, d: -(d * d / 800)),
                                 ("{s} - abs(u[b, i] - t[b, j]) * 0.05", lambda a, d: -(a.abs(d) * 0.05)))
        self.say(text, lambda a, x, s: s + made(a, x.u[:, :, None] - x.t[:, None, :])[:, None], "times")

    def _decays(self):
        if not self.square:
            return
        self.operand("f", "B H M", normal(2, self.one_of(0, 4)))
        self.lines.append("A%d = cumsum(log(sigmoid(f)), 2)" % len(self.lines))
        name = "A%d" % (len(self.lines) - 1)
        self.steps.append(None)
        self.lines.append("s%d = s%d + (%s[b, h, i] - %s[b, h, j])" % (len(self.lines), len(self.lines) - 2, name, name))

        def step(a, x, s):
            A = a.cumsum(a.log_sigmoid(x.f))
            return s + (A[..., :, None] - A[..., None, :])
        self.steps.append(step)
        self.words.append("forget")

    def _gate(self):
        kind = self.one_of("key", "query", "one-minus")
        nearly_one = lambda r, shape, _: 1 - r.random(shape) * 1e-2
        self.operand("gate", "B H N" if kind != "key" else "B H M", nearly_one if kind == "one-minus" else normal())
        text, made = {"key": ("{s} * sigmoid(gate[b, h, j])", lambda a, x: a.sigmoid(x.gate)[..., None, :]),
                      "query": ("{s} * sigmoid(gate[b, h, i])", lambda a, x: a.sigmoid(x.gate)[..., None]),
                      "one-minus": ("{s} * (1 - gate[b, h, i])", lambda a, x: (1 - x.gate)[..., None])}[kind]
        self.say(text, lambda a, x, s: s * made(a, x), "gate-" + kind)

    def _softcap(self):
        cap = self.one_of(5, 20, 50)
        self.say("softcap({s}, %d)" % cap, lambda a, x, s: cap * a.tanh(s / cap), "softcap")

    # ---- masks

    def _number_mask(self):
        """Adds a number where a condition on positions does not hold: each row keeps a key, or the number is the lowest."""
        if "masked" in self.words:
            return
        big = self.one_of("-3.4e38", repr(LOWEST), "-1e9", "-1e4") if self.square else self.one_of("-3.4e38", repr(LOWEST))
        text, P = self.one_of(CAUSAL, WINDOW)
        if self.lengths:
            text, P = CAUSAL  # a number on both sides of the diagonal is refused with a length
        hidden = float(big)
        spelling = self.one_of("{s} + (0 if %s else %s)" % (text, big), "{s} if %s else %s" % (text, big),
                               "{s} + %s * (not (%s))" % (big, text))
        chosen = " if %s else" % text in spelling and "+" not in spelling
        self.say(spelling, lambda a, x, s: a.where(P(x), s, hidden) if chosen else s + a.array(np.where(P(x), 0.0, hidden)), "masked")

    def _operand_mask(self):
        if "masked" in self.words:
            return
        kind = self.one_of("one-minus", "minus-one", "choice", "dense", "dense", "keys")
        if kind in ("dense", "keys"):
            hidden = self.one_of(-np.inf, LOWEST, -1e9, -1e4)
            self.operand("mask", "B N M" if kind == "dense" else "B M", seen(.7, hidden))
            self.say("{s} + mask[b, i, j]" if kind == "dense" else "{s} + mask[b, j]",
                     lambda a, x, s: s + (x.mask[:, None] if kind == "dense" else x.mask[:, None, None, :]), "masked")
            return
        self.operand("keep", "B M", seen(.7, 0.0, 1.0))
        big = self.one_of(1e9, 1e4, 3.4e38)
        text, made = self.one_of(("{s} + (1 - keep[b, j]) * -%g" % big, lambda a, k: (1 - k) * -big),
                                 ("{s} + (keep[b, j] - 1) * %g" % big, lambda a, k: (k - 1) * big),
                                 ("{s} - (1 - keep[b, j]) * %g" % big, lambda a, k: -((1 - k) * big)))
        if kind == "choice":
            hidden = self.one_of("-inf", "-3.4e38", "-1e9")
            self.say("{s} if keep[b, j] > 0 else " + hidden,
                     lambda a, x, s: a.where(x.keep[:, None, None, :] > 0, s, float(hidden)), "masked")
        else:
            self.say(text, lambda a, x, s: s + made(a, x.keep)[:, None, None, :], "masked")

    def _condition(self):
        self.condition = self.one_of(CAUSAL, CAUSAL, WINDOW, AT_THE_END, LENGTHS, SEGMENTS)
        if self.condition is LENGTHS:
            self.operand("lengths", "B", whole(0, lambda s: s["M"]), "i32")
        elif self.condition is SEGMENTS:
            self.operand("own", "B N", whole(0, lambda s: 2), "i32")
            self.operand("other", "B M", whole(0, lambda s: 2), "i32")

    # ---- weights and results

    def _weights(self):
        kind = self.one_of("softmax", "softmax", "softmax", "softmax", "sink", "sigmoid", "relu", "retention", "differential", "tanh")
        if kind == "retention" and "masked" in self.words:
            kind = "relu"  # retention's weights are the scores themselves, and hide no key
        last = "s%d" % (len(self.lines) - 1)
        text, P = getattr(self, "condition", ("", None))
        hidden = self.one_of(" where " + text, " + (0 if %s else -inf)" % text, " if %s else -inf" % text) if text else ""
        times = " * (%s)" % text if text else ""
        self.words.append(kind + (":" + text.replace(" ", "") if text else ""))
        self.lse = kind == "softmax" and self.chance(.4)
        masked = (lambda a, x, s: a.where(P(x), s, -np.inf)) if P else lambda a, x, s: s
        zeroed = (lambda a, x, w: a.where(P(x), w, 0.0)) if P else lambda a, x, w: w
        if kind == "sink":
            self.operand("sink", "H", normal())
            self.lines += ["z = concat(%s%s, sink[None, :, None, None], dim = 3)" % (last, " where " + text if text else ""),
                           "w = softmax(z)[..., :M]"]
            weigh = lambda a, x, s: a.softmax(a.joined(masked(a, x, s), x.sink[None, :, None, None]))[..., :x.M]
        elif kind == "softmax":
            self.lines += ["z = %s%s" % (last, hidden), "w = softmax(z)"]
            weigh = lambda a, x, s: a.softmax(masked(a, x, s))
        elif kind == "differential":
            self.lines += ["w = softmax(%s%s) - 0.4 * softmax(%s * 0.5%s)" % ((last, " where " + text if text else "") * 2)]
            weigh = lambda a, x, s: a.softmax(masked(a, x, s)) - 0.4 * a.softmax(masked(a, x, s * 0.5))
        elif kind == "sigmoid":
            self.lines += ["w = sigmoid(%s)%s" % (last, times)]
            weigh = lambda a, x, s: zeroed(a, x, a.sigmoid(s))
        elif kind == "tanh":
            self.lines += ["w = tanh(%s)%s" % (last, times)]
            weigh = lambda a, x, s: zeroed(a, x, a.tanh(s))
        elif kind == "relu":
            self.lines += ["w = relu(%s) / M%s" % (last, times)]
            weigh = lambda a, x, s: zeroed(a, x, a.relu(s) / x.M)
        else:
            gamma = self.one_of(0.9, 0.98)
            self.lines += ["w = %s * %g^abs(i - j)%s" % (last, gamma, times)]
            weigh = lambda a, x, s: zeroed(a, x, s * a.power(a.array(gamma), a.array(abs(x.i - x.j))))
        self.weigh, self.masked = weigh, masked

    def _result(self):
        value = "b h j e" if self.groups == 1 else "b (h // %d) j e" % self.groups
        text = 'einsum("b h i j, %s -> b h i e", w, v)' % value
        if "vt" in self.operands:
            text += ' + einsum("b h i j, (j - i + N - 1) e -> b h i e", w, vt)'
        gated = self.one_of("", "", "", "sigmoid", "silu")
        if gated:
            self.operand("g", "B H N E", normal())
            text = "(%s) * %s(g)" % (text, gated)
        self.words += ["gated"] if gated else []
        self.lines.append("return " + text + (", logsumexp(z)" if self.lse else ""))
        self.gated = gated

    # ---- the text, operands and the eager computation

    @property
    def text(self):
        def shape(dimensions):
            return ", ".join(self._name(d) for d in dimensions.split())
        sizes = {"H": self.sizes["H"], "D": self.sizes["D"], "E": self.sizes["E"]}
        run_time = "size B"
        if self.lengths:
            run_time += ", N <= %d" % max(self.sizes["N"], 16) + ("" if self.square else ", M <= %d" % max(self.sizes["M"], 16))
        else:
            sizes.update(N=self.sizes["N"], M=self.sizes["M"])
        operands = ", ".join("%s : %s[%s]" % (name, kind, shape(dimensions))
                             for name, (kind, dimensions, _) in self.operands.items())
        result = "f32[B, H, N, E]"
        result = "(out : %s, lse : f32[B, H, N])" % result if self.lse else result
        lines = [line.replace("M", "N") if self.lengths and self.square else line for line in self.lines]
        return "param %s\n%s\nkernel layer(%s) -> %s {\n  %s\n}\n" % (
            ", ".join("%s = %d" % pair for pair in sizes.items()), run_time, operands, result, "\n  ".join(lines))

    def _name(self, dimension):
        dimension = dimension.replace("K", str(self.sizes["H"] // self.groups))
        return dimension.replace("M", "N") if self.lengths and self.square else dimension

    def drawn(self, spread, seed):
        """Returns a set of operands, as NumPy's arrays by name, and its sizes."""
        r = np.random.default_rng([seed, int(spread * 1000)])
        sizes = dict(self.sizes, B=self.batch, K=self.sizes["H"] // self.groups)
        if self.lengths:
            sizes["N"] = int(r.integers(1, max(sizes["N"], 16), endpoint=True)) if sizes["N"] > 1 else 1
            sizes["M"] = sizes["N"] if self.square else int(r.integers(1, max(sizes["M"], 16), endpoint=True))
        arrays = {}
        for name, (kind, dimensions, draw) in self.operands.items():
            shape = tuple(eval(d, {}, sizes) for d in dimensions.split())
            numbers = draw(r, shape, sizes if kind == "i32" else spread)
            arrays[name] = numbers.astype({"i32": np.int32, "f16": np.float16}.get(kind, np.float32))
            if kind == "bf16":
                arrays[name] = (arrays[name].view(np.uint32) >> 16).astype(np.uint16)
        return arrays, sizes

    def eager(self, a, arrays, sizes):
        """Returns the results by an arithmetic, as NumPy's arrays."""
        i, j = np.indices((sizes["N"], sizes["M"]))
        x = types.SimpleNamespace(i=i, j=j, **sizes)
        for name, numbers in arrays.items():
            kind = self.operands[name][0]
            if kind == "bf16":
                numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
            setattr(x, name, numbers if kind == "i32" else a.array(numbers))
        s = None
        for step in self.steps:
            s = s if step is None else step(a, x, s)
        w = self.weigh(a, x, s)
        out = a.matmul(w, a.repeat(x.v, self.groups, 1))
        if "vt" in arrays:
            # Moves each weight to the place of its offset, and multiplies once, as Shaw et al. do by skewing back.
            rows = a.array(np.zeros(tuple(w.shape[:-1]) + (sizes["N"] + sizes["M"] - 1,)))
            for row in range(sizes["N"]):
                first = sizes["N"] - 1 - row
                rows[..., row, first:first + sizes["M"]] = w[..., row, :]
            out = out + a.matmul(rows, x.vt)
        if self.gated:
            out = out * (a.sigmoid(x.g) if self.gated == "sigmoid" else x.g * a.sigmoid(x.g))
        return [a.numpy(out)] + ([a.numpy(a.logsumexp(self.masked(a, x, s)))] if self.lse else [])
