"""Tests attention over a sequence that processes share: the result of one process, the same bits, and errors in time."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import common
import numpy as np
import torch

import skewer
from skewer import ring

sys.path.insert(0, str(Path(__file__).parent))
import ring_process  # noqa: E402


def in_processes(ranks, what, causal=True, others=False):
    """Starts the processes. Returns their exit statuses, their outputs and their results."""
    with tempfile.TemporaryDirectory() as folder:
        started = [subprocess.Popen([sys.executable, ring_process.__file__, str(rank), str(ranks), folder, what,
                                     "causal" if causal else "all"], stdout=subprocess.PIPE, text=True,
                                    stderr=subprocess.DEVNULL if what != "compute" else None)
                   for rank in range(ranks)]
        try:
            texts = [one.communicate(timeout=120)[0] if rank != 1 or not others else ""
                     for rank, one in enumerate(started)]
        finally:
            for one in started:
                one.kill()
                one.wait()
                one.stdout.close()
        arrays = [dict(np.load(path)) for path in sorted(Path(folder).glob("*.npz"))]
        return [one.returncode for one in started], texts, arrays


class Placed(unittest.TestCase):
    def test_every_rank_has_as_much_to_do(self):
        placement = ring.Placement(96, 4, causal=True)
        self.assertEqual(sorted(np.concatenate([placement.positions(rank) for rank in range(4)])), list(range(96)))
        for step in range(4):
            counts = {len(placement.pairs(rank, placement.source(rank, step))) for rank in range(4)}
            self.assertEqual(counts, {3 if step == 0 else 2})
        done = {(pair.q0, pair.k0) for rank in range(4) for source in range(4)
                for pair in placement.pairs(rank, source)}
        self.assertEqual(done, {(12 * i, 12 * j) for i in range(8) for j in range(i + 1)})
        self.assertEqual({len(ring.Placement(96, 4, causal=False).pairs(rank, 2)) for rank in range(4)}, {1})

    def test_order(self):
        placement = ring.Placement(16, 2, causal=True)
        placed = np.concatenate([placement.positions(rank) for rank in range(2)])
        np.testing.assert_array_equal(placed[placement.order()], np.arange(16))

    def test_lengths_that_do_not_divide(self):
        for length, ranks, causal in ((96, 5, True), (4, 4, True), (95, 2, False), (0, 1, False)):
            with self.assertRaises(skewer.ArgumentError):
                ring.Placement(length, ranks, causal)


class OneProcess(unittest.TestCase):
    def test_is_the_whole_layer(self):
        given = ring_process.operands()
        whole = skewer.compile(ring_process.SPEC, kernel="whole", N=ring_process.N)(**given)
        for got, wanted in zip(ring.Ring(ring_process.SPEC, ring_process.N)(**given), whole):
            self.assertLess((got - wanted).abs().max(), 2e-6 * wanted.abs().max())

    def test_compiled_for_a_gpu_too(self):
        given = ring_process.operands()
        attend = ring.Ring(ring_process.SPEC, ring_process.N, target="x86-64-v2,sm_80")
        whole = skewer.compile(ring_process.SPEC, kernel="whole", N=ring_process.N)(**given)
        for got, wanted in zip(attend(**given), whole):
            self.assertLess((got - wanted).abs().max(), 2e-6 * wanted.abs().max())
        with self.assertRaises(skewer.ArgumentError) as wrong:
            attend(**{**given, "v": given["v"].to("meta")})
        self.assertEqual((wrong.exception.argument, wrong.exception.expected, wrong.exception.found),
                         ("v", "memory of one device that the layer was compiled for (cpu, cuda)", "meta"))

    def test_refused(self):
        given = ring_process.operands()
        attend = ring.Ring(ring_process.SPEC, ring_process.N)
        for bad in ({"q": given["q"][:, :, :90]}, {"extra": given["q"]}, {"table": given["table"][1:]},
                    {"k": given["k"].double()}, {"v": given["v"].to("meta")}):
            with self.assertRaises(skewer.ArgumentError):
                attend(**{**given, **bad})
        out, lse = attend(**{**given, "q": given["q"].clone().requires_grad_()})
        torch.testing.assert_close(out.detach(), attend(**given)[0], atol=0, rtol=0)
        for result in (out, lse):
            with self.assertRaises(skewer.GradientError) as wrong:
                result.sum().backward(retain_graph=True)
            self.assertEqual(wrong.exception.argument, "q")
        for options in ({"step": "whole"}, {"join": "step"}, {"keys": {"k": -2, "w": -2}}, {"timeout": 0}):
            with self.assertRaises(skewer.ArgumentError):
                ring.Ring(ring_process.SPEC, ring_process.N, **options)


class Processes(unittest.TestCase):
    def compare(self, ranks, causal):
        given = ring_process.operands()
        statuses, _, arrays = in_processes(ranks, "compute", causal)
        self.assertEqual(statuses, [0] * ranks)
        self.assertEqual(len(arrays), ranks)
        whole = skewer.compile(ring_process.SPEC, kernel="whole", N=ring_process.N)(**given)
        for one in arrays:
            self.assertTrue(one["same"])
            for got, wanted in zip((one["out"], one["lse"]), whole):
                self.assertLess(np.abs(got - wanted.numpy()).max(), 2e-6 * float(wanted.abs().max()))
        return arrays[0]

    def test_two(self):
        first = self.compare(2, True)
        again = self.compare(2, True)  # other processes, the same bits
        np.testing.assert_array_equal(first["out"], again["out"])
        np.testing.assert_array_equal(first["lse"], again["lse"])

    def test_four(self):
        self.compare(4, True)

    def test_without_zigzag(self):
        self.compare(2, False)

    def failed(self, ranks, what):
        """Returns the type, seconds and text of the errors of the other ranks after rank 1 is gone. None of them may hang."""
        statuses, texts, _ = in_processes(ranks, what, others=True)
        said = [text.split(None, 2) for rank, text in enumerate(texts) if rank != 1]
        self.assertEqual([statuses[rank] for rank in range(ranks) if rank != 1], [3] * (ranks - 1), texts)
        return said

    def test_a_process_that_dies(self):
        for kind, seconds, text in self.failed(4, "die"):
            self.assertEqual(kind, "RingError")
            self.assertLess(float(seconds), ring_process.TIMEOUT + 3)
            self.assertIn("did not arrive", text)

    def test_a_process_that_hangs(self):
        for what in ("hang", "late"):  # the group's time limit, the ring's own
            for kind, seconds, text in self.failed(2, what):
                self.assertEqual(kind, "RingError")
                self.assertGreater(float(seconds), ring_process.TIMEOUT - 1)
                self.assertLess(float(seconds), ring_process.TIMEOUT + 3)

    def test_operands_that_change_on_one_rank(self):
        """An operand changes on one rank at a later call: all ranks get an error, and at once."""
        for ranks, what in ((2, "batch"), (4, "batch"), (2, "type"), (4, "share"), (2, "table")):
            statuses, texts, _ = in_processes(ranks, what)
            self.assertEqual(statuses, [3] * ranks)
            for rank, text in enumerate(texts):
                kind, seconds, said = text.split(None, 2)
                self.assertEqual(kind, "ArgumentError", text)
                self.assertLess(float(seconds), ring_process.TIMEOUT - 1)
                if what != "share" or rank != 1:
                    self.assertIn("on all ranks the same", said)
                    self.assertIn("found on rank", said)
                else:
                    self.assertIn("expected 48 positions" if ranks == 2 else "expected 24 positions", said)


class Errors(unittest.TestCase):
    def test_says_who(self):
        error = ring.RingError(0, 4, 2, "Connection closed")
        self.assertIsInstance(error, skewer.SkewerError)
        self.assertEqual((error.sender, error.receiver, error.step), (3, 1, 2))
        self.assertTrue(common.TINY and torch.is_grad_enabled())


if __name__ == "__main__":
    unittest.main()
