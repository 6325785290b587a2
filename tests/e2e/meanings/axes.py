"""axes.py SKEWER [NAME …]: tests the axes of an expression, their order and sizes, and how two operands are joined. Each text has
NumPy code for its meaning, or a part of the message that refuses it. The values are those that `run` writes: the reference does
not count here, since it shares the front end."""
import os
import subprocess
import sys
import tempfile

import numpy as np

inf = np.inf


def softmax(x, axis=-1):
    top = x.max(axis, keepdims=True)
    e = np.exp(x - np.where(np.isinf(top), 0, top))
    return e / e.sum(axis, keepdims=True)


def at(*shape):
    return np.indices(shape)


# name: (declarations before the kernel, operands with their shapes, shape of the result, body, value | part of an error)
CASES = {
    # 1 and () are sizes like others.
    "one_of_two": ("", {"q": (4, 3, 2), "k": (2, 5, 2)}, (4, 3, 5),
                   'einsum("h i d, 1 j d -> h i j", q, k)', "'1' is a dimension of size 1"),
    "one_of_one": ("", {"q": (4, 3, 2), "k": (1, 5, 2)}, (4, 3, 5),
                   'einsum("h i d, 1 j d -> h i j", q, k)', lambda q, k: np.einsum("hid,jd->hij", q, k[0])),
    "empty_of_six": ("", {"x": (4, 6)}, (4,), 'einsum("a () -> a", x)', "'()' is a dimension of size 1"),
    "rearranged_one": ("", {"x": (4, 6)}, (4,), 'rearrange(x, "a 1 -> a")', "'1' is a dimension of size 1"),
    "rearranged_empty": ("", {"x": (4, 6)}, (4,), 'rearrange(x, "a () -> a")', "'()' is a dimension of size 1"),
    "broadcast_one": ("", {"x": (4, 6)}, (4, 3), 'broadcast(x, "a 1 -> a c", c = 3)', "'1' is a dimension of size 1"),
    "first_place": ("", {"x": (4, 6)}, (4,), 'einsum("a (0) -> a", x)', lambda x: x[:, 0]),
    "one_of_result": ("", {"x": (4, 6)}, (4, 1, 6), 'rearrange(x, "a b -> a 1 b")', lambda x: x[:, None]),

    # A tensor has the axes that were written.
    "one_group": ("param groups = 1\n", {"k": (1, 5, 3)}, (5, 3), 'einsum("(h // 4) j d -> j d", k, h = 4)',
                  lambda k: 4 * k[0]),
    "clip_0": ("param W = 0\n", {"t": (1, 3)}, (5, 3),
               'einsum("(clamp(j - i, -W, W) + W) d -> i d", t, i = 5, j = 7)', lambda t: 7 * np.repeat(t, 5, 0)),
    "modulo_1": ("param P = 1\n", {"x": (4, 3)}, (3,), 'einsum("(t % P) d -> d", x, t = 4, where = t < 2)',
                 lambda x: 2 * x[0]),
    "modulo_2": ("param P = 2\n", {"x": (4, 3)}, (3,), 'einsum("(t % P) d -> d", x, t = 4, where = t < 3)',
                 lambda x: x[0] + x[1] + x[0]),
    "size_1_where": ("", {"x": (4, 3)}, (3,), 'einsum("(t + 1) d -> d", x, t = 1, where = t < 2)', lambda x: x[1]),
    "division": ("param heads = 4, groups = 2\n", {"k": (2, 5, 3)}, (5, 3),
                 'einsum("(h // (heads / groups)) j d -> j d", k, h = heads)', lambda k: 2 * k.sum(0)),
    "times_0": ("", {"x": (4, 3)}, (3,), 'einsum("(0 * t + 1) d -> d", x, t = 5)', lambda x: 5 * x[1]),
    "rate_0": ("param rate = 0\n", {"y": (4, 3)}, (4, 3),
               't = einsum("n d -> n d", y)\n  return t * softmax(-abs(n - 1) - rate * d, axis = d)',
               lambda y: y / 3),
    "rate_0_lse": ("param rate = 0\n", {"y": (4, 3)}, (4,),
                   't = einsum("n d -> n d", y)\n  return sum(t, d) + logsumexp(rate * d + n, axis = d)',
                   lambda y: y.sum(1) + np.arange(4) + np.log(3)),
    "chosen": ("param flag = 1\n", {"y": (4, 3)}, (4,),
               't = einsum("n d -> n d", y)\n  return sum(t, d) + logsumexp(n if flag else d, axis = d)',
               lambda y: y.sum(1) + np.arange(4) + np.log(3)),
    "constant_tensor": ("", {"y": (4, 3)}, (4,), 't = einsum("n d -> n d", y)\n  return sum(t, d) + sum(exp(0 * d), d)',
                        lambda y: y.sum(1) + 3),
    "read_at_0": ("", {"x": (1, 3), "y": (4, 3)}, (4, 3),
                  't = einsum("n d -> n d", y)\n  return t + x[n // 4, d]', lambda x, y: y + x),

    # Operands are joined by names.
    "row_and_column": ("", {"y": (4, 5), "v": (4,), "w": (5,)}, (4, 5),
                       'c = einsum("i j -> i j", y)\n  p = einsum("i -> i", v)\n  r = einsum("j -> j", w)\n'
                       "  return (c + (p + r)) + (c + (r + p)) * 2", lambda y, v, w: 3 * (y + v[:, None] + w)),
    "square_row_and_column": ("", {"y": (4, 4), "v": (4,), "w": (4,)}, (4, 4),
                              'c = einsum("i j -> i j", y)\n  p = einsum("i -> i", v)\n  r = einsum("j -> j", w)\n'
                              "  return (p + r) * c + 0.5 * (c * (r + p))",
                              lambda y, v, w: 1.5 * y * (v[:, None] + w)),
    "lower_rank": ("", {"a": (2, 3, 4), "c": (4, 3)}, (2, 3, 4),
                   'x = einsum("b i j -> b i j", a)\n  return x + einsum("j i -> j i", c)', lambda a, c: a + c.T),
    "union_in_order": ("", {"a": (2, 3), "c": (3, 4)}, (2, 3, 4),
                       'x = einsum("b i -> b i", a)\n  return einsum("i j -> i j", c) * x',
                       lambda a, c: a[:, :, None] * c),
    "contradiction": ("", {"y": (4, 4), "z": (4, 4)}, (4, 4),
                      'einsum("i j -> i j", y) + einsum("j i -> j i", z)', "their axes in two orders"),
    "contradiction_summed": ("", {"y": (4, 4), "z": (4, 4)}, (4,),
                             'a = einsum("i j -> i j", y)\n  c = einsum("j i -> j i", z)\n  return sum(a + c, i)',
                             "their axes in two orders"),
    "open_softmax": ("", {"v": (4,), "w": (4,)}, (4, 4),
                     'p = einsum("i -> i", v)\n  return softmax(p + einsum("j -> j", w))', "nothing says whether"),
    "open_masked": ("", {"v": (4,), "w": (4,)}, (4, 4),
                    'p = einsum("i -> i", v)\n  r = einsum("j -> j", w)\n  return softmax(p + r where i < j + 1)',
                    "nothing says whether"),
    "open_result": ("", {"v": (4,), "w": (4,)}, (4, 4), 'einsum("i -> i", v) * einsum("j -> j", w)',
                    "nothing says whether"),
    "open_place": ("", {"v": (4,), "w": (4,)}, (4,), 'sum(einsum("i -> i", v) * einsum("j -> j", w), 0)',
                   "nothing says whether"),
    "open_by_axis": ("", {"v": (4,), "w": (5,)}, (4,),
                     'p = einsum("i -> i", v)\n  r = einsum("j -> j", w)\n'
                     "  return sum(softmax(r * p where j > 0, axis = j) * r, j)",
                     lambda v, w: (softmax(np.where(np.arange(5) > 0, v[:, None] * w, -inf)) * w).sum(1)),
    "open_arranged": ("", {"v": (4,), "w": (5,)}, (5, 4),
                      'rearrange(einsum("i -> i", v) * einsum("j -> j", w), "j i -> j i")',
                      lambda v, w: w[:, None] * v),
    "open_in_an_einsum": ("", {"v": (4,), "w": (5,), "x": (4, 2)}, (5, 2),
                          'einsum("j i, i d -> j d", einsum("i -> i", v) * einsum("j -> j", w), x)',
                          lambda v, w, x: np.einsum("i,j,id->jd", v, w, x)),
    "sizes_differ": ("", {"v": (1,), "w": (5,)}, (5,), 'einsum("i -> i", v) + einsum("i -> i", w)',
                     "axis 'i' has size 1 in one operand and 5 in the other"),
    "by_place": ("", {"x": (2, 3), "w": (2, 1)}, (2, 3), 'einsum("a b -> a b", x) + w', lambda x, w: x + w),
    "other_names_by_place": ("", {"x": (4, 4), "w": (4,)}, (4, 4), 'einsum("a b -> a b", x)[:, None, :] * '
                             'einsum("c -> c", w)', "joined by place"),
    "product_and_axis": ("", {"x": (3, 6), "y": (3, 6)}, (3, 6),
                         's = einsum("b i -> b i", x)\n  m = einsum("b (u v) -> b (u v)", y, u = 2)\n'
                         "  return (s + m) * (m + s)", lambda x, y: (x + y) ** 2),
    "choice_of_sums": ("", {"x": (2, 3, 4)}, (2, 3, 4),
                       'big = einsum("b i j -> b i j", x)\n  return big if sum(big, b) > sum(big, j) else 0',
                       lambda x: np.where(x.sum(0)[None] > x.sum(2)[:, :, None], x, 0)),
    "slopes": ("", {"q": (3, 2), "slope": (4,)}, (4, 3, 3),
               's = einsum("i d, j d -> i j", q, q)\n  c = broadcast(s, "i j -> h i j", h = 4)\n'
               "  return c + slope[h] * abs(j - i) + (abs(i - j) * slope[h])",
               lambda q, slope: q @ q.T + 2 * slope[:, None, None] * abs(at(3, 3)[0] - at(3, 3)[1])),

    # The order of axes is the written one.
    "read_whole": ("", {"y": (4, 4), "z": (4, 4)}, (4, 4), 'a = einsum("j i -> j i", z)\n  return y[i, j] + 0 * a',
                   lambda y, z: y.T),
    "read_returned": ("", {"y": (4, 4), "z": (4, 4)}, (4, 4), 'a = einsum("j i -> j i", z)\n  return y[i, j]',
                      lambda y, z: y),
    "read_summed": ("", {"q": (3, 2), "t": (3, 3, 3)}, (3, 3),
                    's = einsum("i d, j d -> i j", q, q)\n  u = einsum("h d -> h d", q)\n'
                    "  return sum(t[h, i, j], -1) * sum(u[h, d], d)[:, None]",
                    lambda q, t: t.sum(-1) * q.sum(-1)[:, None]),
    "read_by_a_scheme": ("", {"x": (1, 3, 3, 4), "y": (1, 3, 3, 4)}, (1, 3, 3, 4),
                         't = einsum("b n h d -> b n h d", y)\n  return rope(x[b, h, n, d]) - rope(x)',
                         lambda x, y: 0 * x),
    "read_rearranged": ("", {"t": (3, 3, 3), "q": (3, 3)}, (9, 3),
                        's = einsum("i d, j d -> j i", q, q)\n  return rearrange(t[d, i, j], "a b c -> (b a) c") + sum(s, i)[0]',
                        lambda t, q: t.transpose(1, 0, 2).reshape(9, 3) + (q @ q.T).sum(1)[0]),
    "read_taken_apart": ("", {"t": (2, 4), "q": (4, 2)}, (4,),
                         's = einsum("i d -> i d", q)\n  (a, b) = t[d, i]\n  return a - 2 * b',
                         lambda t, q: t[0] - 2 * t[1]),
    "read_at_offsets": ("", {"t": (7,), "q": (4, 2)}, (4, 4),
                        's = einsum("i d, j d -> i j", q, q)\n  return 0 * s + t[j - i + 3]',
                        lambda t, q: t[at(4, 4)[1] - at(4, 4)[0] + 3]),
    "offsets_alone": ("", {"t": (7,), "q": (4, 2)}, (4, 4),
                      's = einsum("i d, j d -> i j", q, q)\n  return t[j - i + 3]', "nothing says whether"),
    "offsets_softmax": ("", {"t": (7,), "q": (4, 2)}, (4, 4),
                        's = einsum("i d, j d -> i j", q, q)\n  return s * softmax(t[j - i + 3], axis = i)',
                        lambda t, q: q @ q.T * softmax(t[at(4, 4)[1] - at(4, 4)[0] + 3], 0)),
    "index_of_one_axis": ("", {"x": (2, 3)}, (4, 3), 't = einsum("n d -> n d", broadcast(x[0], "d -> n d", n = 4))\n'
                          "  return x[n // 2, d]", lambda x: x[np.arange(4) // 2]),

    # Sizes are solved for, and not guessed.
    "decode": ("", {"q": (2, 1, 4), "k": (2, 6, 4), "table": (11, 4)}, (2, 1, 6),
               'position = einsum("h i d, (j - i + 5) d -> h i j", q, table)\n'
               '  content = einsum("h i d, h j d -> h i j", q, k)\n  return softmax(content + position)',
               lambda q, k, table: softmax(np.einsum("hid,hjd->hij", q, k) + np.einsum("hid,jd->hij", q, table[5:]))),
    "decode_by_a_scheme": ("", {"q": (1, 2, 1, 4), "k": (1, 2, 6, 4), "table": (11, 4)}, (1, 2, 1, 6),
                           'softmax(shifted(q, table) + einsum("b h i d, b h j d -> b h i j", q, k))',
                           lambda q, k, table: softmax(np.einsum("bhid,bhjd->bhij", q, k) +
                                                       np.einsum("bhid,jd->bhij", q, table[5:])),
                           'scheme shifted(q : [b, h, i, d], table : [r, d]) =\n'
                           '  einsum("b h i d, (j - i + 5) d -> b h i j", q, table)\n'),
    "mask_before": ("", {"q": (4, 2)}, (4, 4),
                    'causal = 0 if j <= i else -inf\n  return softmax(einsum("i d, j d -> i j", q, q) + causal)',
                    lambda q: softmax(np.where(np.tri(4) > 0, q @ q.T, -inf))),
    "unknown_size": ("", {"q": (4, 2), "t": (7, 2)}, (4,), 'sum(einsum("i d, (j - i + 3) d -> i j", q, t), j)',
                     "axis 'j' has no size"),
    "unknown_size_beside_queries": ("", {"q": (4, 2), "t": (7, 2)}, (4,),
                                    's = einsum("i d -> i d", q)\n  return sum(einsum("i d, (j - i + 3) d -> i j", s, t), j)',
                                    "axis 'j' has no size"),
    "size_of_the_result": ("", {"q": (1, 2), "t": (7, 2)}, (1, 7),
                           's = einsum("i d, (j - i) d -> i j", q, t) * 2\n  return softmax(s)',
                           lambda q, t: softmax(2 * q @ t.T)),
    "size_of_the_result_by_a_scheme": ("", {"q": (1, 1, 4, 2), "t": (7, 2)}, (1, 1, 4, 4), "exp(rel1d(q, t))",
                                       lambda q, t: np.exp(np.einsum("bhid,ijd->bhij", q,
                                                                     t[at(4, 4)[1] - at(4, 4)[0] + 3]))),
    "two_sizes": ("", {"q": (3, 2), "k": (5, 2)}, (2,),
                  't = einsum("n d -> n d", q)\n  return einsum("n d -> d", k) / len(n) + 0 * sum(t, n)',
                  "axis 'n' has the sizes 3 and 5"),
    "two_sizes_behind": ("", {"q": (3, 2), "k": (5, 2)}, (2,),
                         't = einsum("n d -> n d", q)\n  m = sum(t, n) / len(n)\n  return m + sum(einsum("n d -> n d", k), n)',
                         "axis 'n' has the sizes 3 and 5"),
    "two_sizes_of_keys": ("", {"q": (4, 2), "g": (1, 2), "t": (7, 2)}, (4, 4),
                          'one = einsum("i d, j d -> i j", q, g)\n  s = einsum("i d, j d -> i j", q, q)\n'
                          '  return s + einsum("i d, (j - i + 3) d -> i j", q, t) + sum(one, j)[:, None]',
                          "axis 'j' has the sizes 1 and 4"),
    "read_of_another_size": ("", {"q": (3, 2), "k": (5, 2)}, (2,),
                             't = einsum("n d -> n d", q)\n  return sum(k[n, d], n) + 0 * sum(t, n)',
                             "axis 'n' has size 3, but this dimension of 'k' has 5"),
    "function_of_two_sizes": ("", {"x": (4, 3), "T": (9, 3)}, (9, 3),
                              't = einsum("n d -> n d", x)\n  keep = exp(-n / 3) > 0.2\n'
                              '  u = einsum("n d -> n d", T)\n  return u if keep else 0',
                              lambda x, T: np.where((np.exp(-np.arange(9) / 3) > 0.2)[:, None], T, 0)),
    "factor_of_two_sizes": ("", {"x": (4, 3), "T": (9, 3)}, (9, 3),
                            't = einsum("n d -> n d", x)\n  half = floor(n / 2)\n  u = einsum("n d -> n d", T)\n'
                            "  return u * half", lambda x, T: T * (np.arange(9) // 2)[:, None]),
    "function_alone_of_two_sizes": ("", {"x": (4, 3), "T": (9, 3)}, (3,),
                                    't = einsum("n d -> n d", x)\n  u = einsum("n d -> n d", T)\n'
                                    "  return sum(u, n) * sum(exp(-n / 3), n)", "axis 'n' has the sizes 4 and 9"),
    "axis_len": ("", {"x": (4, 6)}, (4, 2, 3), 'einsum("len (a b) -> len a b", x, a = 2)', lambda x: x.reshape(4, 2, 3)),
    "axis_along": ("", {"x": (4, 3)}, (4, 3), 'y = einsum("along d -> along d", x)\n  return cumsum(y, 1)',
                   lambda x: np.cumsum(x, 1)),
}


def judge(skewer, before, operands, shape, body, expected, behind=""):
    """Returns why the text does not give its meaning; nothing if it does."""
    rng = np.random.default_rng(11)
    arrays = {name: rng.standard_normal(own).astype(np.float32) for name, own in operands.items()}
    types = ", ".join(f"{name} : f32[{', '.join(map(str, own))}]" for name, own in operands.items())
    lines = body if "return" in body else "return " + body
    text = f"{before}{behind}kernel f({types}) -> f32[{', '.join(map(str, shape))}] {{\n  {lines}\n}}\n"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "spec.attn"), "w", encoding="utf-8") as stream:
            stream.write(text)
        command = [skewer, "run", "spec.attn", "--output=out.npy", "--rows=1", "--tolerance=1e30"]
        for name, array in arrays.items():
            np.save(os.path.join(folder, name + ".npy"), array)
            command.append(f"--input={name}={name}.npy")
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if isinstance(expected, str):
            refused = ran.returncode == 1 and any("error: " in line and expected in line for line in ran.stderr.splitlines())
            return "" if refused else f"{text}expected the error '{expected}', found {ran.returncode}\n{ran.stderr}"
        if ran.returncode:
            return text + ran.stdout + ran.stderr
        got = np.load(os.path.join(folder, "out.npy")).astype(np.float64)
    want = expected(**{name: array.astype(np.float64) for name, array in arrays.items()})
    if got.shape != want.shape:
        return f"{text}shape {got.shape}, expected {want.shape}"
    error = np.abs(got - want).max() / max(np.abs(want).max(), 1e-3)
    return "" if error < 3e-6 else f"{text}error {error:.1e} of the largest value"


def main(cases):
    """Judges the cases that the command line names, or all; prints the wrong ones. Returns the exit code."""
    wrong = 0
    for name in sys.argv[2:] or cases:
        if why := judge(os.path.abspath(sys.argv[1]), *cases[name]):
            wrong += 1
            print(f"{name}:\n{why}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(CASES))
