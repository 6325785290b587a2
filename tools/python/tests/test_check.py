"""Tests of the float64 reference of a layer, and of comparing its kernel with it."""

import unittest

import common
import numpy as np

import skewer


class Check(unittest.TestCase):
    def test_checked(self):
        layer, x = skewer.compile(common.TINY), common.operands()
        np.testing.assert_allclose(layer.reference(**x), common.tiny(**x), atol=1e-12)
        self.assertEqual(layer.reference(**x).dtype, np.float64)
        checked = layer.check(**x)
        self.assertTrue(checked and checked.passed)
        self.assertRegex(repr(checked), r"^tiny: passed\n  out: 16 of 16 rows compared with the float64 reference, largest error")
        self.assertTrue(layer.check(sizes={"batch": 3}, rows=4))
        self.assertLess(0, checked.results[0].error)
        self.assertEqual(checked.results[0].not_finite, 0)
        for text in (common.TINY, common.HALVES, common.BFLOATS):
            of_type = skewer.compile(text)
            given = of_type.example(batch=2)
            given["v"].view(f"u{given['v'].itemsize}")[1, 2, 3] = {4: 0x7F800001, 2: 0x7FFF}[given["v"].itemsize]  # NaN
            checked = of_type.check(**given)
            self.assertTrue(checked)
            self.assertEqual(checked.results[0].not_finite, 8)  # every query of this row of the batch, this one number
            self.assertRegex(repr(checked), "\n    8 elements of the result are NaN or infinite, as the text and these operands have it$")
        # A kernel that computes something else does not pass.
        wrong = skewer.compile(common.TINY.replace("d^-0.5", "d^-0.25"))
        layer._kernel, kept = wrong._kernel, layer._kernel
        checked = layer.check(**x)
        layer._kernel = kept
        self.assertFalse(checked)
        self.assertRegex(repr(checked), r"(?s)^tiny: failed.*worst at \[\d, \d, \d\]: got ")
        with self.assertRaises(skewer.ArgumentError) as wrong:
            layer.reference(x["q"], x["k"][:, :7], x["v"])
        self.assertEqual((wrong.exception.argument, wrong.exception.found), ("k", "[2, 7, 4]"))
        with self.assertRaises(skewer.ArgumentError):
            layer.reference(x["q"].astype(np.float64), x["k"], x["v"])

    def test_checked_with_lengths_halves_origins_and_two_results(self):
        self.assertTrue(skewer.compile(common.LENGTHS).check(sizes={"N": 7}))
        for text in (common.HALVES, common.BFLOATS):
            self.assertTrue(skewer.compile(text).check())
        step = skewer.compile(common.example("ring", "ring.attn"), kernel="step", m=48)
        checked = step.check(k0=48)
        self.assertEqual([one.result for one in checked.results], ["out", "lse"])
        self.assertTrue(checked)
        x = step.example()
        early, late = step.reference(**x)[0], step.reference(**x, k0=48)[0]
        self.assertGreater(abs(early - late).max(), 1e-3)
        np.testing.assert_allclose(step(**x, k0=48)[0], late, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
