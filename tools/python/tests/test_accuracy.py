"""Compares the errors of the kernels of a few random layers with the errors of eager code in f32."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

SWEEP = Path(__file__).resolve().parents[3] / "tests" / "oracle" / "beside_eager.py"


class BesideEager(unittest.TestCase):
    def sweep(self, *options):
        # PyTorch's threads stay awake while they wait for each other.
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.run([sys.executable, SWEEP, "--quiet", *options], check=False, capture_output=True, text=True, env=environment)

    def test_at_most_twice_its_error(self):
        done = self.sweep("--seeds", "0:12")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\d+ checks of 12 layers: median [01]\.\d\d,")

    def test_a_bar_that_nothing_passes(self):
        done = self.sweep("--seeds", "0:1", "--most", "0.01", "--numpy")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"(?s)^beside NumPy.*times eager's error, .* over 8 sets.*kernel layer\(")


if __name__ == "__main__":
    unittest.main()
