"""Tests of the blocks of Python in the README and in the guide."""

import subprocess
import sys
import unittest
from pathlib import Path

import common
import numpy as np

import skewer


class Documents(unittest.TestCase):
    def test_the_example_of_the_readme(self):
        root = Path(__file__).parents[3]
        text = (root / "README.md").read_text(encoding="utf-8")
        example = text.split("```python\n")[1].split("```")[0]
        self.assertEqual(len(example.splitlines()), 5)
        done = subprocess.run([sys.executable, "-c", example], cwd=root, check=True, capture_output=True, text=True)
        self.assertTrue(done.stdout.startswith("(2, 4, 256, 128)\nbotnet: "), done.stdout)

    def test_the_guide(self):
        """The blocks of docs/python.md for NumPy run, one after another, next to the examples' files."""
        shown = [block for block in common.python_of("docs/python.md") if "torch" not in block and "jax" not in block]
        self.assertEqual(len(shown), 2)
        known = skewer.compile(common.example("botnet", "botnet.attn"), H=16, W=16).example(batch=2)
        common.run_beside("botnet", shown[0], known)
        self.assertEqual(known["out"].shape, (2, 4, 256, 128))
        known.update(skewer.compile(common.example("conformer", "conformer.attn")).example(batch=1))
        common.run_beside("conformer", shown[1], known)
        np.testing.assert_array_equal(known["out"], known["layer"](*(known[name] for name in known["layer"]._names)))


if __name__ == "__main__":
    unittest.main()
