"""Tests of the names that the package takes, the schemes that it lists, and the words of its messages."""

import os
import subprocess
import sys
import unittest

import common
import numpy as np

import skewer


class Words(common.FolderTest):
    def test_schemes(self):
        known = skewer.schemes()
        self.assertIn("rel1d", [one.name for one in known])
        one = next(one for one in known if one.name == "rel1d")
        self.assertTrue(one.signature.startswith("rel1d(") and one.about, one)
        self.assertIn(one.signature, repr(known))
        self.assertIn("scheme rel1d(", skewer.schemes("rel1d"))
        with self.assertRaisesRegex(skewer.CompileError, r"no built-in scheme 'rel1'.*skewer.schemes\(\) lists them"):
            skewer.schemes("rel1")

    def test_the_command_that_the_package_brings(self):
        for command in ([sys.executable, "-m", "skewer"], [os.path.join(os.path.dirname(sys.executable), "skewer")]):
            done = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True)
            self.assertIn(skewer.__version__, done.stdout)
            done = subprocess.run([*command, "run", str(self.folder / "none.attn")], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)

    def test_words_of_this_package(self):
        """The compiler's messages name keywords, not options of the command line."""
        for call, text in ((lambda: skewer.compile(common.TINY, N="abc"), "parameter N: expected a number"),
                           (lambda: skewer.compile(common.TINY, target="z80"), "error: target: unknown processor"),
                           (lambda: skewer.compile(common.TINY, batch=3), "a parameter cannot give it.*by the shapes of the arrays")):
            with self.assertRaisesRegex(skewer.CompileError, "(?s)" + text) as wrong:
                call()
            self.assertNotRegex(str(wrong.exception), "-D |--")
        for spec, found in ((common.TINY.encode(), "bytes; text.decode"), (3, "int")):
            with self.assertRaisesRegex(skewer.ArgumentError, "spec: expected the path.*found an object of type " + found):
                skewer.compile(spec)
        with self.assertRaisesRegex(skewer.CompileError, "found an empty string"):
            skewer.compile("")
        for threads in ("4", 0, 1025):
            with self.assertRaisesRegex(skewer.ArgumentError, "threads: expected 1 to 1024"):
                skewer.compile(common.TINY, threads=threads)

    def test_modules_of_frameworks_are_found_by_name(self):
        with self.assertRaisesRegex(AttributeError, "module 'skewer' has no attribute 'tourch'"):
            skewer.tourch

    def test_names_that_python_has_other_plans_for(self):
        length = skewer.compile("""size lambda <= 64
kernel f(q, k, v : f32[lambda, 4], table : f32[2*lambda - 1]) -> f32[lambda, 4] {
  s = einsum("i d, j d -> i j", q, k) + table[j - i + lambda - 1]
  return einsum("i j, j d -> i d", softmax(s), v)
}
""")
        self.assertEqual(length(**length.example(**{"lambda": 5})).shape, (5, 4))
        own = skewer.compile("kernel f(self : f32[4], threads : f32[4]) -> f32[4] { return self*threads }")
        x = own.example()
        np.testing.assert_array_equal(own(*x.values()), x["self"] * x["threads"])
        with self.assertRaisesRegex(skewer.ArgumentError, "`threads` is a keyword of the call"):
            own(**{**x, "threads": 1})
        np.testing.assert_array_equal(own(x["self"], x["threads"], threads=2), x["self"] * x["threads"])

    def test_sizes_that_there_are_not(self):
        layer = skewer.compile(common.TINY)
        for call in (lambda: layer.example(bach=2), lambda: layer(**common.operands(), sizes={"bach": 2})):
            with self.assertRaises(skewer.ArgumentError) as wrong:
                call()
            self.assertEqual((wrong.exception.argument, wrong.exception.expected, wrong.exception.found),
                             ("sizes", "a run-time size: batch", "'bach'"))
        for bad in (2.5, 0, -1, 1 << 70, "2"):
            for call in (lambda: layer(**common.operands(), sizes={"batch": bad}), lambda: layer.bench(batch=bad)):
                with self.assertRaisesRegex(skewer.ArgumentError, "sizes, dimension batch: expected a whole number from 1 on, found "):
                    call()
        for bad in ("1", 1 << 70):
            with self.assertRaisesRegex(skewer.ArgumentError, "q0: expected a whole number, found "):
                layer(**common.operands(), q0=bad)
        for bad in ("1", -1):
            with self.assertRaisesRegex(skewer.ArgumentError, "head: expected a whole number from 0 on, found "):
                layer.plot(head=bad)


if __name__ == "__main__":
    unittest.main()
