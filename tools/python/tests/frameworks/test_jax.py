"""Tests of layers in JAX: arrays, jit, vmap, shard_map, and the struct layouts that they need."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import common
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

import skewer
from skewer import jax as skewer_jax

TABLE = """param N = 8, d = 4
size batch
kernel relative(q, k, v : f32[batch, N, d], table : f32[2*N - 1, d]) -> f32[batch, N, d] {
  s = einsum("b i d, b j d -> b i j", q, k) + einsum("b i d, (j - i + N - 1) d -> b i j", q, table)
  return einsum("b i j, b j d -> b i d", softmax(s), v)
}
"""


def arrays(batch=2, seed=0):
    return [jnp.asarray(array) for array in common.operands(batch=batch, seed=seed).values()]


def tables(count=None):
    shape = (15, 4) if count is None else (count, 15, 4)
    return jnp.asarray(np.random.default_rng(9).standard_normal(shape, np.float32))


class Arrays(unittest.TestCase):
    def test_results_are_arrays(self):
        layer = skewer.compile(common.TINY)
        out = layer(*arrays())
        self.assertIsInstance(out, jax.Array)
        np.testing.assert_allclose(out, common.tiny(*arrays()), atol=1e-6)
        self.assertEqual(skewer.compile(common.BFLOATS)(*(a.astype(jnp.bfloat16) for a in arrays())).dtype,
                         jnp.bfloat16)
        with self.assertRaises(skewer.ArgumentError):
            layer(arrays()[0].astype(jnp.float16), *arrays()[1:])
        with self.assertRaises(skewer.ArgumentError):  # JAX's arrays cannot be written to
            layer(*arrays(), out=arrays()[0])


class Operators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tiny = staticmethod(skewer_jax.op(common.TINY))
        cls.layer = skewer.compile(TABLE)
        cls.relative = staticmethod(skewer_jax.op(cls.layer))

    def test_jit(self):
        for batch in (2, 5):
            q, k, v = arrays(batch)
            np.testing.assert_allclose(self.tiny(q, k, v), common.tiny(q, k, v), atol=1e-6)
            got = jax.jit(lambda q, k, v: self.tiny(q * 2, k, v) + 1)(q, k, v)
            np.testing.assert_allclose(got, common.tiny(q * 2, k, v) + 1, atol=1e-5)

    def test_threads(self):
        threaded = jax.jit(skewer_jax.op(common.TINY, threads=3))
        np.testing.assert_array_equal(threaded(*arrays(7)), self.tiny(*arrays(7)))

    def test_layouts_are_the_kernels(self):
        q, k, v = arrays()
        got = jax.jit(lambda q, k, v: self.tiny(q.transpose(0, 2, 1).transpose(0, 2, 1), k[::-1], v))(q, k, v)
        np.testing.assert_allclose(got, common.tiny(q, k[::-1], v), atol=1e-6)

    def test_vmap_over_the_batch(self):
        stacked = [jnp.stack([a, b, c]) for a, b, c in zip(arrays(), arrays(seed=1), arrays(seed=2))]
        table = tables()
        one_by_one = jnp.stack([self.relative(*(x[n] for x in stacked), table) for n in range(3)])
        mapped = jax.vmap(self.relative, in_axes=(0, 0, 0, None))
        np.testing.assert_array_equal(mapped(*stacked, table), one_by_one)
        np.testing.assert_array_equal(jax.jit(mapped)(*stacked, table), one_by_one)
        # One call of a larger batch, not three.
        text = jax.jit(mapped).lower(*stacked, table).as_text()
        self.assertEqual(text.count("@skewer_call"), 1)
        self.assertNotIn("while", text)
        # vmap of only some operands; and vmap of vmap.
        some = jax.vmap(self.relative, in_axes=(None, 0, 0, None))(stacked[0][0], *stacked[1:], table)
        np.testing.assert_array_equal(some[1], self.relative(stacked[0][0], stacked[1][1], stacked[2][1], table))
        twice = jax.vmap(mapped, in_axes=(0, 0, 0, None))(*(x[None] for x in stacked), table)
        np.testing.assert_array_equal(twice[0], one_by_one)

    def test_vmap_over_a_table_goes_one_by_one(self):
        q, k, v = arrays()
        got = jax.vmap(self.relative, in_axes=(None, None, None, 0))(q, k, v, tables(3))
        for n in range(3):
            np.testing.assert_array_equal(got[n], self.relative(q, k, v, tables(3)[n]))

    def test_shard_map(self):
        mesh = Mesh(np.array(jax.devices()[:4]), ("data",))
        part = PartitionSpec("data")
        sharded = jax.jit(jax.shard_map(self.relative, mesh=mesh, in_specs=(part, part, part, PartitionSpec()),
                                        out_specs=part))
        np.testing.assert_array_equal(sharded(*arrays(8), tables()), self.relative(*arrays(8), tables()))

    def test_several_results_and_parts(self):
        ring = Path(__file__).parents[4] / "examples" / "ring" / "ring.attn"
        layer = skewer.compile(ring, kernel="step", m=48)
        x = [jnp.asarray(array) for array in layer.example(batch=1).values()]
        for got, expected in zip(jax.jit(skewer_jax.op(layer, k0=48))(*x), layer(*x, k0=48)):
            np.testing.assert_array_equal(got, expected)
        with self.assertRaisesRegex(Exception, "skewer: the kernel refuses the call with status 5"):
            jax.block_until_ready(skewer_jax.op(layer, k0=49)(*x))

    def test_origins_that_are_computed(self):
        ring = Path(__file__).parents[4] / "examples" / "ring" / "ring.attn"
        layer = skewer.compile(ring, kernel="step", m=48)
        x = [jnp.asarray(array) for array in layer.example(batch=1).values()]
        call = jax.jit(lambda number, *x: skewer_jax.op(layer, origins=True)(*x, jnp.array([0, 1, 0]) * number))
        for k0 in (0, 48):
            for got, expected in zip(call(k0, *x), layer(*x, k0=k0)):
                np.testing.assert_array_equal(got, expected)
        both = jax.vmap(skewer_jax.op(layer, origins=True), (None,) * len(x) + (0,))(
            *x, jnp.array([[0, 0, 0], [0, 48, 0]], jnp.int32))
        for got, k0 in ((0, 0), (1, 48)):
            np.testing.assert_array_equal(both[0][got], layer(*x, k0=k0)[0])
        with self.assertRaisesRegex(Exception, "skewer: the kernel refuses the call with status 5"):
            jax.block_until_ready(call(-1, *x))
        with self.assertRaisesRegex(skewer.ArgumentError, "int32 of shape"):
            skewer_jax.op(layer, origins=True)(*x, jnp.zeros(3))

    def test_refused(self):
        q, k, v = arrays()
        for bad in ((q.astype(jnp.float16), k, v), (q[:, :7], k, v), (q[0], k, v), (q[:0], k, v), (q, k)):
            with self.assertRaises(skewer.ArgumentError):
                self.tiny(*bad)
            with self.assertRaises(skewer.ArgumentError):
                jax.jit(self.tiny)(*bad)
        with self.assertRaises(skewer.ArgumentError):
            skewer_jax.op(common.TINY, threads=0)

    def test_indices_out_of_range(self):
        layer = skewer.compile(common.BUCKETS)
        x = [jnp.asarray(array) for array in layer.example().values()]
        call = jax.jit(skewer_jax.op(layer))
        np.testing.assert_array_equal(call(*x), layer(*x))
        with self.assertRaisesRegex(Exception, r"status 20 .*: bucket: expected indices in 0\.\.5, found -3 at \[7, 1\]"):
            jax.block_until_ready(call(*x[:4], x[4].at[7, 1].set(-3), x[5]))
        with self.assertRaisesRegex(skewer.KernelError, r"bucket: expected indices in 0\.\.5, found 6 at \[0, 0\]"):
            layer(*x[:4], x[4].at[0, 0].set(6), x[5])

    def test_derivatives_are_refused(self):
        q, k, v = arrays()
        asked = (lambda: jax.grad(lambda k: self.tiny(q, k, v).sum())(k),
                 lambda: jax.grad(lambda k: jax.jit(self.tiny)(q, k, v).sum())(k),
                 lambda: jax.jvp(lambda k: self.tiny(q, k, v), (k,), (k,)),
                 lambda: jax.jvp(jax.vmap(lambda k: self.tiny(q, k, v)), (jnp.stack([k, k]),), (jnp.stack([k, k]),)))
        for ask in asked:
            with self.assertRaises(skewer.GradientError) as wrong:
                ask()
            self.assertEqual((wrong.exception.kernel, wrong.exception.argument), ("tiny", "k"))
            self.assertIn("jax.lax.stop_gradient", str(wrong.exception))
        # Functions that do not go through the layer, or stop gradients before it, have their derivatives.
        got = jax.grad(lambda x: (x * self.tiny(q, jax.lax.stop_gradient(x), v)).sum())(k)
        np.testing.assert_allclose(got, self.tiny(q, k, v), atol=1e-6)

    def test_whole_numbers_of_other_types(self):
        layer = skewer.compile(common.BUCKETS)
        x, op = layer.example(), skewer_jax.op(layer)
        expected = np.asarray(op(**x))
        ones = {**x, "bucket": x["bucket"] > 2}
        np.testing.assert_array_equal(op(**ones), layer(**ones))
        np.testing.assert_array_equal(jax.jit(op)(*ones.values()), layer(**ones))
        with jax.enable_x64(True):
            wide = {name: array.astype(np.int64) if array.dtype == np.int32 else array for name, array in x.items()}
            np.testing.assert_array_equal(op(**wide), expected)
            wide["shift"][2, 7] = 1 << 40
            with self.assertRaisesRegex(Exception, "shift: expected indices in"):
                jax.block_until_ready(op(**wide))

    def test_float8(self):
        op = skewer_jax.op("kernel f(x : f8e4m3[256] ~ 20, s : f32[256]) -> f32[256] { return x*s }")
        x = jax.numpy.asarray(np.arange(256, dtype=np.uint8)).view(jax.numpy.float8_e4m3fn)
        wanted, s = np.asarray(x.astype(np.float32)), np.ones(256, np.float32)
        np.testing.assert_array_equal(op(x, s), wanted)
        np.testing.assert_array_equal(jax.jit(op)(x, s), wanted)
        with self.assertRaisesRegex(skewer.ArgumentError, "x: expected elements of type float8_e4m3fn"):
            op(x.astype(np.float32), s)

    def test_empty_batches(self):
        op = skewer_jax.op(common.TINY)
        for call in (op, jax.jit(op)):
            out = call(*common.operands(batch=0).values())
            self.assertEqual((out.shape, out.dtype), ((0, 8, 4), np.float32))
        with self.assertRaisesRegex(skewer.ArgumentError, "k, dimension 1: expected 8, found 7") as wrong:
            op(*[array[:, :7] if n == 1 else array for n, array in enumerate(common.operands(batch=0).values())])
        del wrong

    def test_what_a_function_says_of_itself(self):
        op = skewer_jax.op(common.TINY)
        self.assertIn("tiny(q: f32[batch, 8, 4]", op.__doc__)
        with self.assertRaisesRegex(skewer.ArgumentError, "v: expected an array, found none; the operands are q, k, v"):
            op(*list(common.operands().values())[:2])
        with self.assertRaisesRegex(skewer.ArgumentError, "in jax.jit, jax.vmap and their like a layer is skewer.jax.op"):
            jax.jit(skewer.compile(common.TINY))(*common.operands().values())

    def test_operands_by_name(self):
        q, k, v = arrays()
        expected = self.tiny(q, k, v)
        np.testing.assert_array_equal(jax.jit(self.tiny)(v=v, q=q, k=k), expected)
        np.testing.assert_array_equal(self.tiny(q, v=v, k=k), expected)
        for call, text in ((lambda: self.tiny(q, k), "v: expected an array, found none"), (lambda: self.tiny(q, k=k), "v: expected an array"),
                           (lambda: self.tiny(q, k, k=k, v=v), "k: .*given twice"), (lambda: self.tiny(q, k, w=v), "w: .*no operand")):
            with self.assertRaisesRegex(skewer.ArgumentError, text):
                call()

    def test_numpy_arrays_of_other_types(self):
        q, k, v = arrays()
        with self.assertRaisesRegex(skewer.ArgumentError, "k: expected elements of type float32, found float64"):
            self.tiny(q, np.zeros(k.shape), v)

    def test_calls_that_nobody_knows(self):
        # A program that JAX kept on disk, from a process with other layers.
        shape = jax.ShapeDtypeStruct((2, 8, 4), jnp.float32)
        for numbers, text in ((np.array([1, 1, 0, 0, 0, 2], np.int64), "has not compiled"),
                              (np.array([1], np.int64), "without its numbers")):
            with self.assertRaisesRegex(Exception, text):
                jax.block_until_ready(jax.ffi.ffi_call("skewer_call", shape)(*arrays(), call=numbers))


class Layouts(unittest.TestCase):
    def test_structs_are_those_of_the_header(self):
        ours = Path(__file__).parents[2] / "src" / "XlaFfi.h"
        pairs = {"CallFrame": ("XLA_FFI_CallFrame", {"api": "api", "stage": "stage", "arguments": "args",
                                                     "results": "rets", "attributes": "attrs"}),
                 "Buffers": ("XLA_FFI_Args", {"count": "size", "types": "types", "buffers": "args"}),
                 "Buffer": ("XLA_FFI_Buffer", {"type": "dtype", "data": "data", "rank": "rank", "shape": "dims"}),
                 "Attributes": ("XLA_FFI_Attrs", {"count": "size", "names": "names", "values": "attrs"}),
                 "Numbers": ("XLA_FFI_Array", {"type": "dtype", "count": "size", "values": "data"}),
                 "Text": ("XLA_FFI_ByteSpan", {"begin": "ptr", "length": "len"}),
                 "Version": ("XLA_FFI_Api_Version", {"major": "major_version", "minor": "minor_version"}),
                 "Api": ("XLA_FFI_Api", {"version": "api_version", "createError": "XLA_FFI_Error_Create"}),
                 "ErrorArguments": ("XLA_FFI_Error_Create_Args", {"message": "message", "code": "errc"}),
                 "Extension": ("XLA_FFI_Extension_Base", {"type": "type", "next": "next"}),
                 "Metadata": ("XLA_FFI_Metadata", {"version": "api_version", "traits": "traits"}),
                 "MetadataExtension": ("XLA_FFI_Metadata_Extension", {"metadata": "metadata"})}
        lines = [f'#include "{ours}"', '#include "xla/ffi/api/c_api.h"', "using namespace skewer::python::xla;"]
        for own, (theirs, fields) in pairs.items():
            lines += [f"static_assert(offsetof({own}, {a}) == offsetof({theirs}, {b}));" for a, b in fields.items()]
        lines += ["static_assert(XLA_FFI_DataType_S64 == 5 && XLA_FFI_AttrType_ARRAY == 1 && XLA_FFI_DataType_S32 == kS32);",
                  "static_assert(XLA_FFI_Extension_Metadata == 1 && XLA_FFI_Error_Code_INVALID_ARGUMENT == 3);"]
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "layouts.cpp"
            source.write_text("\n".join(lines) + "\n")
            subprocess.run(["clang++-22", "-std=c++17", "-fsyntax-only", "-Wno-invalid-offsetof", "-I",
                            jax.ffi.include_dir(), source], check=True)


if __name__ == "__main__":
    unittest.main()
