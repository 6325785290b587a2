"""Tests of prepared layers: the data that const operands alone determine is made once."""

import copy
import pickle
import threading
import unittest

import common
import numpy as np

import skewer

# The table and both weights are packed, x is not.
WEIGHTS = """param N = 40, c = 48
size batch
kernel weights(x : f32[batch, N, c], const w : f32[c, c] ~ 0.1, const table : f32[2*N - 1, c], const u : f32[c, c] ~ 0.1) -> f32[batch, N, c] {
  h = einsum("b i c, c e -> b i e", x, w)
  s = einsum("b i c, b j c -> b i j", h, x) + einsum("b i c, (j - i + N - 1) c -> b i j", h, table, j = N)
  return einsum("b i c, c e -> b i e", einsum("b i j, b j c -> b i c", softmax(s * c^-0.5), x), u)
}
"""


class Prepare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layer = skewer.compile(WEIGHTS)

    def split(self, batch=2):
        arrays = self.layer.example(batch=batch)
        return arrays.pop("x"), arrays

    def test_the_same_bits(self):
        x, constants = self.split()
        prepared = self.layer.prepare(**constants)
        self.assertGreater(prepared.bytes, 0)
        expected = self.layer(x, **constants)
        np.testing.assert_array_equal(prepared(x), expected)
        np.testing.assert_array_equal(prepared(x=x, threads=2), expected)
        out = np.empty_like(expected)
        self.assertIs(prepared(x, out=out), out)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(prepared(x[:1]), self.layer(x[:1], **constants))

    def test_what_was_made_is_not_made_again(self):
        x, constants = self.split()
        expected = self.layer(x, **constants)
        prepared = self.layer.prepare(**constants)
        constants["w"][:] = np.nan  # the kernel does not read it again
        constants["u"][:] = np.nan
        np.testing.assert_array_equal(prepared(x), expected)

    def test_threads_share_it(self):
        x, constants = self.split()
        prepared, expected = self.layer.prepare(**constants), self.layer(x, **constants)
        results = [None] * 4

        def call(number):
            results[number] = [prepared(x) for _ in range(20)]

        threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            for one in result:
                np.testing.assert_array_equal(one, expected)

    def test_a_layer_without_const_operands(self):
        layer = skewer.compile(common.TINY)
        self.assertEqual(layer.constants, [])
        prepared = layer.prepare()
        x = common.operands()
        self.assertEqual(prepared.bytes, 0)
        np.testing.assert_array_equal(prepared(**x), layer(**x))

    def test_lengths(self):
        """For a table whose rows are a run-time length, nothing is prepared; each call reads the table."""
        layer = skewer.compile(common.LENGTHS.replace("table :", "const table :"))
        x = layer.example(N=20)
        table = x.pop("table")
        for prepared in (layer.prepare(table=table), layer.prepare(table=table, sizes={"N": 20})):
            np.testing.assert_array_equal(prepared(**x), layer(**x, table=table))
        for wrong, sizes, argument in ((table[:-1], {"N": 20}, "table"), (table[:, :3], None, "table"), (table, {"M": 20}, "sizes")):
            with self.assertRaises(skewer.ArgumentError) as caught:
                layer.prepare(table=wrong, sizes=sizes)
            self.assertEqual(caught.exception.argument, argument)
        for rows, given in ((table[:-1], 38), (np.zeros((129, 4), np.float32), 129)):
            with self.assertRaisesRegex(skewer.ArgumentError, rf"table, dimension 0: expected 2\*N - 1 for a 'N' from 1 to 64, found {given}"):
                layer.prepare(table=rows)
        with self.assertRaisesRegex(skewer.ArgumentError, "table, dimension 0: expected 39"):
            layer.prepare(table=table[:-2])(**x)

    def test_from_process_to_process(self):
        x, constants = self.split()
        prepared = self.layer.prepare(**constants)
        for again in (pickle.loads(pickle.dumps(prepared)), copy.deepcopy(prepared), copy.deepcopy({"a": prepared})["a"]):
            np.testing.assert_array_equal(again(x), prepared(x))
            self.assertEqual((again.bytes, repr(again)), (prepared.bytes, repr(prepared)))
        self.assertIn("weights(x), prepared with w, table, u: ", repr(prepared))

    def test_refused(self):
        x, constants = self.split()
        for wrong, argument in (({**constants, "x": x}, "x"), ({**constants, "y": x}, "y"),
                                ({"w": constants["w"], "u": constants["u"]}, "table"),
                                ({**constants, "w": constants["w"][:4]}, "w"),
                                ({**constants, "w": constants["w"].astype(np.float64)}, "w")):
            with self.assertRaises(skewer.ArgumentError) as caught:
                self.layer.prepare(**wrong)
            self.assertEqual(caught.exception.argument, argument)
        prepared = self.layer.prepare(**constants)
        for arrays, named in (((x, x), {}), ((), {}), ((x,), {"x": x}), ((x,), {"w": constants["w"]})):
            with self.assertRaises(skewer.ArgumentError):
                prepared(*arrays, **named)


if __name__ == "__main__":
    unittest.main()
