"""Tests attention over a sequence that devices share, under shard_map: the whole layer's result, with the same bits each run."""

import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import common
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

import skewer
from skewer import jax_ring

SPEC = Path(__file__).parents[4] / "examples" / "ring" / "ring.attn"
N = 96
PART = PartitionSpec(None, None, "sequence")


def sharded(attend, ranks):
    """Returns the ring as a function of placed arrays."""
    mesh = Mesh(np.array(jax.devices()[:ranks]), ("sequence",))
    return jax.jit(jax.shard_map(lambda q, k, v, table: attend(q=q, k=k, v=v, table=table), mesh=mesh,
                                 in_specs=(PART, PART, PART, PartitionSpec()), out_specs=(PART, PART)))


class Rings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        assert common.TINY  # gives the test a cache of its own
        cls.layer = skewer.compile(SPEC, kernel="whole", N=N)
        cls.given = {name: jnp.asarray(array) for name, array in cls.layer.example(batch=2).items()}
        cls.whole = cls.layer(**cls.given)

    def run_ring(self, ranks, causal):
        attend = jax_ring.Ring(SPEC, N, ranks=ranks, axis_name="sequence", causal=causal)
        call = sharded(attend, ranks)
        placed = [attend.place(self.given[name]) for name in "qkv"]
        got, again = (call(*placed, self.given["table"]) for _ in range(2))
        for axis, one, other, wanted in zip((-2, -1), got, again, self.whole):
            np.testing.assert_array_equal(one, other)
            error = jnp.abs(attend.restore(one, axis) - wanted).max()
            self.assertLess(error, 2e-6 * jnp.abs(wanted).max())
        return call.lower(*placed, self.given["table"]).as_text()

    @staticmethod
    def calls(text):
        return text.count("@skewer_call")

    def test_two(self):
        self.run_ring(2, True)

    def test_four(self):
        text = self.run_ring(4, True)
        self.assertEqual(text.count("stablehlo.collective_permute\""), 6)  # keys and values, three times
        # One program for all devices: 3 pairs and a join, then 2 of each at every step.
        self.assertEqual(self.calls(text), 4 + 3 * 4)

    def test_without_zigzag(self):
        self.assertEqual(self.calls(self.run_ring(4, False)), 1 + 3 * 2)

    def test_place_and_restore(self):
        placed = jax_ring.Ring(SPEC, N, ranks=4, axis_name="sequence")
        np.testing.assert_array_equal(placed.restore(placed.place(self.given["q"])), self.given["q"])

    def test_refused(self):
        attend = jax_ring.Ring(SPEC, N, ranks=2, axis_name="sequence")
        arrays = [self.given[name] for name in ("q", "k", "v", "table")]
        with self.assertRaisesRegex(skewer.ArgumentError, "share of one of 2 ranks"):
            sharded(attend, 4)(*arrays)
        with self.assertRaisesRegex(skewer.ArgumentError, "float16"):
            sharded(attend, 2)(arrays[0].astype(jnp.float16), *arrays[1:])
        with self.assertRaises(skewer.ArgumentError):
            jax_ring.Ring(SPEC, N, ranks=5, axis_name="sequence")


class Processes(unittest.TestCase):
    """Rings of jax.distributed, with a process for each device."""

    def start(self, ranks, what, flags=None):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        script = Path(__file__).with_name("jax_ring_process.py")
        environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
        if flags:
            environment["XLA_FLAGS"] = flags
        started = [subprocess.Popen([sys.executable, script, str(rank), str(ranks), str(port), what], env=environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                   for rank in range(ranks)]
        try:
            texts = [one.communicate(timeout=150)[0] for one in started]
        finally:
            for one in started:
                one.kill()
                one.wait()
                one.stdout.close()
        for text in texts:
            said = [line.split() for line in text.splitlines() if line.startswith("difference")]
            self.assertEqual(len(said), 1, text)
            self.assertLess(float(said[0][1]), 2e-6)
            self.assertEqual(said[0][2], "same")
        return [one.returncode for one in started], texts

    def test_two(self):
        self.assertEqual(self.start(2, "compute")[0], [0, 0])

    def failed(self, what, flags=None):
        """Returns the seconds until rank 0 gets an error after rank 1 is gone, and the error's text."""
        statuses, texts = self.start(2, what, flags)
        self.assertEqual(statuses[0], 3, texts)
        said = [line.split(None, 2) for line in texts[0].splitlines() if line.startswith("error")]
        self.assertEqual(len(said), 1, texts[0])
        return float(said[0][1]), said[0][2]

    def test_a_process_that_dies(self):
        self.assertLess(self.failed("die")[0], 30)

    def test_a_process_that_hangs(self):
        seconds, text = self.failed("hang", "--xla_cpu_collective_timeout_seconds=4")
        self.assertGreater(seconds, 3)
        self.assertLess(seconds, 30)
        self.assertIn("Timed out", text)


if __name__ == "__main__":
    unittest.main()
