"""Tests of layers in PyTorch: tensors, operators, compiled and exported programs, modules, gradients."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
import weakref
from pathlib import Path

import common
import torch
import torch.nn.utils.parametrize

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
        with self.assertWarns(skewer.CopyWarning) as said:
            torch.testing.assert_close(layer(*views), layer(*tensors()), atol=0, rtol=0)
        self.assertEqual(said.filename, __file__)
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

    def test_float8(self):
        layer = skewer.compile("kernel f(x : f8e4m3[16, 16] ~ 20, s : f32[16]) -> f32[16, 16] { return x*s }")
        bits, s = torch.arange(256, dtype=torch.uint8).reshape(16, 16), torch.ones(16)
        x = bits.view(torch.float8_e4m3fn)
        for given in (x, bits, x.T.contiguous().T):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", skewer.CopyWarning)
                out = layer(given, s)
            self.assertIsInstance(out, torch.Tensor)
            torch.testing.assert_close(out, x.float(), atol=0, rtol=0, equal_nan=True)
        torch.testing.assert_close(torch.from_numpy(layer.reference(x, s)), x.double(), atol=0, rtol=0, equal_nan=True)
        op = skewer_torch.op(layer)
        torch.testing.assert_close(torch.compile(lambda x, s: op(x, s) + 1, fullgraph=True)(x, s), x.float() + 1, equal_nan=True)
        for wrong in (x.float(), x.bfloat16(), bits.to(torch.int8), x.float().to(torch.float8_e5m2)):
            with self.assertRaisesRegex(skewer.ArgumentError, "x: expected .*float8_e4m3fn"):
                layer(wrong, s)

    def test_numbers_that_are_negated_as_they_are_read(self):
        """z.conj().imag is negated when it is read: DLPack gives the place of the numbers, and not that their signs are wrong."""
        layer, (q, k, v) = skewer.compile(common.TINY), tensors()
        negated = torch.complex(q, -q).conj().imag
        self.assertTrue(negated.is_neg())
        torch.testing.assert_close(layer(negated.contiguous(), k, v), layer(q, k, v), atol=0, rtol=0)
        for given in (torch._neg_view(-q), torch._neg_view(-q.transpose(1, 2).contiguous().transpose(1, 2))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.testing.assert_close(layer(given, k, v), layer(q, k, v), atol=0, rtol=0)
        with self.assertRaisesRegex(skewer.ArgumentError, "out: expected a tensor that holds its numbers"):
            layer(q, k, v, out=torch._neg_view(torch.empty_like(q)))

    def test_what_is_no_memory_of_the_processor(self):
        layer, (q, k, v) = skewer.compile(common.TINY), tensors()
        for bad, found in ((q.to("meta"), "Tensor on device 'meta'"), (q.to_sparse(), "Tensor of layout torch.sparse_coo")):
            with self.assertRaises(skewer.ArgumentError) as wrong:
                layer(q, bad, v)
            self.assertEqual((wrong.exception.argument, wrong.exception.found), ("k", "an object of type " + found))

    def test_refused(self):
        layer = skewer.compile(common.TINY)
        q, k, v = tensors()
        for bad, found in ((q.double(), "float64"), (q.to("meta"), ""), (q[:, :7], "7"),
                           (q.bfloat16(), "bfloat16 (convert it, or compile the layer for it: dtype='bfloat16')")):
            with self.assertRaises(skewer.ArgumentError) as wrong:
                layer(bad, k, v)
            self.assertIn(found, wrong.exception.found)
        with self.assertRaises(skewer.GradientError):  # as for PyTorch's own functions
            layer(q, k.clone().requires_grad_(), v, out=torch.empty_like(q))


class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.op = staticmethod(skewer_torch.op(common.TINY))

    def test_call(self):
        torch.testing.assert_close(self.op(*tensors()), expected(*tensors()), atol=1e-6, rtol=0)
        self.assertIs(skewer_torch.op(skewer.compile(common.TINY)), self.op)
        self.assertIsNot(skewer_torch.op(common.TINY, N=9), self.op)

    def test_indices_out_of_range(self):
        layer = skewer.compile(common.BUCKETS)
        x = [torch.from_numpy(array) for array in layer.example().values()]
        op = skewer_torch.op(layer)
        compiled = torch.compile(op, fullgraph=True, backend="aot_eager")
        for call in (layer, op, compiled):
            torch.testing.assert_close(call(*x), layer(*x), rtol=0, atol=0)
            bad = [*x[:5], x[5].clone()]
            bad[5][2, 7] = 5
            with self.assertRaisesRegex(skewer.KernelError, r"shift: expected indices in -1\.\.1, found 5 at \[2, 7\]"):
                call(*bad)

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

    def test_threads_are_those_of_torch(self):
        """In a process of its own: a layer uses as many threads as PyTorch, has the same bits on one and two, and works in the
        child of a fork, which has none of OpenMP's threads."""
        code = ("import os, sys, common, torch\nfrom skewer import _core, torch as skewer_torch\n"
                "op = skewer_torch.op(common.TINY)\n"
                "x = [torch.from_numpy(a) for a in common.operands(batch=64).values()]\n"
                "torch.set_num_threads(1)\none = op(*x)\ntorch.set_num_threads(2)\n"
                "torch.randn(512, 512) @ torch.randn(512, 512)\nthreads = lambda: len(os.listdir('/proc/self/task'))\n"
                "before = threads()\nassert torch.equal(op(*x), one)\nassert threads() == before, (before, threads())\n"
                "assert torch.equal(skewer_torch.op(common.TINY, N=8, threads=2)(*x), one)\n"
                "child = os.fork()\n"
                "if not child:\n    os._exit(0 if torch.equal(op(*x), one) else 5)\n"
                "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n")
        subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True, timeout=120)

    def test_gradients_are_refused_by_the_backward_pass(self):
        q, k, v = tensors()
        k.requires_grad_()
        for call in (self.op, skewer.compile(common.TINY), torch.compile(self.op, fullgraph=True, backend="aot_eager")):
            out = call(q, k, v)
            torch.testing.assert_close(out.detach(), expected(q, k, v).detach(), atol=1e-6, rtol=0)
            with self.assertRaises(skewer.GradientError) as wrong:
                out.sum().backward()
            self.assertEqual((wrong.exception.argument, wrong.exception.found), ("k", "a backward pass through the layer"))
            with torch.no_grad():
                self.assertFalse(call(q, k, v).requires_grad)
        for transform in (torch.func.grad(lambda k: self.op(q, k, v).sum()), lambda k: torch.func.vjp(lambda k: self.op(q, k, v), k)[1](q)):
            with self.assertRaises(skewer.GradientError):
                transform(k.detach())

    def test_derivatives_forward_are_refused(self):
        """A result without a tangent would mean a derivative of 0."""
        q, k, v = tensors()
        layer = skewer.compile(common.TINY)
        for call in (self.op, layer, lambda *x: layer(*x, out=torch.empty_like(q))):
            with self.assertRaises(skewer.GradientError) as wrong:
                torch.func.jvp(lambda k: call(q, k, v), (k,), (k,))
            self.assertEqual((wrong.exception.argument, wrong.exception.found), ("k", "a tensor with a tangent"))
            with torch.autograd.forward_ad.dual_level():  # a tangent of something else
                torch.testing.assert_close(call(q, k, v), expected(q, k, v), atol=1e-6, rtol=0)

    def test_targets_have_operators_of_their_own(self):
        other = skewer_torch.op(common.TINY, target="x86-64-v2")
        self.assertIsNot(other, self.op)
        self.assertIs(skewer_torch.op(common.TINY, target="x86-64-v2"), other)
        torch.testing.assert_close(other(*tensors()), self.op(*tensors()), atol=1e-6, rtol=0)

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


