"""Tests PyTorch's uses of an operator: autocast, other types, vmap, processes, indices and masks, tracing."""

import copy
import io
import multiprocessing
import pickle
import unittest
import warnings

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


def compute(layer, given):
    return layer(*given)


class Types(unittest.TestCase):
    def test_autocast(self):
        """Operands of another type are converted, as for PyTorch's own float32 operations."""
        torch._dynamo.reset()  # programs of other tests count for the limit of recompilations
        linear, given = torch.nn.Linear(4, 4), tensors()
        module = skewer_torch.Module(CONST, values={"table": torch.randn(15, 4)})
        compiled = torch.compile(skewer_torch.op(common.TINY), fullgraph=True, backend="aot_eager")
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            x = linear(given[0])
            self.assertEqual(x.dtype, torch.bfloat16)
            for call in (skewer.compile(common.TINY), skewer_torch.op(common.TINY), compiled, module):
                out = call(x, given[1], given[2])
                self.assertEqual(out.dtype, torch.float32)
                with torch.autocast("cpu", enabled=False):
                    torch.testing.assert_close(out, call(x.float(), given[1], given[2]), atol=0, rtol=0)
            with self.assertRaises(skewer.ArgumentError):
                skewer.compile(common.TINY)(x.double(), given[1], given[2])
        with self.assertRaises(skewer.ArgumentError):
            skewer_torch.op(common.TINY)(x, given[1], given[2])

    def test_autocast_while_gradients_are_recorded(self):
        linear, given = torch.nn.Linear(4, 4), tensors()
        weight = torch.nn.Parameter(given[1])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = linear(given[0])
            self.assertTrue(x.requires_grad)
            for call in (skewer.compile(common.TINY), skewer_torch.op(common.TINY)):
                for arrays in ((x, weight, given[2]), (weight, x, given[2]), (x.detach(), weight, given[2])):
                    out = call(*arrays)
                    torch.testing.assert_close(out, call(*[array.detach().float() for array in arrays]), atol=0, rtol=0)
                    with self.assertRaisesRegex(skewer.GradientError, "a backward pass through the layer"):
                        out.sum().backward(retain_graph=True)

    def test_types_of_one_text(self):
        given = [tensor.bfloat16() for tensor in tensors()]
        op = skewer_torch.op(common.TINY, dtype=torch.bfloat16)
        torch.testing.assert_close(op(*given), skewer_torch.op(common.BFLOATS)(*given), atol=0, rtol=0)

    def test_modules_follow_their_model(self):
        for text, constants in ((CONST, 1), (common.TINY, 0)):
            model = torch.nn.Sequential(skewer_torch.Module(text))
            for convert, dtype in ((model.half, torch.float16), (model.bfloat16, torch.bfloat16), (model.float, torch.float32),
                                   (lambda: model.to(torch.float16), torch.float16), (lambda: model.to("cpu"), torch.float16)):
                convert()
                given = [tensor.to(dtype) for tensor in tensors()]
                self.assertEqual(model[0](*given).dtype, dtype)
                self.assertEqual([one.dtype for one in model.parameters()], [dtype] * constants)
                again = pickle.loads(pickle.dumps(model))
                torch.testing.assert_close(again[0](*given), model[0](*given), atol=0, rtol=0)
            self.assertIs(model.float()[0]._layer, model[0]._asked)
        model.double()
        with self.assertRaisesRegex(skewer.ArgumentError, "q: expected elements of type float32, found float64"):
            model[0](*[tensor.double() for tensor in tensors()])


class Vmap(unittest.TestCase):
    def check(self, call, places, given):
        got = torch.vmap(call, places)(*given)
        count = next(array.shape[place] for array, place in zip(given, places) if place is not None)
        for n in range(count):
            one = call(*(array if place is None else array.select(place, n) for array, place in zip(given, places)))
            torch.testing.assert_close(got[n], one, atol=2e-6, rtol=0)

    def test_batches_become_larger(self):
        op = skewer_torch.op(CONST)
        q, k, v = (torch.randn(3, 2, 8, 4) for _ in range(3))
        table = torch.randn(15, 4)
        self.check(op, (0, 0, 0, None), (q, k, v, table))
        self.check(op, (1, 0, None, None), (q.movedim(0, 1), k, v[0], table))
        # Nested vmap, and vmap of a table, which needs a call for each.
        inner = torch.vmap(op, (0, 0, 0, None))
        deep = [torch.randn(2, 3, 2, 8, 4) for _ in range(3)]
        torch.testing.assert_close(torch.vmap(inner, (0, 0, 0, None))(*deep, table)[1, 2], op(*(x[1, 2] for x in deep), table), atol=2e-6, rtol=0)
        self.check(op, (0, 0, 0, 0), (q, k, v, torch.randn(3, 15, 4)))

    def test_several_results(self):
        op = skewer_torch.op(common.example("ring", "ring.attn"), kernel="step", m=48)
        layer = skewer.compile(common.example("ring", "ring.attn"), kernel="step", m=48)
        x = [torch.from_numpy(array) for array in layer.example(batch=6).values()]
        mapped = [array.unflatten(0, (3, 2)) if array.shape[0] == 6 else array for array in x]
        places = [0 if array.shape[0] == 6 else None for array in x]
        got = torch.vmap(lambda *given: op(*given, 0, 48), tuple(places))(*mapped)
        for part, wanted in zip(got, layer(*x, k0=48)):
            torch.testing.assert_close(part.flatten(0, 1), wanted, atol=2e-6, rtol=0)


