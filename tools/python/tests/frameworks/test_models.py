"""The scripts of examples/python at small sizes: they fail where a model's output differs."""

import importlib.util
import subprocess
import sys
import types
import unittest
from pathlib import Path

import common  # a cache of the test's own
import torch

EXAMPLES = Path(__file__).parents[4] / "examples" / "python"


@unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
class Models(unittest.TestCase):
    def run_script(self, name, layers):
        self.assertTrue(common.TINY)
        done = subprocess.run([sys.executable, EXAMPLES / name, "--small", "--runs", "1"], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{layers} layers swapped", done.stdout)
        print(done.stdout, end="")

    def test_sam_encoder(self):
        self.run_script("sam_encoder.py", 2)

    def test_w2v_bert(self):
        self.run_script("w2v_bert.py", 2)

    def test_t5_encoder(self):
        self.run_script("t5_encoder.py", 2)

    def test_deberta(self):
        self.run_script("deberta.py", 2)

    def test_swin_v2(self):
        self.run_script("swin_v2.py", 4)

    @unittest.skipUnless(importlib.util.find_spec("timm"), "timm is not installed")
    def test_botnet(self):
        self.run_script("botnet.py", 3)

    def test_music_transformer(self):
        self.run_script("music_transformer.py", 2)


class WhatIsNoticed(unittest.TestCase):
    """A comparison in which Skewer's layers had no part is an error, not a difference of 0."""

    TEXT = """param N = 4, d = 4
    kernel k(q, k, v : f32[N, d], bias : f32[N]) -> f32[N, d] {
      return einsum("i j, j d -> i d", softmax(einsum("i d, j d -> i j", q, k) + bias[j]), v)
    }
    """

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(EXAMPLES))
        cls.harness = __import__("whole_model")
        cls.options = types.SimpleNamespace(threads=[1], runs=1)

    @classmethod
    def tearDownClass(cls):
        sys.path.remove(str(EXAMPLES))

    def compare(self, swap, bias):
        model = Attention(bias)
        self.harness.compare("the model", model, swap, (torch.randn(4, 4, generator=torch.Generator().manual_seed(1)),),
                             self.options)

    def put_in(self, model):
        layer = self.harness.Layer(self.TEXT)
        model.forward = lambda x: (layer(x, x, x, model.bias),)
        return 1

    def test_layers_that_ran(self):
        self.compare(self.put_in, torch.arange(4.0))

    def test_a_layer_that_was_never_called(self):
        with self.assertRaisesRegex(SystemExit, "1 layers were swapped, and 0 called"):
            self.compare(lambda model: 1, torch.arange(4.0))

    def test_no_layer(self):
        with self.assertRaisesRegex(SystemExit, "0 layers were swapped, and 0 called"):
            self.compare(lambda model: 0, torch.arange(4.0))

    def test_positions_that_say_nothing(self):
        with self.assertRaisesRegex(SystemExit, "without positions"):
            self.compare(self.put_in, torch.zeros(4))

    def test_another_output(self):
        def wrongly(model):
            self.put_in(model)
            model.bias = model.bias.flip(0)
            return 1
        with self.assertRaisesRegex(SystemExit, "expected at most 1e-04"):
            self.compare(wrongly, torch.arange(4.0))


class Attention(torch.nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def forward(self, x):
        return (torch.softmax(x @ x.T + self.bias, -1) @ x,)


if __name__ == "__main__":
    unittest.main()
