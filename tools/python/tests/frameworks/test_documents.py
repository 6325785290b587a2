"""Runs the guides' code for PyTorch and JAX as the pages have it, with shorter sequences."""

import os
import tempfile
import unittest
import warnings
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import common
import jax
import numpy as np
import torch
import torch.distributed as dist
import transformers
from jax.sharding import PartitionSpec

import skewer


def shown(page, word):
    """Returns the only block of a page that imports the named module, apart from the one about transformers."""
    block, = [text for text in common.python_of(page)
              if f"from skewer import {word}" in text and "AttentionInterface" not in text]
    return block


class Guides(unittest.TestCase):
    def setUp(self):
        self.layer = skewer.compile(common.example("botnet", "botnet.attn"), H=16, W=16)
        self.arrays = self.layer.example(batch=1)

    def test_pytorch(self):
        """The lines of two layers run, each with its own text."""
        lines = shown("docs/python.md", "torch").splitlines()
        of_botnet = [line for line in lines if "conformer" not in line]
        tensors = {name: torch.from_numpy(array) for name, array in self.arrays.items()}
        known = common.run_beside("botnet", "\n".join(of_botnet), tensors)
        np.testing.assert_array_equal(known["out"].numpy(), self.layer(**self.arrays))
        layer = skewer.compile(common.example("conformer", "conformer.attn"))
        arrays = {name: torch.from_numpy(array) for name, array in layer.example(batch=1).items()}
        known["model"] = type("Model", (), {"pos": torch.nn.Parameter(arrays["pos"], requires_grad=False)})
        common.run_beside("conformer", "\n".join(line for line in lines if "conformer" in line), known)
        zeros = {**arrays, "u": torch.zeros(8, 64), "t": torch.zeros(8, 64)}
        got = known["layer"](*(arrays[name] for name in "qkv"))
        torch.testing.assert_close(got, layer(**{name: zeros[name] for name in layer._names}), atol=0, rtol=0)
        self.assertEqual(known["layer"].pos.data_ptr(), arrays["pos"].data_ptr())

    def test_transformers(self):
        """The lines run with a model whose attentions are the text next to them."""
        page = "docs/python.md"
        block, = [text for text in common.python_of(page) if "AttentionInterface" in text]
        spec, = [text for text in common.attn_of(page) if "kernel causal" in text]
        config = transformers.LlamaConfig(hidden_size=64, num_attention_heads=8, num_key_value_heads=2,
                                          num_hidden_layers=2, intermediate_size=64, vocab_size=50,
                                          max_position_embeddings=64)
        torch.manual_seed(0)
        model, tokens = transformers.LlamaForCausalLM(config).eval(), torch.randint(0, 50, (2, 21))
        with torch.no_grad():
            expected = model(tokens, use_cache=False).logits
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "causal.attn").write_text(spec)
                with common.working_in(folder):
                    known = {"model": model}
                    exec(block, known)
                    with warnings.catch_warnings():
                        warnings.simplefilter("error", skewer.CopyWarning)
                        got = model(tokens, use_cache=False).logits
        self.assertEqual(len(known["layers"]), 1)
        torch.testing.assert_close(got, expected, atol=1e-5, rtol=0)

    def test_jax(self):
        known = common.run_beside("botnet", shown("docs/python.md", "jax"), {**self.arrays, "jax": jax})
        np.testing.assert_array_equal(known["out"], self.layer(**self.arrays))

    def ring(self):
        whole = skewer.compile(common.example("ring", "ring.attn"), kernel="whole", N=256)
        return whole, whole.example(batch=1)

    def test_a_ring_of_pytorch(self):
        whole, arrays = self.ring()
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
        known = common.run_beside("ring", shown("docs/ring.md", "ring").replace("8192", "256"),
                                  {name: torch.from_numpy(array) for name, array in arrays.items()})
        self.addCleanup(dist.destroy_process_group)
        np.testing.assert_allclose(known["attend"].gather(known["out"]), whole(**arrays)[0], atol=2e-6)

    def test_a_ring_of_jax(self):
        whole, arrays = self.ring()
        known = common.run_beside("ring", shown("docs/ring.md", "jax_ring").replace("8192", "256"), dict(arrays))
        np.testing.assert_allclose(known["whole"], whole(**arrays)[0], atol=2e-6)
        # The examples in the module's own docstring.
        known = common.run_beside("ring", shown("docs/reference/python.md", "jax_ring").replace("8192", "256"),
                                  {**arrays, "jax": jax, "PartitionSpec": PartitionSpec})
        np.testing.assert_allclose(known["out"], whole(**arrays)[0], atol=2e-6)


if __name__ == "__main__":
    unittest.main()
