"""Layers in PyTorch: tensors, operators, compiled and exported programs, modules, gradients."""

import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import common
import torch

import skewer
from skewer import torch as skewer_torch

CONST = """param N = 8, d = 4
size batch
kernel relative(q, k, v : f32[batch, N, d], const table : f32[2*N - 1, d]) -> f32[batch, N, d] {
  s = einsum("b i d, b j d -> b i j", q, k) + einsum("b i d, (j - i + N - 1) d -> b i j", q, table)
  return einsum("b i j, b j d -> b i d", softmax(s), v)
}
"""


def tensors(batch=2, seed=0):
    return [torch.from_numpy(array) for array in common.operands(batch=batch, seed=seed).values()]


def expected(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


class Tensors(unittest.TestCase):
    def test_results_are_tensors(self):
        layer = skewer.compile(common.TINY)
        out = layer(*tensors())
        self.assertIsInstance(out, torch.Tensor)
        torch.testing.assert_close(out, expected(*tensors()), atol=1e-6, rtol=0)
        into = torch.empty_like(out)
        self.assertIs(layer(*tensors(), out=into), into)
        torch.testing.assert_close(into, out, atol=0, rtol=0)

    def test_views(self):
        layer = skewer.compile(common.TINY)
        views = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in tensors()]
        with self.assertWarns(skewer.CopyWarning):
            torch.testing.assert_close(layer(*views), layer(*tensors()), atol=0, rtol=0)
        offset = [torch.cat([tensor.new_zeros(1, 8, 4), tensor])[1:] for tensor in tensors()]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.testing.assert_close(layer(*offset), layer(*tensors()), atol=0, rtol=0)

    def test_bfloat16(self):
        layer = skewer.compile(common.BFLOATS)
        halves = [tensor.bfloat16() for tensor in tensors()]
        out = layer(*halves)
        self.assertEqual(out.dtype, torch.bfloat16)
        torch.testing.assert_close(out.float(), expected(*(half.float() for half in halves)), atol=0.02, rtol=0)

    def test_refused(self):
        layer = skewer.compile(common.TINY)
        q, k, v = tensors()
        for bad, found in ((q.double(), "float64"), (q.clone().requires_grad_(), "requires_grad=True"),
                           (q.to("meta"), ""), (q[:, :7], "7"), (q[:0], "0")):
            with self.assertRaises(skewer.ArgumentError) as wrong:
                layer(bad, k, v)
            self.assertIn(found, wrong.exception.found)
        with self.assertRaises(skewer.GradientError):
            layer(q, k.clone().requires_grad_(), v)