class Processes(unittest.TestCase):
    def test_operators_travel(self):
        given = tensors()
        for call in (skewer_torch.op(common.TINY), skewer.compile(common.TINY), skewer_torch.Module(common.TINY)):
            expected = call(*given)
            torch.testing.assert_close(pickle.loads(pickle.dumps(call))(*given), expected, atol=0, rtol=0)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                torch.testing.assert_close(pool.apply(compute, (call, given)), expected, atol=0, rtol=0)

    def test_models_that_hold_one(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.op = skewer_torch.op(common.TINY)

        globals()["Model"] = Model
        Model.__qualname__ = "Model"
        model, memory = Model(), io.BytesIO()
        self.assertIs(copy.deepcopy(model).op, model.op)
        torch.save(model, memory)
        memory.seek(0)
        self.assertIs(torch.load(memory, weights_only=False).op, model.op)
        # Operators of other libraries are as they were.
        with self.assertRaises(Exception):
            pickle.dumps(torch.ops.aten.sin.default)


class Operands(unittest.TestCase):
    def test_indices_of_pytorch(self):
        layer = skewer.compile(common.BUCKETS)
        x = [torch.from_numpy(array) for array in layer.example().values()]
        wide = [array.long() if array.dtype == torch.int32 else array for array in x]
        ones = [*x[:4], x[4] > 2, x[5]]
        op = skewer_torch.op(common.BUCKETS)
        for call in (layer, op, torch.compile(op, fullgraph=True, backend="aot_eager")):
            torch.testing.assert_close(call(*wide), layer(*x), atol=0, rtol=0)
            torch.testing.assert_close(call(*ones), layer(*x[:4], (x[4] > 2).int(), x[5]), atol=0, rtol=0)

    def test_empty_batches(self):
        op = skewer_torch.op(common.TINY)
        for call in (op, skewer.compile(common.TINY), torch.compile(op, fullgraph=True, backend="aot_eager")):
            with warnings.catch_warnings():
                warnings.simplefilter("error", skewer.CopyWarning)
                out = call(*tensors(0))
            self.assertEqual((out.shape, out.dtype), ((0, 8, 4), torch.float32))

    def test_a_kernel_without_operands(self):
        text = "kernel squares() -> f32[3] { return tabulate(i*i, i = 3) }"
        for call in (skewer_torch.op(text), skewer_torch.Module(text), torch.compile(skewer_torch.op(text), fullgraph=True, backend="aot_eager")):
            self.assertEqual(torch.as_tensor(call()).tolist(), [0, 1, 4])

    def test_other_default_devices_and_classes(self):
        layer, (q, k, v) = skewer.compile(common.TINY), tensors()
        torch.set_default_device("meta")
        try:
            self.assertEqual(layer(q, k, v).device.type, "cpu")
        finally:
            torch.set_default_device("cpu")

        class Own(torch.Tensor):
            pass

        self.assertIsInstance(layer(q.as_subclass(Own), k, v), torch.Tensor)

    def test_masks_of_transformers(self):
        lengths = torch.tensor([3, 5, 1])
        seen = torch.arange(5) < lengths[:, None]
        four = seen[:, None, None].expand(3, 1, 4, 5)
        for mask in (four, torch.zeros(3, 1, 4, 5).masked_fill(~four, float("-inf")), seen, seen.long()):
            got = skewer_torch.lengths_of(mask)
            self.assertEqual((got.tolist(), got.dtype), ([3, 5, 1], torch.int32))
        for mask in (four.flip(-1), torch.ones(4, 5, dtype=torch.bool).tril()[None, None]):
            with self.assertRaisesRegex(skewer.ArgumentError, "mask: expected one that hides the ends of sequences"):
                skewer_torch.lengths_of(mask)

    def test_lengths_of_tables(self):
        text = common.LENGTHS.replace("table :", "const table :")
        with self.assertRaisesRegex(skewer.ArgumentError, r"table: expected values=.*run-time length, \[2\*N - 1, 4\]"):
            skewer_torch.Module(text)
        layer = skewer.compile(text)
        x = {name: torch.from_numpy(array) for name, array in layer.example(N=20).items()}
        module = skewer_torch.Module(text, values={"table": x["table"]})
        torch.testing.assert_close(module(x["q"], x["k"], x["v"]), layer(**x), atol=0, rtol=0)


class Traced(unittest.TestCase):
    def test_a_layer_says_what_can_be(self):
        layer = skewer.compile(common.TINY)
        with self.assertRaisesRegex(Exception, "it is skewer.torch.op"):
            torch.compile(lambda q, k, v: layer(q, k, v), fullgraph=True, backend="aot_eager")(*tensors())
        # If graph breaks are allowed, the layer is called as it is.
        loose = torch.compile(lambda q, k, v: layer(q, k, v) + 1, backend="aot_eager")
        torch.testing.assert_close(loose(*tensors()), layer(*tensors()) + 1, atol=0, rtol=0)

    def test_export_with_gradients_enabled(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4))
        op = skewer_torch.op(common.TINY)

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = model

            def forward(self, q, k, v):
                return op(self.inner(q), k, v)

        whole, given = Model().eval(), tensors()
        program = torch.export.export(whole, tuple(given))
        torch.testing.assert_close(program.module()(*given), whole(*given), atol=1e-6, rtol=0)
        self.assertTrue(whole(*given).requires_grad)
        whole.requires_grad_(False)
        self.assertFalse(whole(*given).requires_grad)

    def test_frameworks_by_name(self):
        self.assertIs(skewer.torch, skewer_torch)


if __name__ == "__main__":
    unittest.main()