class Prepared(unittest.TestCase):
    """The data that follows from parameters is made once, and is never used for other parameters."""

    def setUp(self):
        self.module = skewer_torch.Module(CONST, values={"table": torch.randn(15, 4)})
        self.layer = skewer.compile(CONST)

    def made(self, module=None):
        return (module or self.module)._held.constants._made[1]

    def check(self, call=None):
        """Checks that the result is the one of the present parameter, and that the prepared data is kept for the next call."""
        module, given = self.module, tensors(seed=3)
        call = module if call is None else call
        for _ in range(2):
            torch.testing.assert_close(call(*given), self.layer(*given, table=module.table.detach().clone()), atol=0,
                                       rtol=0)
        made = self.made()
        self.assertGreater(made.bytes, 0)
        call(*given)
        self.assertIs(self.made(), made)
        return made

    def test_written_to(self):
        first = self.check()
        with torch.no_grad():
            self.module.table.add_(1)
        second = self.check()
        self.assertIsNot(first, second)
        with torch.inference_mode():
            self.module.table.mul_(2)
            self.assertIsNot(self.check(), second)
        self.module.load_state_dict({"table": torch.randn(15, 4)})
        self.check()

    def test_replaced(self):
        first = self.check()
        self.module.table = torch.nn.Parameter(torch.randn(15, 4), requires_grad=False)
        second = self.check()
        self.assertIsNot(first, second)
        self.module.load_state_dict({"table": torch.randn(15, 4)}, assign=True)
        self.assertIsNot(self.check(), second)
        self.module.table.data = torch.randn(15, 4)
        self.check()
        self.module.double().float()
        self.check()

    def test_written_to_behind_the_counter(self):
        first = self.check()
        self.module.table.data.add_(1)
        self.module.forget()
        self.assertIsNot(self.check(), first)

    def test_compiled(self):
        compiled = torch.compile(self.module, fullgraph=True, backend="aot_eager")
        first = self.check(compiled)
        with torch.no_grad():
            self.module.table.add_(1)
        self.assertIsNot(self.check(compiled), first)
        # The program of another parameter: it no longer finds the one of the last call that was not traced.
        self.module.table = torch.nn.Parameter(torch.randn(15, 4), requires_grad=False)
        given = tensors(seed=4)
        torch.testing.assert_close(compiled(*given), self.layer(*given, table=self.module.table.detach()), atol=0, rtol=0)
        self.module(*given)
        self.check(compiled)

    def test_views_that_begin_there(self):
        text = CONST.replace("2*N - 1, d]", "2*N - 1, 2*N - 1]").replace("q, table)", "q, table[:, :d])")
        layer, table = skewer.compile(text), torch.randn(15, 15)
        module, given = skewer_torch.Module(text, values={"table": table}), tensors()
        operator = skewer_torch.op(text)
        torch.testing.assert_close(module(*given), layer(*given, table=table), atol=0, rtol=0)
        turned = operator(*given, module.table.T)
        torch.testing.assert_close(turned, layer(*given, table=table.T.contiguous()), atol=0, rtol=0)
        self.assertGreater((turned - module(*given)).abs().max(), 1e-3)

    def test_shared_and_copied(self):
        table = torch.nn.Parameter(torch.randn(15, 4))
        module, other = (skewer_torch.Module(CONST, values={"table": table}) for _ in range(2))
        given = tensors()
        module(*given), other(*given)
        self.assertEqual(module.table.data_ptr(), table.data_ptr())
        self.assertIs(self.made(module), self.made(other))
        with torch.no_grad():
            table.add_(1)  # the owner's
        torch.testing.assert_close(module(*given), self.layer(*given, table=table.detach()), atol=0, rtol=0)
        copied = copy.deepcopy(module)
        with torch.no_grad():
            copied.table.zero_()
        torch.testing.assert_close(copied(*given), self.layer(*given, table=torch.zeros(15, 4)), atol=0, rtol=0)
        torch.testing.assert_close(module(*given), self.layer(*given, table=table.detach()), atol=0, rtol=0)

    def test_parametrized(self):
        class Twice(torch.nn.Module):
            def forward(self, x):
                return 2 * x

        torch.nn.utils.parametrize.register_parametrization(self.module, "table", Twice())
        given = tensors()
        for _ in range(2):
            torch.testing.assert_close(self.module(*given), self.layer(*given, table=self.module.table), atol=0, rtol=0)
            with torch.no_grad():
                self.module.parametrizations.table.original.add_(1)

    def test_saved(self):
        given = tensors()
        expected = self.module(*given)
        path = os.path.join(tempfile.mkdtemp(), "module.pt")
        state = self.module.state_dict()
        self.assertEqual(list(state), ["table"])
        torch.save(state, path)
        other = skewer_torch.Module(CONST)
        other.load_state_dict(torch.load(path))
        torch.testing.assert_close(other(*given), expected, atol=0, rtol=0)
        self.assertIsNone(pickle.loads(pickle.dumps(self.module._held)).constants)

    def test_saved_whole(self):
        """A process that has not compiled the layer reads a module that torch.save wrote."""
        given = tensors()
        path = os.path.join(tempfile.mkdtemp(), "module.pt")
        torch.save((self.module, self.module(*given)), path)
        code = ("import sys, common, torch\nmodule, expected = torch.load(sys.argv[1], weights_only=False)\n"
                "x = [torch.from_numpy(a) for a in common.operands().values()]\n"
                "assert torch.equal(module(*x), expected)\nassert module._held.constants._made[1].bytes > 0\n"
                "assert torch.equal(torch.compile(module, fullgraph=True, backend='aot_eager')(*x), expected)\n")
        subprocess.run([sys.executable, "-c", code, path], cwd=Path(__file__).parents[1], check=True)

    def test_names_that_modules_have(self):
        text = CONST.replace("table", "training")
        with self.assertRaisesRegex(skewer.ArgumentError, "training: expected a name of a const operand that torch.nn.Module"):
            skewer_torch.Module(text)

    def test_not_kept_longer_than_the_module(self):
        module = skewer_torch.Module(CONST)
        module(*tensors())
        held = weakref.ref(module._held.constants)
        del module
        gc.collect()
        self.assertIsNone(held())

    def test_where_changes_cannot_be_seen(self):
        with torch.inference_mode():
            self.module.table = torch.nn.Parameter(torch.randn(15, 4), requires_grad=False)
            given = tensors()
            for _ in range(2):
                torch.testing.assert_close(self.module(*given), self.layer(*given, table=self.module.table), atol=0, rtol=0)
                self.module.table.add_(1)
        self.assertIsNone(self.module._held.constants)


if __name__ == "__main__":
    unittest.main()
