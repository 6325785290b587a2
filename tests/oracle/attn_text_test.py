#!/usr/bin/env python3
"""Tests the evaluator: each rule by arrays that are computed by hand, or by a line of NumPy."""
import os
import sys
import unittest

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from attn_text import AttnError, Program, evaluate  # noqa: E402

RNG = np.random.default_rng(7)


def value(body, result, defines=None, origins=None, **inputs):
    """Returns the result of a kernel with this body, for the given operands."""
    kinds = ", ".join(f"{name} : {'i32' if array.dtype.kind == 'i' else 'f32'}[{', '.join(map(str, array.shape))}]"
                      for name, array in inputs.items())
    before, _, after = body.rpartition(";;")
    text = f"{before}\nkernel k({kinds}) -> f32[{', '.join(map(str, result))}] {{\n{after}\n}}"
    return evaluate(Program(text, defines), inputs, "k", origins=origins)[None]


class AttnTextTest(unittest.TestCase):
    def check(self, got, want):
        np.testing.assert_allclose(got, np.broadcast_to(want, np.shape(got)), rtol=1e-12, atol=1e-12)

    def refused(self, words, *arguments, **inputs):
        with self.assertRaises(AttnError) as caught:
            value(*arguments, **inputs)
        self.assertIn(words, str(caught.exception))

    def setUp(self):
        self.x = RNG.standard_normal((4, 5))
        self.q, self.k = RNG.standard_normal((4, 3)), RNG.standard_normal((5, 3))
        self.i, self.j = np.arange(4)[:, None], np.arange(5)[None, :]
        self.scores = 's = einsum("i d, j d -> i j", q, k)\n'

    # Precedence.
    def test_powers_bind_before_the_sign_and_from_the_right(self):
        self.check(value("return x * (-2^2 + 2^3^2)", (4, 5), x=self.x), self.x * 508)

    def test_whole_division_rounds_down(self):
        self.check(value("return x * (-7 // 2) + -7 % 3", (4, 5), x=self.x), self.x * -4 + 2)

    def test_bits_bind_between_sums_and_comparisons(self):
        self.check(value("return x * (1 + 1 << 2 + 1) + (7 & 6 - 4) + (-5 >> 1)", (4, 5), x=self.x), self.x * 16 + 2 - 3)
        words = np.array([[0x12345678, -1], [0x0F0F0F0F, 7]])
        got = value('y = einsum("a n -> a n", z)\nreturn 0 * y + (w[a, n // 8] >> 4 * (n % 8) & 15)', (2, 16), z=np.zeros((2, 16)), w=words)
        self.check(got, (words[:, np.arange(16) // 8] >> 4 * (np.arange(16) % 8)) & 15)
        self.refused("0 to 62", "return x * (1 >> 63)", (4, 5), x=self.x)
        self.refused("whole numbers", 'y = einsum("n c -> n c", x)\nreturn y * ((n / 2) & 1)', (4, 5), x=self.x)

    def test_a_choice_binds_weaker_than_a_sum(self):
        self.check(value(self.scores + "return s + 1 if j <= i else 0", (4, 5), q=self.q, k=self.k),
                   np.where(self.j <= self.i, self.q @ self.k.T + 1, 0))

    def test_a_line_goes_on_with_an_operator_and_ends_before_a_bracket(self):
        self.check(value("y = x\n  + 1; (a, b) = (2, 3)\n(c, d) = (b, a)\nreturn y * c", (4, 5), x=self.x), (self.x + 1) * 3)

    def test_a_bare_name_is_no_other_number_than_its_axis_has(self):
        for body in ('return einsum("n c -> n c", x)', 'return rearrange(x, "n c -> n c")'):
            self.refused("is an axis of size", "param n = 3;;" + 's = einsum("r c -> r c", x)\n' + body, (4, 5), x=self.x)
        self.refused("a function of positions too", 's = einsum("r c -> r c", x)\np = c + 1\nreturn einsum("r p -> r p", x)', (4, 5), x=self.x)
        self.check(value('param n = 4;;return einsum("n c -> n c", x)', (4, 5), x=self.x), self.x)

    def test_what_nests_too_deep_or_is_no_number_is_refused(self):
        deep = (lambda n: f"return {'(' * n}x{')' * n} + 1")
        self.check(value(deep(150), (4, 5), x=self.x), self.x + 1)
        for body in (deep(250), f"return {'-' * 250}x", "return x" + " + 1" * 5000, "return x" + "^1" * 250):
            self.refused("one chain" if "+ 1 + 1" in body else "nested deeper", body, (4, 5), x=self.x)
        for number in ("inf - inf", "2^62 * 4", "2^5000", "(-1)^0.5", "5 // 0.5", "10000000000000000000 * 0"):
            self.refused("64 bits" if "//" not in number else "whole numbers", f"return x * ({number})", (4, 5), x=self.x)
        for size in ("inf", "20.0", "2.5, 8"):
            self.refused("whole numbers", f"return reshape(x, [{size}])", (20,), x=self.x)

    # Einsums.
    def test_letters_products_and_index_expressions(self):
        self.check(value('return einsum("ij->ji", x)', (5, 4), x=self.x), self.x.T)
        self.check(value('return einsum("(a b) c -> b (c a)", x, a = 2)', (2, 10), x=self.x),
                   self.x.reshape(2, 2, 5).transpose(1, 2, 0).reshape(2, 10))
        self.check(value('return einsum("(2*i + 1) (c // 2) -> i c", x, i = 2, c = 6)', (2, 6), x=self.x),
                   self.x[1::2][:, np.arange(6) // 2])

    def test_a_sum_where(self):
        self.check(value('return einsum("i d -> i", q, where = d < i)', (4,), q=self.q),
                   (self.q * (np.arange(3) < self.i)).sum(1))

    def test_a_read_outside_is_an_error_unless_it_is_masked(self):
        body = 't = einsum("i d, (j - i) d -> i j", q, k, j = 5)\n'
        self.refused("read outside", body + "return t", (4, 5), q=self.q, k=self.k)
        shown = (self.q[:, None] * self.k[np.maximum(self.j - self.i, 0)]).sum(-1)
        weights = np.where(self.j >= self.i, np.exp(shown), 0)
        self.check(value(body + "return softmax(t where j >= i)", (4, 5), q=self.q, k=self.k),
                   weights / weights.sum(1, keepdims=True))
        self.check(value(body + "return t if j >= i else 0", (4, 5), q=self.q, k=self.k), np.where(self.j >= self.i, shown, 0))

    # Absent elements.
    def test_absent_elements_pass_through_what_keeps_them_apart(self):
        want = np.where(self.j <= self.i, np.exp(np.tanh(self.q @ self.k.T)), 0)
        want = want / want.sum(1, keepdims=True)
        self.check(value(self.scores + "m = s where j <= i\nn = tanh(m)\nreturn softmax(n)", (4, 5), q=self.q, k=self.k), want)
        self.check(value(self.scores + "return softmax(tanh(s) + (0 if j <= i else -inf))", (4, 5), q=self.q, k=self.k), want)

    def test_absent_elements_are_read_by_nothing_else(self):
        for rest in ("m + s", "m * s", 'einsum("i j -> j i", m)', "m", "concat(m, m, dim = 1)"):
            self.refused("absent", self.scores + f"m = s where j <= i\nreturn {rest}", (4, 5), q=self.q, k=self.k)

    def test_a_row_without_keys(self):
        got = value(self.scores + "return softmax(s where j > i + 2)", (4, 5), q=self.q, k=self.k)
        self.check(got[2:], 0)
        lse = value(self.scores + "return logsumexp(s where j > i + 2)", (4,), q=self.q, k=self.k)
        self.assertTrue(np.all(np.isneginf(lse[2:])) and np.all(np.isfinite(lse[:2])))

    def test_what_a_choice_hides_stays_hidden_behind_where(self):
        near, far = np.array([0.0, 1.0, 2.0, 0.0, 3.0]), np.array([1.5, 0.5, 2.5, 4.0])
        v = np.array([[1.0], [2.0], [np.nan], [4.0], [5.0]])
        got = value(self.scores + 'return einsum("i j, j e -> i e", softmax((s if near[j] <= far[i] else -inf) where j <= i + 1), v)',
                    [4, 1], q=self.q, k=self.k, v=v, near=near, far=far)
        s = self.q @ self.k.T
        e = np.where((near <= far[:, None]) & (self.j <= self.i + 1), np.exp(s), 0)
        seen = np.where(np.isnan(v[:, 0]), 0, v[:, 0])
        self.check(got[:2, 0], (e @ seen / e.sum(1))[:2])
        self.assertTrue(np.isnan(got[2:]).all())

    def test_a_hidden_key_has_no_value(self):
        v = np.array([[1.0], [np.nan], [3.0], [4.0], [5.0]])
        got = value(self.scores + 'return einsum("i j, j e -> i e", softmax(s where j == 0 or j > 1), v)', (4, 1),
                    q=self.q, k=self.k, v=v)
        self.assertTrue(np.all(np.isfinite(got)))

    def test_minus_infinity_by_a_condition_on_values_leaves_keys_out(self):
        v = np.array([[1.0], [np.nan], [3.0], [4.0], [5.0]])
        g = np.array([1.0, -1.0, 1.0, 1.0, 1.0])
        got = value(self.scores + 'return einsum("i j, j e -> i e", softmax(s if g[j] > 0 else -inf), v)', (4, 1), q=self.q, k=self.k, v=v, g=g)
        self.assertTrue(np.all(np.isfinite(got)))

    def test_the_logarithm_of_an_infinite_sum(self):
        y = np.array([[1.0, np.inf, np.nan], [1.0, 2.0, np.nan]])
        got = value("return logsumexp(y)", (2,), y=y)
        self.assertTrue(got[0] == np.inf and np.isnan(got[1]))

    def test_a_choice_extends_over_the_axes_of_its_condition(self):
        self.check(value(self.scores + 'g = einsum("i d -> i", q)\nreturn rearrange(g if j <= i else 0, "i j -> i j")', (4, 5), q=self.q, k=self.k),
                   np.where(self.j <= self.i, self.q.sum(1)[:, None], 0))

    # Names.
    def test_rank_and_names_join(self):
        y = RNG.standard_normal(4)
        named = 'a = einsum("i c -> i c", x)\nb = einsum("i -> i", y)\n'
        self.check(value(named + "return a * b", (4, 5), x=self.x, y=y), self.x * y[:, None])
        self.refused("shapes do not agree", "return x * y", (4, 5), x=self.x, y=y)

    def test_names_of_a_condition_are_those_of_the_tensor(self):
        rows = 'm = einsum("(a i) -> a i", x[:, 0], a = 2)\n'
        self.check(value(rows + "return softmax(m where i <= a)", (2, 2), x=self.x)[0], [1, 0])
        self.refused("no axis", 's = einsum("i c -> i c", x)\nreturn softmax(s[:, 1:] where c <= i)', (4, 4), x=self.x)

    # The meaning of a name.
    def test_a_name_of_two_meanings_is_refused_wherever_it_stands_bare(self):
        named = 'y = einsum("n d -> n d", x)\n'
        for rest in ("y * (d < 4)", "y if d < 4 else 0", "softmax(y where d < n)", "y + t[d]", "abs(d) * y", "sum(y, d)", "y * f(d)", "y / (1 + d)", "y * d^2", "y * sqrt(d)",
                     'einsum("n d, (d + 1) -> n d", y, t)'):
            self.refused("'d' is an axis", "param d = 5\nscheme f(x) = x;;" + named + "return " + rest, (4, 5), x=self.x, t=np.arange(9.0))
        for rest in ("m + 1", "y * (m > 0)", "sigmoid(m)", "m if m > 0 else 0", "-m"):
            self.refused("'m' is an axis", 'm = einsum("n m -> n m", x)\ny = einsum("n m -> n m", x)\nreturn ' + rest, (4, 5), x=self.x)

    def test_the_place_says_which_of_two_meanings_is_meant(self):
        body = 'm = einsum("n m -> n m", x)\n'
        for rest in ("m", 'einsum("n m -> n m", m)', "m[...] * 1", "softmax(m) * 0 + m[...]", "m[n, position(m)]", "pad(m, (0, 0))", "f(m)"):
            self.check(value("scheme f(x : [n, c]) = x;;" + body + "return " + rest, (4, 5), x=self.x), self.x)
        self.check(value(body + "return m[...] * position(m)", (4, 5), x=self.x), self.x * np.arange(5))
        self.check(value("param m = 5;;" + 'y = einsum("n m -> n m", x)\nreturn y[:, :m] * position(m) + len(m)', (4, 5), x=self.x),
                   self.x * np.arange(5) + 5)

    def test_what_is_divided_by_is_the_number(self):
        named = "param d = 5, n = 4;;" + 'y = einsum("n d -> n d", x)\nreturn '
        for rest, want in (("y / d", 5), ("y * d^-0.5", 5 ** 0.5), ("y / sqrt(d)", 5 ** 0.5), ("y * rsqrt(d)", 5 ** 0.5), ("y / (d * n)", 20), ("y / d^2", 25),
                           ("y * (n * d)**-1", 20)):
            self.check(value(named + rest, (4, 5), x=self.x), self.x / want)

    def test_an_axis_is_in_scope_above_the_text_that_names_it(self):
        self.refused("'d' is an axis", 'param d = 5;;y = x * d\nz = einsum("n d -> n d", x)\nreturn y + z', (4, 5), x=self.x)
        self.check(value('keep = d < 2\nz = einsum("n d -> n d", x)\nreturn z if keep else 0', (4, 5), x=self.x), np.where(np.arange(5) < 2, self.x, 0))

    def test_words_name_nothing(self):
        for word in ("inf", "where", "floordiv", "return"):
            with self.assertRaises(AttnError):
                value(f'y = einsum("n {word} -> n {word}", x)\nreturn y', (4, 5), x=self.x)
        self.check(value('return einsum("len (a b) -> len b a", x, a = 1)', (4, 5, 1), x=self.x), self.x[..., None])

    # Order.
    def test_a_read_stands_as_it_is_written(self):
        square = RNG.standard_normal((4, 4))
        self.check(value('a = einsum("j i -> j i", z)\nreturn y[i, j]', (4, 4), y=square, z=square), square)
        self.check(value('a = einsum("j i -> j i", z)\nreturn sum(y[i, j], -1)', (4,), y=square, z=square), square.sum(1))

    def test_an_open_order_is_refused_where_places_matter(self):
        s = 's = einsum("h i d, h j d -> h i j", a, b)\n'
        a, b, t = RNG.standard_normal((2, 4, 3)), RNG.standard_normal((2, 5, 3)), RNG.standard_normal((8, 2))
        want = t[self.j - self.i + 3].transpose(2, 0, 1)
        for rest in ("t[j - i + 3, h]", "t[j - i + 3, h][None][0]", "reshape(t[j - i + 3, h], [2, 4, 5])",
                     'einsum("p q r -> p q r", t[j - i + 3, h])'):
            self.refused("no order", s + "return " + rest, (2, 4, 5), a=a, b=b, t=t)
        for rest in ("s * 0 + t[j - i + 3, h]", "t[j - i + 3, h] + s * 0", 'rearrange(t[j - i + 3, h], "h i j -> h i j")',
                     'einsum("h j i -> h i j", t[j - i + 3, h])'):
            self.check(value(s + "return " + rest, (2, 4, 5), a=a, b=b, t=t), want)
        self.refused("no order", s + "return s * softmax(0.1 * (i - j))", (2, 4, 5), a=a, b=b)
        shown = np.exp(0.1 * (self.i - self.j))
        self.check(value(s + "return s * 0 + softmax(0.1 * (i - j), axis = j)", (2, 4, 5), a=a, b=b),
                   np.broadcast_to(shown / shown.sum(1, keepdims=True), (2, 4, 5)))

    # Joins.
    def test_joins_by_name_take_no_notice_of_ranks_and_places(self):
        v, w = RNG.standard_normal(4), RNG.standard_normal(5)
        body = 'c = einsum("i j -> i j", x)\np = einsum("i -> i", v)\nr = einsum("j -> j", w)\n'
        for rest in ("c + p + r", "c + (p + r)", "c + (r + p)", "(r + c) + p", 'rearrange(r + p, "i j -> i j") + c'):
            self.check(value(body + "return " + rest, (4, 5), x=self.x, v=v, w=w), self.x + v[:, None] + w)
        self.refused("no order", body + "return p + r", (4, 5), x=self.x, v=v, w=w)
        self.refused("no order", body + "return c * 0 + softmax(p + r)", (4, 5), x=self.x, v=v, w=w)
        self.refused("meets", body + "return c + p[None, :]", (4, 5), x=self.x[:, :4], v=v, w=w)
        self.refused("two orders", 'a = einsum("i j -> i j", y)\nb = einsum("j i -> j i", y)\nreturn a + b', (4, 4), y=self.x[:, :4])

    def test_sizes_of_one_name_are_equal(self):
        self.refused("1 long and 5 long", 'a = einsum("n c -> n c", x)\nb = einsum("n c -> n c", x[:, :1])\nreturn b + a', (4, 5), x=self.x)

    def test_a_product_is_another_name_of_a_dimension(self):
        y = RNG.standard_normal((2, 6))
        body = 'a = einsum("h (u v) -> h (u v)", y, u = 2)\nb = einsum("h n -> h n", y)\n'
        for rest in ("a + b", "b + a"):
            self.check(value(body + f"return ({rest}) * (n + u)", (2, 6), y=y), 2 * y * (np.arange(6) + np.arange(6) // 3))

    # Axes and sizes.
    def test_an_axis_is_there_whatever_becomes_of_its_expression(self):
        k = RNG.standard_normal((1, 5))
        self.check(value('return einsum("(h // 4) j -> j", k, h = 4)', (5,), k=k), 4 * k[0])
        self.check(value('y = einsum("n c -> n c", x)\nreturn sum(y, n) + mean(x[n // 4, c], n)', (5,), x=self.x), self.x.sum(0) + self.x[0])
        for rate in ("0", "0.0"):
            self.check(value(f"param rate = {rate};;" + 'y = einsum("n c -> n c", x)\nreturn y * 0 + sum(n + rate * c, c)[:, None]',
                             (4, 5), x=self.x), 5 * self.i)
        for causal in (0, 1):
            want = self.x + (np.arange(4)[:, None] if causal else np.arange(5))
            self.check(value(f"param causal = {causal};;" + 'y = einsum("n c -> n c", x)\nreturn y + (n if causal == 1 else c)', (4, 5), x=self.x), want)

    def test_a_size_is_told_below_too(self):
        table = RNG.standard_normal((9, 3))
        want = np.einsum("id,ijd->ij", self.q, table[self.j - self.i + 3])
        rows = 'p = einsum("i d, (j - i + 3) d -> i j", q, t)\n'
        self.check(value(rows + self.scores + "return p + 0 * s", (4, 5), q=self.q, k=self.k, t=table), want)
        self.refused("nothing tells the size of 'j'", rows + "return sum(p, j)", (4,), q=self.q, t=table)
        for body in ("return p", "w = p * 2\nreturn -(w if i < 9 else 0) * -0.5", "return softmax(log(exp(p)) where j < 9) * 0 + p"):
            self.check(value(rows + body, (4, 5), q=self.q, t=table), want)
        scheme = 'scheme f(q : [i, d], t : [r, d]) = einsum("i d, (j - i + 3) d -> i j", q, t);;'
        self.check(value(scheme + "return f(q, t) * 1", (4, 5), q=self.q, t=table), want)

    def test_ones_at_the_end_stand_for_axes_in_an_order(self):
        rows = 's = einsum("h -> h", a)\nc = einsum("h i, j -> h i j", t, b)\n'
        a, b, t = RNG.standard_normal(2), RNG.standard_normal(5), RNG.standard_normal((2, 4))
        want = np.einsum("hi,j->hij", t, b) + a[:, None, None] * (10 * self.i + self.j)
        self.check(value(rows + "return c + s[:, None, None] * o[i, j]", (2, 4, 5), a=a, b=b, t=t, o=10.0 * self.i + self.j), want)
        self.refused("which dimension of size 1", rows + "return c + s[:, None, None] * (10*i + j)", (2, 4, 5), a=a, b=b, t=t)

    def test_a_tensor_says_which_row_is_read(self):
        t, rows = RNG.standard_normal((5, 2)), np.array([[0, 3, 7.0, 1.5], [4, np.nan, -1, 2]])
        want = np.where(np.isin(rows, range(5))[..., None], t[np.where(np.isin(rows, range(5)), rows, 0).astype(int)], 0)
        named = 'm = einsum("i j -> i j", b)\n'
        self.check(value(named + 'z = einsum("h -> h", t[0])\nreturn rearrange(t[m, h], "i j h -> i j h") + 0 * z', (2, 4, 2), b=rows, t=t), want)
        edges = np.array([0.5, 1.5, 1.5, 3.0])
        self.check(value(named + "return t[searchsorted(edges, m), 0]", (2, 4), b=rows, t=t, edges=edges),
                   t[np.searchsorted(edges, np.where(np.isnan(rows), -9, rows)), 0])
        self.refused("has names", "return t[b, 0]", (2, 4), b=rows, t=t)

    def test_the_ends_of_a_range_are_numbers(self):
        ids = np.array([[2, 5, 0, 7]], np.int32)
        kernel = "kernel k(x : f32[4], ids : i32[1, 4] in -1..9) -> f32[4] {\n"
        scheme = "scheme f(x : [n], ids : [b, n], longest = highest(ids) + 1) = x * longest + lowest(ids) * ids[0, n]\n"
        out = evaluate(Program(scheme + kernel + "  return f(x, ids)\n}"), {"x": np.arange(4.0), "ids": ids})
        self.check(next(iter(out.values())), np.arange(4) * 10 - ids[0])

    def test_a_name_of_two_sizes_is_used_where_a_tensor_decides(self):
        both = 'a = einsum("n d -> n d", q)\nb = einsum("n d -> n d", k)\n'
        self.refused("4 and 5 long", both + "return sum(b, n) / len(n) + 0 * sum(a, n)", (3,), q=self.q, k=self.k)
        self.check(value(both + "return b if n > 3 else 0", (5, 3), q=self.q, k=self.k), np.where(np.arange(5)[:, None] > 3, self.k, 0))

    def test_one_is_a_size_that_is_checked(self):
        for text in ("a 1 -> a", "a () -> a"):
            for move in ("einsum(\"%s\", x)", "rearrange(x, \"%s\")"):
                self.refused("says 1", "return " + move % text, (4,), x=self.x)
        self.check(value('return einsum("a 1 -> a", x)', (4,), x=self.x[:, :1]), self.x[:, 0])

    # A scheme sees nothing of its caller.
    def test_no_name_of_a_caller_changes_a_scheme(self):
        y = 't = einsum("n d -> n d", x)\n'
        for scheme, call, want in (("scheme f(d) = d if d > 0 else 0", "f(t)", np.maximum(self.x, 0)),
                                   ("scheme f(x, d) = x if x > d else 0", "f(t, 1)", np.where(self.x > 1, self.x, 0)),
                                   ("scheme f(x) {\nd = x * 2\nreturn d if d > 1 else 0\n}", "f(t)", np.where(self.x > 0.5, 2 * self.x, 0))):
            self.check(value(scheme + ";;" + y + "return " + call, (4, 5), x=self.x), want)
        self.check(value('t = einsum("b x -> b x", x)\nreturn sign(t)', (4, 5), x=self.x), np.sign(self.x))
        self.check(value("scheme max(a, b) = a;;return softplus(x)", (4, 5), x=self.x), value("return softplus(x)", (4, 5), x=self.x))

    def test_no_name_of_a_scheme_reaches_its_caller(self):
        y, w = RNG.standard_normal((4, 4)), RNG.standard_normal(4)
        self.check(value('scheme f(x : [n, d]) = x * 2;;t = einsum("d n -> d n", y)\nreturn f(t) * w[n]', (4, 4), y=y, w=w), 2 * y * w)
        got = value('scheme f(x : [j, i]) = x * 2;;t = einsum("i j -> i j", y)\nreturn softmax(f(t) where j <= i)', (4, 4), y=y)
        self.check(got[0], [1, 0, 0, 0])
        self.check(value("scheme f(u : [a], v : [b]) -> [a, b] = u[a] * v[b];;" + 't = einsum("n -> n", w)\nreturn f(t, t)', (4, 4), w=w), np.outer(w, w))

    def test_a_signature_orders_and_names_a_result(self):
        slope, s = RNG.standard_normal(2), 's = einsum("g i d, g j d -> g i j", a, b)\n'
        a, b = RNG.standard_normal((2, 4, 3)), RNG.standard_normal((2, 5, 3))
        text = "scheme f(slope : [h])%s = slope[h] * abs(i - j);;" + s
        self.check(value(text % " -> [h, i, j]" + "return f(slope) + 0 * s", (2, 4, 5), slope=slope, a=a, b=b), slope[:, None, None] * abs(self.i - self.j))
        self.check(value(text % "" + "return f(slope[g]) + 0 * s", (2, 4, 5), slope=slope, a=a, b=b), slope[:, None, None] * abs(self.i - self.j))
        self.refused("no order", text % "" + "return f(slope) + 0 * s", (2, 4, 5), slope=slope, a=a, b=b)
        self.check(value("scheme f(x : [a]) -> [a, r] = einsum(\"a -> a r\", x, r = 3);;" + 'return f(w) * (r + 1)', (4, 3), w=self.x[:, 0]),
                   self.x[:, :1] * [1, 2, 3])

    def test_the_axes_i_and_j_of_a_scheme(self):
        text = 'scheme f(x : [i]) = x * i;;t = einsum("c -> c", w)\nu = einsum("i -> i", w)\n'
        w = self.x[:, 0]
        self.check(value(text + "return f(t)", (4,), w=w), w * np.arange(4))
        self.refused("4 long in the caller and 3 here", text + "return pad(f(w[1:]), (1, 0)) + 0 * u", (4,), w=w)
        self.check(value("scheme f() = j - i;;" + self.scores + "return s * 0 + f(i = j, j = i)", (4, 5), q=self.q, k=self.k), self.i - self.j)

    # Functions of positions.
    def test_an_index_is_computed_in_f32_and_a_table_in_f64(self):
        one = np.float32
        want = np.floor(one(np.log(np.float64(one(np.arange(1, 6) / 3)))) / one(np.log(9.0)) * one(10)).astype(int)
        t = RNG.standard_normal(30)
        self.check(value("s = einsum(\"i -> i\", y)\nreturn s * 0 + t[floor(log((i + 1) / 3) / log(9) * 10) + 10]", (5,),
                         y=RNG.standard_normal(5), t=t), t[want + 10])
        got = value("return tabulate(exp(t / 7), t = 5)", (5,))
        np.testing.assert_array_equal(got, np.exp(np.arange(5) / 7).astype(np.float32))

    def test_of_a_choice_only_what_is_taken_exists(self):
        t = RNG.standard_normal(4)
        got = value('s = einsum("i -> i", y)\nreturn s * 0 + t[4 // (i + 1) if i > 0 else 3] + (1 / i if i > 0 else 0)', (4,),
                    y=RNG.standard_normal(4), t=t)
        self.check(got, t[[3, 2, 1, 1]] + [0, 1, 1 / 2, 1 / 3])

    def test_an_index_is_whole(self):
        self.refused("whole number", 's = einsum("i c -> i c", x)\nreturn s * x[i / 2, c]', (4, 5), x=self.x)

    # Index operands, parts, schemes.
    def test_index_operands(self):
        rows = np.array([3, 0, 0, 2])
        self.check(value('return einsum("(r[n]) c -> n c", x)', (4, 5), x=self.x, r=rows), self.x[rows])
        self.check(value('y = einsum("n c -> n c", x)\nreturn y + r[n]', (4, 5), x=self.x, r=rows), self.x + rows[:, None])

    def test_a_part_knows_its_place(self):
        text = 'part i = 4 of 9 from q0\ns = einsum("i c -> i c", x)\nreturn s + i * 10 + len(i) + t[i]'
        t = RNG.standard_normal(9)
        self.check(value(text, (4, 5), origins={"q0": 3}, x=self.x, t=t),
                   self.x + (np.arange(4) + 3)[:, None] * 10 + 9 + t[3:7, None])
        turned = 'part i = 4 of 9 from q0\nreturn rope(einsum("b h i d -> b h i d", y))'
        whole, y = RNG.standard_normal((1, 1, 9, 6)), None
        y = whole[:, :, 3:7]
        self.check(value(turned, (1, 1, 4, 6), origins={"q0": 3}, y=y), value("return rope(y)", (1, 1, 9, 6), y=whole)[:, :, 3:7])

    def test_schemes(self):
        self.check(value("scheme f(a : [n, c], by = 2, more = by + 1) = a * by + more * n;;return f(x, more = 5) + f(by = 1, a = x)",
                         (4, 5), x=self.x), 3 * self.x + 7 * self.i)
        self.refused("even", "return rope(y)", (1, 1, 2, 3), y=RNG.standard_normal((1, 1, 2, 3)))

    # Moving elements.
    def test_slices_and_pads(self):
        self.check(value("return x[1:-1, ::2]", (2, 3), x=self.x), self.x[1:-1, ::2])
        self.refused("outside", "return x[:, 1:9]", (4, 4), x=self.x)
        self.check(value("return pad(x, (1, 2), (0, 1), value = 3)", (7, 6), x=self.x),
                   np.pad(self.x, ((1, 2), (0, 1)), constant_values=3))

    def test_skew_is_pad_reshape_slice(self):
        x = RNG.standard_normal((4, 7))
        text = "f = pad(reshape(pad(x, (0, 1)), [32]), (0, 3))\nreturn reshape(f, [5, 7])[:4, 3:]"
        self.check(value("return skew(x)", (4, 4), x=x), value(text, (4, 4), x=x))

    def test_gather_and_concat(self):
        self.check(value("return gather(x, y - k + 1, y = 3, k = 2, dim = 0)", (3, 2, 5), x=self.x),
                   self.x[np.arange(3)[:, None] - np.arange(2) + 1])
        self.check(value("return concat(x, x[0, :], dim = 0)", (5, 5), x=self.x), np.concatenate([self.x, self.x[:1]]))

    def test_whole_numbers_overflow_is_an_error(self):
        self.refused("overflow", 's = einsum("i c -> i c", x)\nreturn s + (i + 1) * 4000000000 * 4000000000', (4, 5), x=self.x)


if __name__ == "__main__":
    unittest.main()
