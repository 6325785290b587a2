"""Tests layers whose tables are a model's own Parameters: the layer sees what PyTorch does with the model."""

import copy
import io
import unittest

import common
import safetensors.torch
import torch
import torch.nn.utils.prune
from torch import nn

import skewer
from skewer import torch as skewer_torch

TEXT = """param N = 16, heads = 2, dim = 8
size batch
kernel tied(q, k, v : f32[batch, heads, N, dim], const table : f32[2*N - 1, heads]) -> f32[batch, heads, N, dim] {
  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5 + table[j - i + N - 1, h]
  return einsum("b h i j, b h j d -> b h i d", softmax(s), v)
}
"""


class Table(nn.Module):
    """The owner of the table, if it is not the model itself."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(31, 2))


class Net(nn.Module):
    """The layer with a head after it, in one of the places where models have tables."""

    def __init__(self, where="own"):
        super().__init__()
        if where == "own":
            self.table = nn.Parameter(torch.randn(31, 2))
        elif where == "buffer":
            self.register_buffer("table", torch.randn(31, 2))
        elif where == "before":
            self.relative = Table()
        values = torch.randn(31, 2)
        if where == "after":
            relative = Table()
            values = relative.weight
        self.attend = skewer_torch.Module(TEXT, values={"table": self.now(where) if where != "after" else values})
        if where == "after":
            self.relative = relative
        self.where = where

    def now(self, where=None):
        return self.table if (where or self.where) in ("own", "buffer") else self.relative.weight

    def key(self):
        return "table" if self.where in ("own", "buffer") else "relative.weight"

    def forward(self, q, k, v):
        return self.attend(q, k, v)

    def right(self, q, k, v):
        i = torch.arange(16)
        bias = self.now()[i[None] - i[:, None] + 15].permute(2, 0, 1)
        return ((q @ k.mT) * 8 ** -0.5 + bias).softmax(-1) @ v


class Tied(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.given = torch.randn(3, 1, 2, 16, 8).unbind()

    def expect_right(self, net, call=None):
        with torch.no_grad():
            for _ in range(2):
                torch.testing.assert_close((net if call is None else call)(*self.given), net.right(*self.given), atol=5e-6, rtol=0)

    def each(self):
        for where in ("own", "before", "after", "buffer"):
            for is_called in (False, True):
                with self.subTest(where=where, is_called=is_called):
                    net = Net(where)
                    if is_called:
                        self.expect_right(net)
                    yield net

    def test_written_to(self):
        for net in self.each():
            with torch.no_grad():
                net.now().mul_(3)
            self.expect_right(net)
            net.share_memory()
            with torch.no_grad():
                net.now().mul_(2)
            self.expect_right(net)

    def test_replaced(self):
        for net in self.each():
            net.now().data = torch.randn(31, 2)
            self.expect_right(net)
            owner = net if net.where in ("own", "buffer") else net.relative
            new = torch.randn(31, 2)
            setattr(owner, net.key().rpartition(".")[2], new if net.where == "buffer" else nn.Parameter(new))
            self.expect_right(net)

    def test_copies(self):
        for net in self.each():
            copied = copy.deepcopy(net)
            with torch.no_grad():
                copied.now().mul_(3)
            self.expect_right(copied)
            self.expect_right(net)
            other = copy.deepcopy(net)
            other.load_state_dict({net.key(): torch.randn(31, 2)}, assign=True)
            self.expect_right(other)
            alone = copy.deepcopy(net.attend)
            with torch.no_grad():
                alone.table.zero_()
            self.expect_right(net)

    def test_other_types(self):
        for net in self.each():
            net.double()
            net.float()
            with torch.no_grad():
                net.now().mul_(3)
            self.expect_right(net)
            net.bfloat16()
            half = [tensor.bfloat16() for tensor in self.given]
            with torch.no_grad():
                got = net(*half)
                self.assertEqual(got.dtype, torch.bfloat16)
                torch.testing.assert_close(got, net.right(*half), atol=0.05, rtol=0)
            net.float()
            self.expect_right(net)

    def test_state_dicts(self):
        for net in self.each():
            self.assertEqual(list(net.state_dict()), [net.key()])
            self.assertEqual(len(list(net.parameters())), int(net.where != "buffer"))
            net.load_state_dict({net.key(): torch.randn(31, 2)})
            self.expect_right(net)
            net.load_state_dict({net.key(): torch.randn(31, 2)}, assign=True)
            self.expect_right(net)
            saved = safetensors.torch.save(net.state_dict())
            other = Net(net.where)
            other.load_state_dict(safetensors.torch.load(saved))
            torch.testing.assert_close(other(*self.given), net(*self.given), atol=0, rtol=0)
            # A module by itself has what it needs.
            self.assertEqual(list(net.attend.state_dict()), [] if net.where == "buffer" else ["table"])

    def test_without_an_owner(self):
        for values in ({"table": nn.Parameter(torch.randn(31, 2))}, {"table": torch.randn(31, 2)}, None):
            net = nn.Sequential(skewer_torch.Module(TEXT, values=values))
            self.assertEqual(list(net.state_dict()), ["0.table"])
            with self.assertRaisesRegex(RuntimeError, "Missing key"):
                net.load_state_dict({})

    def test_the_meta_device(self):
        for net in self.each():
            net.to("meta")
            net.to_empty(device="cpu")
            with torch.no_grad():
                net.now().copy_(torch.randn(31, 2))
            self.expect_right(net)
        with torch.device("meta"):
            net = Net()
        net.load_state_dict({"table": torch.randn(31, 2)}, assign=True)
        self.expect_right(net)

    def test_saved_whole(self):
        for net in self.each():
            memory = io.BytesIO()
            torch.save(net, memory)
            memory.seek(0)
            net = torch.load(memory, weights_only=False)
            with torch.no_grad():
                net.now().mul_(3)
            self.expect_right(net)
            net.load_state_dict({net.key(): torch.randn(31, 2)}, assign=True)
            self.expect_right(net)

    def test_an_optimizer(self):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
        net.table.grad = torch.randn(31, 2)
        optimizer.step()
        self.expect_right(net)

    def test_compiled_and_functional(self):
        for where in ("own", "before", "buffer"):
            net = Net(where).requires_grad_(False)
            compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
            self.expect_right(net, compiled)
            net.now().mul_(3)
            self.expect_right(net, compiled)
            net.load_state_dict({net.key(): torch.randn(31, 2)}, assign=True)
            self.expect_right(net, compiled)
            other = Net(where).requires_grad_(False)
            got = torch.func.functional_call(net, {net.key(): other.now()}, self.given)
            torch.testing.assert_close(got, other.right(*self.given), atol=5e-6, rtol=0)
            self.expect_right(net)
            program = torch.export.export(net, tuple(self.given))
            torch.testing.assert_close(program.module()(*self.given), net.right(*self.given), atol=5e-6, rtol=0)

    def test_computed_by_its_owner(self):
        """An owner begins to compute its table from other parameters, and stops again."""
        class Tripled(nn.Module):
            def forward(self, table):
                return 3 * table

        for net in self.each():
            owner, name = (net, "table") if net.where in ("own", "buffer") else (net.relative, "weight")
            nn.utils.parametrize.register_parametrization(owner, name, Tripled())
            self.expect_right(net)
            with torch.no_grad():
                owner.parametrizations[name].original.mul_(2)
            self.expect_right(net)
            self.expect_right(copy.deepcopy(net))
            self.assertFalse([key for key in net.state_dict() if key.startswith("attend")])
            net.load_state_dict(net.state_dict())
            self.expect_right(net)
            nn.utils.parametrize.remove_parametrizations(owner, name)
            self.expect_right(net)
            with torch.no_grad():
                net.now().mul_(3)
            self.expect_right(net)
            if net.where != "buffer":
                nn.utils.prune.random_unstructured(owner, name, 0.5)
                self.expect_right(net)

    def test_what_is_copied_is_said(self):
        weight = torch.randn(2, 31)
        with self.assertWarnsRegex(skewer.CopyWarning, "table is copied, and does not follow") as said:
            skewer_torch.Module(TEXT, values={"table": weight.T})
        self.assertEqual(said.filename, __file__)

    def test_shown(self):
        self.assertEqual(repr(skewer_torch.Module(TEXT, threads=2)), "Module(tied(q, k, v; table), f32, threads=2)")


if __name__ == "__main__":
    unittest.main()
