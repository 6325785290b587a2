"""What the tests share: small layers and their results in float64; the code of pages, and a way to run it; tests with a
folder, and with a cache, of their own."""

import contextlib
import os
import re
import tempfile
import unittest
from pathlib import Path

# Tests do not use the user's cache. Each process has a folder, so that a test really compiles its layers.
os.environ["SKEWER_CACHE"] = tempfile.mkdtemp(prefix="skewer-cache-")

import numpy as np  # noqa: E402

TINY = """param N = 8, d = 4
size batch
kernel tiny(q, k, v : f32[batch, N, d]) -> f32[batch, N, d] {
  w = softmax(einsum("b i d, b j d -> b i j", q, k) * d^-0.5)
  return einsum("b i j, b j d -> b i d", w, v)
}
"""

HALVES = TINY.replace("f32", "f16").replace("kernel tiny", "kernel halves")
BFLOATS = TINY.replace("f32", "bf16").replace("kernel tiny", "kernel bfloats")

# A run-time length, and a table whose rows are an expression of it.
LENGTHS = """size N <= 64
kernel along(q, k, v : f32[N, 4], table : f32[2*N - 1, 4]) -> f32[N, 4] {
  s = einsum("i d, j d -> i j", q, k) + einsum("i d, (j - i + N - 1) d -> i j", q, table, j = N)
  return einsum("i j, j d -> i d", softmax(s), v)
}
"""

# Two index operands with ranges of their own.
BUCKETS = """kernel buckets(q, k, v : f32[8, 4], table : f32[6],
                bucket : i32[8, 8] in 0..5, shift : i32[8, 8] in -1..1) -> f32[8, 4] {
  s = einsum("i d, j d -> i j", q, k) + table[bucket[i, j]] + table[shift[i, j] + 1]
  return einsum("i j, j d -> i d", softmax(s), v)
}
"""


def python_of(page):
    """Returns the blocks of Python in a page of the tree."""
    return _blocks(page, "python")


def attn_of(page):
    """Returns the specs in a page of the tree."""
    return _blocks(page, "attn")


def _blocks(page, language):
    text = (Path(__file__).resolve().parents[3] / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def example(*names):
    """Returns the path of a file of the examples."""
    return str(Path(__file__).resolve().parents[3].joinpath("examples", *names))


@contextlib.contextmanager
def working_in(folder):
    """Makes a folder the working directory of the block."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_beside(folder, text, known):
    """Runs Python next to the files of an example. Returns the known names, with those that the text adds."""
    with working_in(example(folder)):
        exec(text, known)
    return known


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def tiny(q, k, v):
    """TINY in float64."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    return softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5) @ v


def operands(batch=2, n=8, d=4, seed=0, dtype=np.float32):
    generator = np.random.default_rng(seed)
    return {name: generator.standard_normal((batch, n, d)).astype(dtype) for name in "qkv"}


def expect_right(layer):
    """Checks that a layer computes TINY."""
    x = operands()
    np.testing.assert_allclose(layer(**x), tiny(**x), atol=1e-6)


class FolderTest(unittest.TestCase):
    """Tests that have an empty folder, each of its own."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(self, "enterContext") else \
            Path(tempfile.mkdtemp())


class CacheTest(FolderTest):
    """Tests whose folder is the cache; `asked` counts what the compiler is asked."""

    def setUp(self):
        from skewer import _cache, _compile  # not before the tests have a cache of their own
        super().setUp()
        self.before = dict(os.environ)
        os.environ["SKEWER_CACHE"] = str(self.folder)
        _cache._memory.clear()
        _cache._warned = False
        self.asked = 0
        original = _compile.ask

        def count(*arguments, **named):
            self.asked += 1
            return original(*arguments, **named)

        _compile.ask = count
        self.addCleanup(setattr, _compile, "ask", original)

    def tearDown(self):
        os.environ.clear()
        os.environ.update(self.before)

    def entries(self):
        return sorted(self.folder.glob("*.kernels"))
