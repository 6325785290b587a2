"""Runs the scripts of examples/python at small sizes; they fail if a model's output differs."""

import importlib.util
import os
import subprocess
import sys
import types
import unittest
from pathlib import Path

import common  # gives the test a cache of its own
import torch

EXAMPLES = Path(__file__).parents[4] / "examples" / "python"


@unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
class Models(unittest.TestCase):
    def run_script(self, name, layers, *options, alone=1):
        """Runs a script. `alone` is the number of attentions that it times by themselves."""
        self.assertTrue(common.TINY)
        options = options or ("--no-compile", "--threads", "1")  # compiling takes seconds for each attention
        # PyTorch's threads stay awake while they wait for each other, which takes seconds on busy processors.
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        done = subprocess.run([sys.executable, EXAMPLES / name, "--small", "--runs", "1", "--seconds", "0.01", *options],
                              check=False, capture_output=True, text=True, timeout=600, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{layers} layers swapped", done.stdout)
        self.assertEqual(done.stdout.count("without projections"), alone)
        self.assertEqual(done.stdout.count("times as fast as"), alone * (2 if "2" in options else 1), done.stdout)
        print(done.stdout, end="")
        return done.stdout

    def test_sam_encoder(self):
        self.run_script("sam_encoder.py", 2, alone=2)

    def test_w2v_bert(self):
        self.run_script("w2v_bert.py", 2)

    def test_t5_encoder(self):
        said = self.run_script("t5_encoder.py", 2, "--threads", "1", "2")  # with torch.compile
        self.assertIn("eager, compiled", said)

    def test_padded_sequences(self):
        for script in ("t5_encoder.py", "w2v_bert.py"):
            self.run_script(script, 2, "--padded", "--no-compile", "--threads", "1", alone=0)

    def test_deberta(self):
        self.run_script("deberta.py", 2)

    def test_swin_v2(self):
        self.run_script("swin_v2.py", 4, alone=2)

    @unittest.skipUnless(importlib.util.find_spec("timm"), "timm is not installed")
    def test_botnet(self):
        self.run_script("botnet.py", 3)

    def test_music_transformer(self):
        self.run_script("music_transformer.py", 2)


class WhatIsNoticed(unittest.TestCase):
    """A comparison in which Skewer's layers were not called is an error, not a difference of 0."""

    TEXT = """param N = 4, d = 4
    kernel k(q, k, v : f32[N, d], bias : f32[N]) -> f32[N, d] {
      return einsum("i j, j d -> i d", softmax(einsum("i d, j d -> i j", q, k) + bias[j]), v)
    }
    """

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(EXAMPLES))
        cls.harness = __import__("whole_model")
        cls.options = types.SimpleNamespace(threads=[1], runs=1, seconds=0, no_compile=True, only="")

    @classmethod
    def tearDownClass(cls):
        sys.path.remove(str(EXAMPLES))

    def compare(self, swap, bias):
        model = Attention(bias)
        self.harness.compare("the model", model, swap, (torch.randn(4, 4, generator=torch.Generator().manual_seed(1)),),
                             self.options)

    def put_in(self, model):
        layer = self.harness.Layer(self.TEXT)
        model.forward = lambda x: (layer(x, x, x, positions=[model.bias]),)
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

    def test_an_attention_alone_that_differs(self):
        model, options = Projected(), types.SimpleNamespace(threads=[1], seconds=0, no_compile=True)
        record = self.harness.attention_alone.Recorded(model, ["inner"], None)
        with record, torch.no_grad():
            whole = model(torch.ones(4, 4))
        model.inner.weight.data.zero_()  # the recorded output stays as it was
        torch.testing.assert_close(record.core()(), whole)
        self.harness.attention_alone.compare("one", {"eager": record.core()}, record.core(), options)
        with self.assertRaisesRegex(SystemExit, "the attention alone differs by"):
            self.harness.attention_alone.compare("one", {"eager": record.core()}, lambda: whole + 1, options)

    def test_masks_that_are_lengths(self):
        seen = torch.arange(5) < torch.tensor([5, 2])[:, None]
        for mask in (seen[:, None, None], torch.where(seen, 0.0, -1e30)[:, None, None].expand(2, 1, 5, 5)):
            self.assertEqual(self.harness.lengths_of(mask)[0].tolist(), [5, 2])
        self.assertEqual(self.harness.lengths_of(None), ())
        causal = torch.ones(5, 5, dtype=torch.bool).tril()
        for other in (seen.flip(1)[:, None, None], causal[None, None]):
            with self.assertRaisesRegex(ValueError, "expected a mask that hides the ends"):
                self.harness.lengths_of(other)


class Projected(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.inner(x) * 2


class Attention(torch.nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def forward(self, x):
        return (torch.softmax(x @ x.T + self.bias, -1) @ x,)


if __name__ == "__main__":
    unittest.main()
