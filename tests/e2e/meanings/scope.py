"""scope.py SKEWER [NAME …]: tests that an axis, and its size, is in scope in the whole body that names it: before that place,
after it, and inside the operands of the einsum that names it. Each text has NumPy code for its meaning, or a part of the message
that refuses it."""
import sys

import numpy as np

from axes import at, main, softmax

inf = np.inf
GATED = 'einsum("h j, h j e -> h e", w, {})'
W = {"w": (2, 5), "v": (2, 5, 3)}


def gated(factor):
    return lambda w, v: np.einsum("hj,hje->he", w, v * factor(*at(2, 5, 3)))


# name: (declarations before the kernel, operands with their shapes, shape of the result, body, value | part of an error)
CASES = {
    # Axes in an operand of the einsum that names them.
    "read": ("", {"q": (2, 3), "u": (3, 2)}, (2, 3), 'einsum("h d -> h d", q[h, d] + u[d, h])', lambda q, u: q + u.T),
    "read_alone": ("", {"u": (2, 3)}, (2, 3), 'einsum("h d -> h d", 2 * u[h, d])', lambda u: 2 * u),
    "read_beside_no_names": ("", {"q": (2, 3), "u": (2, 3)}, (2, 3), 'einsum("h d -> h d", q + u[h, d])',
                             "the axis 'h' of one operand is missing in the other"),
    "factor": ("", W, (2, 3), GATED.format("v[h, j, e] * (5 if j >= 2 else 1)"), gated(lambda h, j, e: np.where(j >= 2, 5, 1))),
    "factor_first": ("", W, (2, 3), GATED.format("(5 if j >= 2 else 1) * v[h, j, e]"),
                     gated(lambda h, j, e: np.where(j >= 2, 5, 1))),
    "condition": ("", W, (2, 3), GATED.format("(v[h, j, e] if j > 0 and e < 2 else 0)"), gated(lambda h, j, e: (j > 0) & (e < 2))),
    "position": ("", W, (2, 3), GATED.format("v[h, j, e] * (1 + position(j)) / len(j)"), gated(lambda h, j, e: (1 + j) / 5)),
    "function": ("", W, (2, 3), GATED.format("v[h, j, e] * exp(-j / 3)"), gated(lambda h, j, e: np.exp(-j / 3))),
    "table": ("", {**W, "t": (11,)}, (2, 3), GATED.format("v[h, j, e] * t[2*j - e + 2]"),
              lambda w, v, t: np.einsum("hj,hje->he", w, v * t[2 * at(2, 5, 3)[1] - at(2, 5, 3)[2] + 2])),
    "size_of_the_call": ("", {"v": (5, 3)}, (4, 3), 'einsum("i j, j d -> i d", exp(-abs(i - j)), v, i = 4)',
                         lambda v: np.exp(-abs(at(4, 5)[0] - at(4, 5)[1])) @ v),
    "size_of_the_result": ("", {"v": (5, 3)}, (4, 3), 'einsum("i j, j d -> i d", exp(-abs(i - j)), v)',
                           lambda v: np.exp(-abs(at(4, 5)[0] - at(4, 5)[1])) @ v),
    "size_of_another_operand": ("", {"x": (4, 3), "y": (4,)}, (3,), 'einsum("n, n d, n -> d", 2*n + 1, x, y)',
                                lambda x, y: ((2 * np.arange(4) + 1) * y) @ x),
    "nested": ("", {"q": (4, 2), "u": (4, 5)}, (4, 5),
               'einsum("i j -> i j", softmax(einsum("i j -> i j", u[i, j] * 2) where j <= i))',
               lambda q, u: softmax(np.where(np.tri(4, 5) > 0, 2 * u, -inf))),
    "where_of_the_einsum": ("", W, (2, 3), 'einsum("h j, h j e -> h e", w, v[h, j, e] * e, where = j < 3)',
                            lambda w, v: np.einsum("hj,hje->he", w, v * at(2, 5, 3)[2] * (at(2, 5, 3)[1] < 3))),
    "rearranged": ("", {"x": (2, 6)}, (6, 2), 'rearrange(x[h, m] * (1 + h), "h m -> m h")', lambda x: (x * [[1], [2]]).T),
    "repeated": ("", {"x": (3,)}, (2, 3), 'broadcast(x[c] * c, "c -> r c", r = 2)', lambda x: np.stack([x * np.arange(3)] * 2)),
    "gathered": ("", {"x": (3, 2)}, (3, 2), 'einsum("n c -> n c", x[(n + 1) % 3, c])', lambda x: np.roll(x, -1, 0)),

    # A function that is the position itself does not tell the size of the axis: the table may be longer.
    "function_that_is_the_axis": ("", {"x": (4, 2), "t": (9, 4)}, (4, 2), 'einsum("h i -> h i", x) + t[floor(sqrt(i)), h]',
                                  lambda x, t: x + t[:2].T),
    "bucket_of_two": ("", {"x": (3, 2, 1), "t": (32, 3)}, (3, 2, 1), 'einsum("h i j -> h i j", x) + t5(t)',
                      lambda x, t: x + t[:2].T[:, :, None]),

    # Axes in statements before the one that names them.
    "slope": ("", {"q": (4, 2, 3), "slope": (4,)}, (4, 2, 2),
              'bias = slope[h] * (i - j)\n  return einsum("h i d, h j d -> h i j", q, q) + bias',
              lambda q, slope: np.einsum("hid,hjd->hij", q, q) + slope[:, None, None] * (at(2, 2)[0] - at(2, 2)[1])),
    "slope_alone": ("", {"x": (4, 3), "slope": (4,)}, (4, 3), 's = slope[h]\n  return einsum("h d -> h d", x * s[:, None])',
                    lambda x, slope: x * slope[:, None]),
    "index": ("", {"x": (4, 3), "t": (9,)}, (4, 3), 's = t[2*n + 1]\n  return einsum("n d -> n d", x) * s',
              lambda x, t: x * t[1:9:2, None]),
    "length": ("", {"x": (4, 3)}, (4, 3), 's = 1 / len(n)\n  return einsum("n d -> n d", x) * s', lambda x: x / 4),
    "position_before": ("", {"x": (4, 3)}, (4, 3), 's = 1 + position(n)\n  return einsum("n d -> n d", x) * s',
                        lambda x: x * at(4, 3)[0] + x),
    "axis_of_a_scheme": ("", {"x": (4, 5), "slope": (2,)}, (2, 4, 5),
                         'a = alibi(slope[h], i = q, j = k)\n  return broadcast(x, "q k -> h q k", h = 2) + a',
                         lambda x, slope: x - slope[:, None, None] * abs(at(4, 5)[0] - at(4, 5)[1])),
    "two_statements": ("", {"x": (4, 3), "y": (3,)}, (4, 3),
                       'a = y[d] * e\n  b = einsum("e d -> e d", a * x[e, d])\n  return b', lambda x, y: x * y * at(4, 3)[0]),

    # Sizes that nothing tells, or that two places tell differently.
    "nothing_tells": ("", {"q": (4, 2)}, (4,), 'sum(einsum("i j -> i", exp(-abs(i - j)), i = 4) + sum(q, 1), 0) * q[:, 0]',
                      "nothing tells the size of axis 'j'"),
    "two_reads": ("", {"u": (4,), "w": (5,)}, (4,), 'a = u[h] + w[h]\n  return einsum("h -> h", a)',
                  "axis 'h' has size 4, but this dimension of 'w' has 5"),
    "read_too_long": ("", {"u": (5,), "w": (4,)}, (4,), 'a = u[h]\n  return einsum("h -> h", w) + a',
                      "axis 'h' has size 4, but this dimension of 'u' has 5"),
    "no_axis": ("", {"u": (5,)}, (5,), 'einsum("h -> h", u[g])', "unknown name 'g'"),
}


if __name__ == "__main__":
    sys.exit(main(CASES))
