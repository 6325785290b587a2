"""LayoutLMv3 (arXiv:2204.08387; transformers modeling_layoutlmv3.py). score = (q.k + rel_1d + rel_x + rel_y) / sqrt(dim).
rel_1d: T5 buckets of j - i (32, up to 128). rel_x, rel_y: T5 buckets (64, up to 256) of x_j - x_i (left edges of the boxes) and
y_j - y_i (lower edges), coordinates 0..1000 known at run time.
The published bucket function is evaluated in f32. lengths: tokens of a row that are no padding.
"""
import math
import numpy as np

BENCH = ["N=709", "heads=12", "dim=64"]
N, HEADS, DIM = 67, 3, 16


def relative_position_bucket(relative, num_buckets, max_distance):
    half = num_buckets // 2
    exact = half // 2
    n = np.abs(relative)
    ratio = np.log(np.maximum(n, 1).astype(np.float32) / np.float32(exact)) / np.float32(math.log(max_distance / exact))
    large = exact + (ratio * np.float32(half - exact)).astype(np.int64)
    return (relative > 0) * half + np.where(n < exact, n, np.minimum(large, half - 1))


def inputs(rng):
    shape = (2, HEADS, N, DIM)
    return {
        "q": rng.standard_normal(shape).astype(np.float32),
        "k": rng.standard_normal(shape).astype(np.float32),
        "v": rng.standard_normal(shape).astype(np.float32),
        "t1": rng.standard_normal((32, HEADS)).astype(np.float32),
        "tx": rng.standard_normal((64, HEADS)).astype(np.float32),
        "ty": rng.standard_normal((64, HEADS)).astype(np.float32),
        "x": rng.integers(0, 1001, (2, N)).astype(np.int32),
        "y": np.sort(rng.integers(0, 1001, (2, N)) // 40 * 40, axis=1).astype(np.int32),
        "lengths": np.array([N, 45], np.int32),
    }


def oracle(q, k, v, t1, tx, ty, x, y, lengths):
    out = np.zeros_like(q)
    token = np.arange(N)
    for b in range(q.shape[0]):
        keys = token[: lengths[b]]
        for i in range(N):
            one = relative_position_bucket(keys - i, 32, 128)
            bx = relative_position_bucket((x[b, keys] - x[b, i]).astype(np.int64), 64, 256)
            by = relative_position_bucket((y[b, keys] - y[b, i]).astype(np.int64), 64, 256)
            for h in range(HEADS):
                s = (k[b, h, keys] @ q[b, h, i] + t1[one, h] + tx[bx, h] + ty[by, h]) / np.sqrt(DIM)
                p = np.exp(s - s.max())
                out[b, h, i] = (p / p.sum()) @ v[b, h, keys]
    return out
