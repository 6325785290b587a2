"""Tests the calls of CUDA's driver for memory of a GPU, with a driver that needs no GPU (tests/e2e/inputs/fake_cuda.c). The
driver's memory is the processor's, and its kernels copy one argument to another."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import common

import skewer
from skewer import _torch_op, jax as skewer_jax

ROOT = Path(__file__).parents[4]

# A process with that driver calls layers with objects whose DLPack says that they are on a GPU.
PREAMBLE = """
import contextlib, ctypes, sys
import common, numpy as np, torch
import skewer
from skewer import _gpu, _torch_op
from test_call import elsewhere

driver = ctypes.CDLL("libcuda.so.1") if len(sys.argv) < 2 else None
NUMPY = {torch.float32: np.float32, torch.uint8: np.uint8}

class OnGpu:
    is_cuda, requires_grad = True, False

    def __init__(self, values, number=0):
        address = ctypes.c_uint64()
        if driver:
            assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(values.nbytes)) == 0
            memory = (ctypes.c_char * values.nbytes).from_address(address.value)
        else:
            memory = bytearray(values.nbytes)
        self.values = np.frombuffer(memory, values.dtype).reshape(values.shape)
        self.values[...] = values
        self.number, self.device = number, f"cuda:{number}"

    def __dlpack_device__(self):
        return 2, self.number

    def __dlpack__(self, **_):
        return elsewhere(self.values, 2, self.number)

    def data_ptr(self):
        return self.values.ctypes.data

class CurrentDevice(contextlib.nullcontext):
    pass

torch.cuda.device = CurrentDevice
_gpu._new = lambda shape, dtype, device: OnGpu(np.zeros(tuple(shape), NUMPY[dtype]))
_gpu._stream = lambda device: 7
layer = skewer.compile(common.TINY, target="x86-64-v2,sm_80")
x = {name: OnGpu(values) for name, values in common.operands().items()}

def refused(argument, expected, found, **changed):
    try:
        layer(**{**x, **changed})
    except skewer.ArgumentError as error:
        assert (error.argument, expected in error.expected, error.found) == (argument, True, found), str(error)
    else:
        raise AssertionError("not refused")
"""

CALLS = PREAMBLE + """
for out in (layer(**x), _torch_op._implementation_on_gpu(layer)(*x.values())):
    np.testing.assert_array_equal(out.values, x["q"].values)
    assert out.number == 0
out = OnGpu(np.zeros((2, 8, 4), np.float32))
assert layer(**x, out=out) is out
np.testing.assert_array_equal(out.values, x["q"].values)
# The same layer on the processor.
own = common.operands()
np.testing.assert_allclose(layer(**own), common.tiny(**own), atol=1e-6)
refused("k", "memory of a GPU", "memory of the processor", k=own["k"])
refused("k", "memory of CUDA device 0", "memory of CUDA device 1", k=OnGpu(own["k"], 1))
refused("v", "8", "7", v=OnGpu(own["v"][:, :7].copy()))
refused("out", "memory of a GPU", "memory of the processor", out=np.zeros((2, 8, 4), np.float32))
try:
    skewer.compile(common.TINY, target="x86-64-v2")(**x)
except skewer.ArgumentError as error:
    assert "target='host,sm_90a'" in error.expected and error.found == "memory of CUDA device 0", error
alone = skewer.compile(common.TINY, target="sm_80")
np.testing.assert_array_equal(alone(**x).values, x["q"].values)
try:
    alone(**own)
except skewer.ArgumentError as error:
    assert error.argument == "q" and "GPUs alone" in error.expected, error
print("good")
"""

NO_DRIVER = PREAMBLE + """
try:
    layer(**x)
except skewer.KernelError as error:
    assert error.status == 64 and "libcuda.so.1" in str(error), error
    print("good")
"""


class Calls(unittest.TestCase):
    def run_with(self, code, *arguments, **environment):
        tests = Path(__file__).parents[1]
        done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tests, capture_output=True, text=True, timeout=300,
                              env={**os.environ, "PYTHONPATH": str(tests), **environment}, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "good\n"), done.stderr)

    def test_what_the_driver_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.environ.get("CC", "clang-22"), "-shared", "-fPIC", ROOT / "tests/e2e/inputs/fake_cuda.c", "-o",
                            Path(folder) / "libcuda.so.1"], check=True)
            log = Path(folder) / "log"
            self.run_with(CALLS, LD_LIBRARY_PATH=folder, FAKE_CUDA_LOG=str(log), FAKE_CUDA_COPY="0 3 256")
            lines = log.read_text().splitlines()
        launches = [line for line in lines if line.startswith("cuLaunchKernel")]
        self.assertEqual(len(launches), 4, lines)
        for line in launches:
            self.assertRegex(line, r"^cuLaunchKernel tiny.*: \d+ blocks of \d+, \d+ bytes, stream 7$")
        self.assertEqual(sum(line.startswith("cuModuleLoadDataEx") for line in lines), 2, "once a layer")

    @unittest.skipIf(any(Path(folder, "libcuda.so.1").exists() for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64")), "a driver")
    def test_no_driver(self):
        self.run_with(NO_DRIVER, "none")

    def test_operators_of_other_layers_say_what_to_do(self):
        class Somewhere:
            is_cuda, device = True, "cuda:0"

        with self.assertRaisesRegex(skewer.ArgumentError, "v: expected .*target='host,sm_90a'.*found memory of cuda:0"):
            nowhere = type("Here", (), {"is_cuda": False})()
            _torch_op._implementation_on_gpu(skewer.compile(common.TINY))(nowhere, nowhere, Somewhere())

    def test_jax_computes_on_processors(self):
        with self.assertRaisesRegex(skewer.LoadError, "GPUs alone"):
            skewer_jax.op(common.TINY, target="sm_80")


if __name__ == "__main__":
    unittest.main()