class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.op = staticmethod(skewer_torch.op(common.TINY))

    def test_call(self):
        torch.testing.assert_close(self.op(*tensors()), expected(*tensors()), atol=1e-6, rtol=0)
        self.assertIs(skewer_torch.op(skewer.compile(common.TINY)), self.op)
        self.assertIsNot(skewer_torch.op(common.TINY, N=9), self.op)

    def test_opcheck(self):
        for batch in (1, 3):
            result = torch.library.opcheck(self.op, tuple(tensors(batch)))
            self.assertEqual(set(result.values()), {"SUCCESS"})

    def test_compile_fullgraph(self):
        @torch.compile(fullgraph=True, backend="aot_eager")
        def model(q, k, v):
            return self.op(q * 2, k, v) + 1

        for batch in (2, 3, 5):  # the second one makes the batch a symbol
            q, k, v = tensors(batch)
            torch.testing.assert_close(model(q, k, v), expected(q * 2, k, v) + 1, atol=1e-5, rtol=0)

    def test_the_default_backend(self):
        model = torch.compile(lambda q, k, v: self.op(q * 2, k, v) + 1, fullgraph=True)
        q, k, v = tensors()
        torch.testing.assert_close(model(q, k, v), expected(q * 2, k, v) + 1, atol=1e-5, rtol=0)

    def test_strides_in_a_compiled_program(self):
        @torch.compile(fullgraph=True, backend="aot_eager")
        def model(q, k, v):
            return self.op(q.transpose(1, 2).contiguous().transpose(1, 2), k, v)

        torch.testing.assert_close(model(*tensors()), expected(*tensors()), atol=1e-6, rtol=0)

    def test_export(self):
        class Model(torch.nn.Module):
            def forward(model, q, k, v):
                return self.op(q, k, v) * 3

        batch = torch.export.Dim("batch", min=1, max=64)
        program = torch.export.export(Model(), tuple(tensors(4)), dynamic_shapes={name: {0: batch} for name in "qkv"})
        torch.testing.assert_close(program.module()(*tensors(7)), expected(*tensors(7)) * 3, atol=1e-5, rtol=0)
        # Another process that asks for the layer finds its operator.
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "program.pt2")
            torch.export.save(program, path)
            code = ("import sys, common, torch\nfrom skewer import torch as skewer_torch\n"
                    "skewer_torch.op(common.TINY)\nprogram = torch.export.load(sys.argv[1])\n"
                    "x = [torch.from_numpy(a) for a in common.operands(batch=3).values()]\n"
                    "assert program.module()(*x).shape == (3, 8, 4)\n")
            subprocess.run([sys.executable, "-c", code, path], cwd=Path(__file__).parents[1], check=True)

    def test_gradients_are_refused(self):
        q, k, v = tensors()
        q.requires_grad_()
        with self.assertRaises(skewer.GradientError) as wrong:
            self.op(q, k, v)
        self.assertEqual(wrong.exception.argument, "q")
        with torch.no_grad():
            torch.testing.assert_close(self.op(q, k, v), expected(q, k, v), atol=1e-6, rtol=0)

    def test_traces_check_shapes(self):
        q, k, v = tensors()
        with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fakes = [mode.from_tensor(tensor) for tensor in (q, k, v)]
            self.assertEqual(self.op(*fakes).shape, (2, 8, 4))
            with self.assertRaises(Exception) as wrong:
                self.op(fakes[0][:, :7], *fakes[1:])
            self.assertIn("expected 8, found 7", str(wrong.exception))

    def test_several_results_and_origins(self):
        ring = Path(__file__).parents[4] / "examples" / "ring" / "ring.attn"
        layer = skewer.compile(ring, kernel="step", m=48)
        operator = skewer_torch.op(layer)
        x = [torch.from_numpy(array) for array in layer.example(batch=1).values()]
        for got, wanted in zip(operator(*x, 0, 48), layer(*x, k0=48)):
            torch.testing.assert_close(got, wanted, atol=0, rtol=0)
        torch.library.opcheck(operator, tuple(x))


class Modules(unittest.TestCase):
    def test_const_operands_are_parameters(self):
        table = torch.randn(15, 4)
        module = skewer_torch.Module(CONST, values={"table": table})
        self.assertEqual([name for name, _ in module.named_parameters()], ["table"])
        layer = skewer.compile(CONST)
        torch.testing.assert_close(module(*tensors()), layer(*tensors(), table=table), atol=0, rtol=0)
        q, k, v = tensors()
        torch.testing.assert_close(module(k=k, q=q, v=v), module(q, k, v), atol=0, rtol=0)
        other = skewer_torch.Module(CONST)
        other.load_state_dict(module.state_dict())
        torch.testing.assert_close(other(q, k, v), module(q, k, v), atol=0, rtol=0)
        with self.assertRaises(TypeError):
            module(q, k)
        with self.assertRaises(skewer.ArgumentError):
            skewer_torch.Module(CONST, values={"table": torch.randn(14, 4)})
        with self.assertRaises(skewer.ArgumentError):
            skewer_torch.Module(CONST, values={"q": q})
        compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(q, k, v), module(q, k, v), atol=0, rtol=0)


if __name__ == "__main__":
    unittest.main()
