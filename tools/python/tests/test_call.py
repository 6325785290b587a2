"""Tests calls with NumPy's arrays, and arrays that a layer must refuse."""

import ctypes
import os
import subprocess
import sys
import threading
import unittest
import warnings

import common
import numpy as np

import skewer


def elsewhere(array, device_type, device_id):
    """Returns a DLPack capsule of NumPy's with another device (dlpack.h: the pointer to the memory, then type and number)."""
    capsule = array.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    managed = pointer(capsule, b"dltensor")
    (ctypes.c_int32 * 2).from_address(managed + ctypes.sizeof(ctypes.c_void_p))[:] = [device_type, device_id]
    return capsule


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layer = skewer.compile(common.TINY)

    def test_result(self):
        x = common.operands()
        out = self.layer(**x)
        self.assertEqual((out.shape, out.dtype), ((2, 8, 4), np.float32))
        np.testing.assert_allclose(out, common.tiny(**x), atol=1e-6)
        np.testing.assert_array_equal(self.layer(x["q"], x["k"], v=x["v"]), out)

    def test_threads_give_the_same_bits(self):
        x = common.operands(batch=7)
        one = self.layer(**x)
        for threads in (2, 3):
            np.testing.assert_array_equal(self.layer(**x, threads=threads), one)

    def test_out(self):
        x = common.operands()
        out = np.full((2, 8, 4), np.nan, np.float32)
        self.assertIs(self.layer(**x, out=out), out)
        np.testing.assert_array_equal(out, self.layer(**x))

    def test_strides_are_copied_with_a_note_once(self):
        layer = skewer.compile(common.TINY)
        x = common.operands(batch=4)
        expected = layer(**{name: array[::2].copy() for name, array in x.items()})
        backwards = {name: np.ascontiguousarray(array[::2][::-1])[::-1] for name, array in x.items()}
        transposed = {name: np.asfortranarray(array[::2]) for name, array in x.items()}
        unaligned = {}
        for name, array in x.items():
            raw = np.zeros(array[::2].nbytes + 1, np.uint8)[1:]
            unaligned[name] = raw.view(np.float32).reshape(2, 8, 4)
            unaligned[name][...] = array[::2]
        for kind in ({name: array[::2] for name, array in x.items()}, backwards, transposed, unaligned):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                np.testing.assert_array_equal(layer(**kind), expected)
            if kind is backwards:
                self.assertEqual(said, [])  # it was warned of before

    def test_the_note_says_why_and_what_to_do(self):
        def said_of(call):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                call()
            self.assertEqual([warning.filename for warning in said], [__file__] * len(said))
            return str(said[0].message)

        x = common.operands()
        text = said_of(lambda: skewer.compile(common.TINY)(**{**x, "k": x["k"][:, ::-1]}))
        for part in ("kernel 'tiny': k cannot be read", "shape (2, 8, 4) has strides (32, -4, 1)", "expected (32, 4, 1)",
                     "numpy.ascontiguousarray", "docs/python.md"):
            self.assertIn(part, text)
        raw = np.zeros(x["v"].nbytes + 1, np.uint8)[1:]
        shifted = raw.view(np.float32).reshape(x["v"].shape)
        self.assertIn("v cannot be read where it lies (its memory begins",
                      said_of(lambda: skewer.compile(common.TINY)(**{**x, "v": shifted})))
        out = np.zeros((2, 8, 8), np.float32)[:, :, ::2]
        self.assertIn("out cannot be written where it lies (shape (2, 8, 4)",
                      said_of(lambda: skewer.compile(common.TINY)(**x, out=out)))

    def test_times_print_as_a_table(self):
        timed = skewer.compile(common.TINY).bench(seconds=0, batch=3)
        lines = str(timed).splitlines()
        self.assertEqual(lines, repr(timed).splitlines())
        self.assertEqual((lines[0], len(lines)), ("tiny: 1 call, 1 thread", 3))
        self.assertRegex(lines[1], r"^  median +[0-9.]+ (µs|ms) +[0-9.]+ GF/s$")
        self.assertEqual(timed.flops, 3 * 2 * 2 * 8 * 8 * 4)
        loaded = skewer.Bench(2.0, 0.0015, 2, None, "other", 4)
        self.assertEqual(str(loaded), "other: 2 calls, 4 threads\n  median       2.000 s\n  fastest      1.500 ms")

    def test_strided_out(self):
        x = common.operands()
        whole = np.full((4, 8, 8), -1, np.float32)
        with self.assertWarns(skewer.CopyWarning):
            self.layer(**x, out=whole[::2, :, 1::2])
        np.testing.assert_array_equal(whole[::2, :, 1::2], self.layer(**x))
        self.assertTrue((whole[1::2] == -1).all() and (whole[:, :, ::2] == -1).all())

    def test_axes_of_one_element_have_no_stride(self):
        x = {name: np.lib.stride_tricks.as_strided(array, strides=(12345 * 4, 16, 4))
             for name, array in common.operands(batch=1).items()}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(self.layer(**x), common.tiny(**x), atol=1e-6)

    def test_halves(self):
        for text, dtype, bits in ((common.HALVES, np.float16, 11), (common.BFLOATS, np.uint16, 8)):
            layer = skewer.compile(text)
            x = common.operands(dtype=np.float32)
            if dtype is np.uint16:
                given = {name: (array.view(np.uint32) >> 16).astype(np.uint16) for name, array in x.items()}
                x = {name: (array.astype(np.uint32) << 16).view(np.float32) for name, array in given.items()}
            else:
                given = x = {name: array.astype(dtype) for name, array in x.items()}
            out = layer(**given)
            self.assertEqual(out.dtype, dtype)
            if dtype is np.uint16:
                out = (out.astype(np.uint32) << 16).view(np.float32)
            np.testing.assert_allclose(out, common.tiny(**x), atol=2.0 ** -bits * 4)

    def test_lengths(self):
        layer = skewer.compile(common.LENGTHS)
        self.assertEqual(layer.sizes, {"N": 64})
        for n in (3, 64):
            x = layer.example(N=n)
            q, k, v, table = (x[name].astype(np.float64) for name in ("q", "k", "v", "table"))
            bias = np.einsum("id,ijd->ij", q, table[np.arange(n) - np.arange(n)[:, None] + n - 1])
            np.testing.assert_allclose(layer(**x), common.softmax(q @ k.T + bias) @ v, atol=1e-4)
        with self.assertRaises(skewer.ArgumentError) as wrong:
            layer(**layer.example(N=65))
        self.assertEqual((wrong.exception.dimension, wrong.exception.expected), ("N", "1 to 64"))
        with self.assertRaises(skewer.ArgumentError) as wrong:
            layer(**{**layer.example(N=3), "table": np.zeros((6, 4), np.float32)})
        error = wrong.exception
        self.assertEqual((error.argument, error.dimension, error.expected, error.found),
                         ("table", 0, "5 (2*N - 1)", "6"))

    def test_parts_with_origins(self):
        ring = os.path.join(os.path.dirname(__file__), "../../../examples/ring/ring.attn")
        whole, step, join = (skewer.compile(ring, kernel=name, m=48) for name in ("whole", "step", "join"))
        self.assertEqual((whole.origins, step.origins), ([], ["q0", "k0"]))
        x = whole.example(batch=1)
        parts = [step(x["q"], x["k"][:, :, k0:k0 + 48].copy(), x["v"][:, :, k0:k0 + 48].copy(), x["table"], k0=k0)
                 for k0 in (0, 48)]
        for got, expected in zip(join(*parts[0], *parts[1]), whole(**x)):
            np.testing.assert_allclose(got, expected, atol=2e-6)
        with self.assertRaisesRegex(skewer.KernelError, "origin"):
            step(x["q"], x["k"][:, :, :48].copy(), x["v"][:, :, :48].copy(), x["table"], k0=49)

    def test_several_results_into_out(self):
        ring = os.path.join(os.path.dirname(__file__), "../../../examples/ring/ring.attn")
        layer = skewer.compile(ring, kernel="whole")
        x = layer.example(batch=2)
        out = tuple(np.empty_like(result) for result in layer(**x))
        self.assertIs(layer(**x, out=out), out)
        for got, expected in zip(out, layer(**x)):
            np.testing.assert_array_equal(got, expected)
        with self.assertRaises(skewer.ArgumentError):
            layer(**x, out=out[:1])

    def test_threads_of_the_caller(self):
        wanted = [common.operands(seed=seed, batch=5) for seed in range(4)]
        wrong = []

        def work(x):
            expected = common.tiny(**x)
            for _ in range(50):
                if not np.allclose(self.layer(**x, threads=2), expected, atol=1e-6):
                    wrong.append(x)

        threads = [threading.Thread(target=work, args=(x,)) for x in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_fork_after_use(self):
        x = common.operands(batch=5)
        expected = self.layer(**x, threads=2)
        child = os.fork()
        if child == 0:  # a child has none of its parent's threads
            good = np.array_equal(self.layer(**x, threads=2), expected)
            os._exit(0 if good else 1)
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)
        np.testing.assert_array_equal(self.layer(**x, threads=2), expected)

    def test_the_lock_is_released(self):
        layer = skewer.compile(os.path.join(os.path.dirname(__file__), "../../../examples/rel1d/rel1d.attn"), N=1024)
        x, counted, done = layer.example(), [0], threading.Event()

        def count():
            while not done.is_set():
                counted[0] += 1

        counter = threading.Thread(target=count)
        counter.start()
        sys.setswitchinterval(10)  # a thread keeps the lock until it releases it itself
        try:
            before = counted[0]
            for _ in range(3):
                layer(**x)
            self.assertGreater(counted[0], before + 1000)
        finally:
            sys.setswitchinterval(0.005)
            done.set()
            counter.join()


class BadArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layer = skewer.compile(common.TINY)

    def refused(self, argument, dimension, expected, found, **changed):
        x = common.operands()
        out = changed.pop("out", None)
        threads = changed.pop("threads", None)
        x.update(changed)
        with self.assertRaises(skewer.ArgumentError) as wrong:
            self.layer(**x, out=out, threads=threads)
        error = wrong.exception
        self.assertEqual((error.kernel, error.argument, error.dimension), ("tiny", argument, dimension))
        self.assertIn(expected, error.expected)
        self.assertIn(found, error.found)

    def test_types(self):
        self.refused("q", None, "float32", "float64", q=np.zeros((2, 8, 4)))
        self.refused("v", None, "float32", "int64", v=np.zeros((2, 8, 4), np.int64))
        self.refused("k", None, "float32", "bool", k=np.zeros((2, 8, 4), bool))
        self.refused("k", None, "float32", "other order (big-endian)", k=np.zeros((2, 8, 4), ">f4"))
        for dtype, name in ((np.uint8, "uint8"), (np.int16, "int16"), (np.uint32, "uint32"), (np.longdouble, "longdouble"),
                            (np.complex64, "complex64"), (object, "object")):
            self.refused("k", None, "float32", name, k=np.zeros((2, 8, 4), dtype))
        self.refused("k", None, "array", "int", k=3)
        self.refused("k", None, "array", "list", k=[1.0])
        self.refused("q", None, "float32", "uint8", q=b"bytes")

    def test_memory_out_of_reach(self):
        class Remote:
            """An array of a type that NumPy lacks, with neither a buffer nor DLPack: no bits of it can be read."""
            dtype = type("dtype", (), {"name": "bfloat16"})

            def view(self, _):
                raise RuntimeError("this array has no memory")

        self.refused("q", None, "array", "Remote", q=Remote())

    def test_another_device(self):
        class Elsewhere:
            """An array whose DLPack gives another device."""

            def __init__(self, device):
                self.device = device

            def __dlpack_device__(self):
                return self.device

            def __dlpack__(self, **_):
                return elsewhere(np.zeros((2, 8, 4), np.float32), *self.device)

        self.refused("q", None, "memory of the processor", "CUDA device 1", q=Elsewhere((2, 1)))
        self.refused("v", None, "memory of the processor", "DLPack number 8", v=Elsewhere((8, 0)))
        self.refused("out", None, "memory of the processor", "CUDA device 0", out=Elsewhere((2, 0)))

    def test_shapes(self):
        self.refused("q", None, "3 dimensions", "2", q=np.zeros((8, 4), np.float32))
        self.refused("k", 1, "8", "7", k=np.zeros((2, 7, 4), np.float32))
        self.refused("v", 0, "2 (batch)", "3", v=np.zeros((3, 8, 4), np.float32))
        self.refused("q", 2, "4", "0", q=np.zeros((2, 8, 0), np.float32))

    def test_nothing_to_compute(self):
        """An empty batch has an empty result; a layer without keys has rows, and no meaning."""
        x = {name: array[:0] for name, array in common.operands().items()}
        self.assertEqual(self.layer(**x).shape, (0, 8, 4))
        out = np.empty((0, 8, 4), np.float32)
        self.assertIs(self.layer(**x, out=out), out)
        with self.assertRaises(skewer.ArgumentError) as wrong:
            self.layer(**{**x, "k": x["k"][:, :7]})
        self.assertEqual((wrong.exception.argument, wrong.exception.dimension), ("k", 1))
        keys = skewer.compile("size n <= 64\nkernel f(q : f32[3, 4], k : f32[n, 4]) -> f32[3, 4] {\n"
                              "  return einsum('i j, j d -> i d', softmax(einsum('i d, j d -> i j', q, k)), k)\n}".replace("'", '"'))
        with self.assertRaises(skewer.ArgumentError) as wrong:
            keys(np.ones((3, 4), np.float32), np.ones((0, 4), np.float32))
        self.assertEqual((wrong.exception.dimension, wrong.exception.expected, wrong.exception.found), ("n", "at least 1", "0"))

    def test_whole_numbers_of_other_types(self):
        layer = skewer.compile(common.BUCKETS)
        x = layer.example()
        expected = layer(**x)
        wide = {name: array.astype(np.int64) if array.dtype == np.int32 else array for name, array in x.items()}
        np.testing.assert_array_equal(layer(**wide), expected)
        turned = {**wide, "bucket": np.asfortranarray(wide["bucket"])}
        np.testing.assert_array_equal(layer(**turned), expected)
        ones = {**x, "bucket": x["bucket"] > 2}
        np.testing.assert_array_equal(layer(**ones), layer(**{**x, "bucket": (x["bucket"] > 2).astype(np.int32)}))
        wide["shift"][2, 7] = 5
        with self.assertRaisesRegex(skewer.KernelError, r"shift: expected indices in -1\.\.1, found 5 at \[2, 7\]"):
            layer(**wide)
        wide["shift"][2, 7] = 1 << 40
        with self.assertRaisesRegex(skewer.ArgumentError, f"shift: expected numbers that int32 can hold, found {1 << 40}"):
            layer(**wide)
        for dtype in (np.int16, np.uint8, np.uint64, np.float32):
            with self.assertRaises(skewer.ArgumentError):
                layer(**{**x, "bucket": x["bucket"].astype(dtype)})
        eight = skewer.compile("kernel f(x : f32[4], m : i8[4]) -> f32[4] { return x*m }")
        np.testing.assert_array_equal(eight(np.ones(4, np.float32), np.array([True, False, True, True])), [1, 0, 1, 1])

    def test_numbers_of_e4m3(self):
        layer = skewer.compile("kernel f(x : f8e4m3[256] ~ 20, s : f32[256]) -> f32[256] { return x*s }")
        bits, ones = np.arange(256, dtype=np.uint8), np.ones(256, np.float32)
        exponent, fraction = bits.astype(int) >> 3 & 15, bits.astype(int) & 7
        size = np.where(exponent > 0, np.ldexp(8.0 + fraction, exponent - 10), np.ldexp(1.0 * fraction, -9))
        wanted = np.where(bits & 127 == 127, np.nan, size) * np.where(bits >> 7, -1, 1)
        np.testing.assert_array_equal(layer(bits, ones), wanted)
        np.testing.assert_array_equal(layer.reference(bits, ones), wanted)
        made = layer.example()["x"]
        self.assertEqual(made.dtype, np.uint8)
        self.assertLess(np.abs(wanted[made]).max(), 100)
        self.assertGreater(len(set(made)), 60)
        self.assertTrue(layer.check())
        # Rounded to the nearest number, the even one of two equally near; there are no infinities.
        from skewer._layer import _e4m3_bits
        finite = wanted[:127]
        np.testing.assert_array_equal(_e4m3_bits(wanted[bits & 127 != 127]), bits[bits & 127 != 127])
        middle = (finite[:-1] + finite[1:]) / 2
        np.testing.assert_array_equal(_e4m3_bits(middle), np.arange(126) + np.arange(126) % 2)
        np.testing.assert_array_equal(_e4m3_bits(np.array([1e9, -np.inf, np.nan])), [0x7E, 0xFE, 0x7F])
        for dtype in (np.int8, np.uint16, np.float32, bool):
            with self.assertRaisesRegex(skewer.ArgumentError, "x: expected elements of type float8_e4m3fn, found"):
                layer(bits.astype(dtype), ones)
        try:
            import ml_dtypes
        except ImportError:
            return
        typed = bits.view(ml_dtypes.float8_e4m3fn)
        np.testing.assert_array_equal(layer(typed, ones), wanted)
        np.testing.assert_array_equal(layer.reference(typed, ones), wanted)
        with self.assertRaises(skewer.ArgumentError):
            layer(bits.view(ml_dtypes.float8_e5m2), ones)

    def test_masked_arrays(self):
        masked = np.ma.masked_array(np.ones((2, 8, 4), np.float32), mask=np.zeros((2, 8, 4), bool))
        self.refused("q", None, "an array without a mask", "numpy.ma", q=masked)

    def test_outs(self):
        self.refused("out", 1, "8", "9", out=np.zeros((2, 9, 4), np.float32))
        self.refused("out", None, "float32", "float64", out=np.zeros((2, 8, 4)))
        locked = np.zeros((2, 8, 4), np.float32)
        locked.flags.writeable = False
        self.refused("out", None, "can be written", "read-only", out=locked)
        again = np.lib.stride_tricks.as_strided(np.zeros((2, 8, 4), np.float32), (2, 8, 4), (0, 16, 4))
        self.refused("out", 0, "elements that lie apart", "a stride of 0", out=again)

    def test_overlap(self):
        x = common.operands()
        with self.assertRaisesRegex(skewer.KernelError, "shares memory.*: out and q$"):
            self.layer(**x, out=x["q"])

    def test_names(self):
        self.refused("mask", None, "one array for each operand", "no operand of this name", mask=np.zeros(3))
        x = common.operands()
        with self.assertRaisesRegex(skewer.ArgumentError, r"batch: .*no operand of this name \(a run-time size is given by sizes=\{'batch': …\}\)"):
            self.layer(batch=2, **x)
        with self.assertRaisesRegex(skewer.ArgumentError, r"vv: .*no operand of this name \(did you mean 'v'\?\); the operands are q, k, v"):
            self.layer(q=x["q"], k=x["k"], vv=x["v"])
        with self.assertRaisesRegex(skewer.ArgumentError, "q0: expected 0, as the layer is no part: its spec has no 'part … from q0', found 3"):
            self.layer(**x, q0=3)
        del x["v"]
        with self.assertRaisesRegex(skewer.ArgumentError, "v: expected an array, found none"):
            self.layer(**x)
        with self.assertRaises(skewer.ArgumentError):
            self.layer(*common.operands().values(), np.zeros(3))

    def test_threads(self):
        self.refused("threads", None, "1 to 1024", "0", threads=0)
        self.refused("threads", None, "1 to 1024", "'2'", threads="2")
        self.refused("threads", None, "1 to 1024", "5000", threads=5000)

    def test_indices_out_of_range(self):
        text = common.TINY.replace("d]) ->", "d], lengths : i32[batch] in 1..8) ->")
        layer = skewer.compile(text.replace("* d^-0.5)", "* d^-0.5 where j < lengths[b])"))
        x = common.operands(batch=1)
        short = common.tiny(x["q"], x["k"][:, :3], x["v"][:, :3])
        np.testing.assert_allclose(layer(**x, lengths=np.array([3], np.int32)), short, atol=1e-6)
        with self.assertRaises(skewer.KernelError) as wrong:
            layer(**x, lengths=np.array([9], np.int32))
        error = wrong.exception
        self.assertEqual(str(error), "kernel 'tiny': lengths: expected indices in 1..8, found 9 at [0]")
        self.assertEqual((error.kernel, error.status, error.argument, error.expected, error.found),
                         ("tiny", 20, "lengths", "indices in 1..8", "9 at [0]"))

    def test_ranges_of_lengths(self):
        layer = skewer.compile("""size b, N <= 32
kernel weights(q, k : f32[b, N, 4], lengths : i32[b] in 1..N) -> f32[b, N, N] {
  return softmax(einsum("b i d, b j d -> b i j", q, k) where j < lengths[b])
}
""")
        self.assertEqual(layer.arguments[2].range, (1, "N"))
        self.assertTrue(set(layer.example(b=200, N=3)["lengths"]) == {1, 2, 3})
        x = layer.example(b=2, N=5)
        x["lengths"][:] = 5, 2
        scores = np.where(np.arange(5) < x["lengths"][:, None, None], x["q"] @ x["k"].transpose(0, 2, 1), -np.inf)
        np.testing.assert_allclose(layer(**x), common.softmax(scores), atol=1e-6)
        x["lengths"][1] = 6
        with self.assertRaises(skewer.KernelError) as wrong:
            layer(**x)
        self.assertEqual(str(wrong.exception), "kernel 'weights': lengths: expected indices in 1..5 (1..N), found 6 at [1]")

    def test_which_index_is_out_of_range(self):
        layer = skewer.compile(common.BUCKETS)
        self.assertEqual([argument.range for argument in layer.arguments], [None] * 4 + [(0, 5), (-1, 1)])
        x = layer.example()
        scores = x["q"] @ x["k"].T + x["table"][x["bucket"]] + x["table"][x["shift"] + 1]
        np.testing.assert_allclose(layer(**x), common.softmax(scores) @ x["v"], atol=1e-5)

        def error_of(**changed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with self.assertRaises(skewer.KernelError) as wrong:
                    layer(**{**x, **changed})
            return wrong.exception

        for name, place, value, status, expected in (("bucket", (3, 2), 6, 20, "indices in 0..5"),
                                                     ("bucket", (0, 0), -2147483648, 20, "indices in 0..5"),
                                                     ("shift", (7, 4), -2, 21, "indices in -1..1"),
                                                     ("shift", (1, 0), 2147483647, 21, "indices in -1..1")):
            bad = x[name].copy()
            bad[place] = value
            for array in (bad, np.asfortranarray(bad)):  # read where it lies, and copied
                error = error_of(**{name: array})
                self.assertEqual((error.status, error.argument, error.expected, error.found),
                                 (status, name, expected, f"{value} at [{place[0]}, {place[1]}]"))
        np.testing.assert_array_equal(layer(**x), layer(**x))  # and calls go on

    def test_other_refusals_have_no_argument(self):
        x = common.operands()
        with self.assertRaises(skewer.KernelError) as wrong:
            self.layer(**x, out=x["q"])
        self.assertEqual((wrong.exception.status, wrong.exception.argument, wrong.exception.expected), (15, None, None))


class Examples(unittest.TestCase):
    def test_values_that_the_spec_describes(self):
        layer = skewer.compile("""kernel gates(a : f32[4096] ~ 1 + 0.1, b : f16[4096] ~ 0.5..2, c : bf16[4096] ~ 3,
             d : f32[4096]) -> f32[4096] {
  return a * b * c + d
}
""")
        x = layer.example(seed=5)
        x["c"] = (x["c"].astype(np.uint32) << 16).view(np.float32)
        for name, mean, deviation in (("a", 1, 0.1), ("b", 1.25, 1.5 / 12 ** 0.5), ("c", 0, 3), ("d", 0, 1)):
            self.assertAlmostEqual(float(x[name].mean(dtype=np.float64)), mean, delta=deviation / 12)
            self.assertAlmostEqual(float(x[name].std(dtype=np.float64)) / deviation, 1, delta=0.06)
        self.assertTrue((x["b"] >= 0.5).all() and (x["b"] <= 2).all())
        self.assertEqual([array.dtype for array in layer.example().values()],
                         [np.float32, np.float16, np.uint16, np.float32])

    def test_whole_numbers(self):
        layer = skewer.compile("""kernel whole(q : f32[300, 4] ~ 0.01, k : i8[64, 4], v : f32[64, 4], kept : i32[300]) -> f32[300, 4] {
  s = einsum("i d, j d -> i j", q, k)
  return einsum("i j, j d -> i d", softmax(s where j < kept[i]), v)
}
""")
        self.assertEqual([argument.range for argument in layer.arguments], [None] * 4)
        x = layer.example()
        self.assertTrue(x["k"].min() < -100 and x["k"].max() > 100 and (abs(x["k"].astype(int)) <= 127).all())
        self.assertTrue(0 <= x["kept"].min() < 20 and 200 < x["kept"].max() <= 300)
        x["kept"][0] = 5
        scores = np.where(np.arange(64) < x["kept"][:, None], x["q"] @ x["k"].T.astype(np.float32), -np.inf)
        got, some = layer(**x), x["kept"] > 0
        np.testing.assert_allclose(got[some], common.softmax(scores[some]) @ x["v"], atol=1e-5)
        self.assertTrue((got[~some] == 0).all())


class AtExit(unittest.TestCase):
    def test_a_process_with_threads_ends(self):
        code = "import common, skewer; skewer.compile(common.TINY)(**common.operands(), threads=3)"
        subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), check=True,
                       timeout=120)


if __name__ == "__main__":
    unittest.main()
