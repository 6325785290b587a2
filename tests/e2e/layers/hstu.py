"""HSTU (arXiv:2402.17152; facebookresearch/generative-recommenders, RelativeBucketedTimeAndPositionBasedBias): the bias of a
query is of the event behind it, `ext_timestamps`, and a bucket is log(max(|dt|, 1)) / 0.301 in f32, cut to a whole number.
The weights are silu(scores) / N, causal.
"""
import numpy as np

BENCH = ["N=1024", "heads=8", "dim=64", "buckets=128"]
N, HEADS, DIM, BUCKETS = 37, 2, 12, 64


def inputs(rng):
    shape = (2, HEADS, N, DIM)
    steps = np.floor(np.exp(rng.uniform(0, 16, (2, N)))).astype(np.int64)
    steps[:, 4:7] = 0
    steps[1, 1:] = np.floor(np.exp(rng.uniform(0, 3, N - 1)))
    return {
        "q": rng.standard_normal(shape).astype(np.float32),
        "k": rng.standard_normal(shape).astype(np.float32),
        "v": rng.standard_normal(shape).astype(np.float32),
        "position": rng.standard_normal(2 * N - 1).astype(np.float32),
        "time": rng.standard_normal(BUCKETS + 1).astype(np.float32),
        "times": (1_600_000_000 + np.cumsum(steps, 1)).astype(np.int32),
    }


def oracle(q, k, v, position, time, times):
    i, j = np.arange(N)[:, None], np.arange(N)
    following = np.concatenate([times, times[:, -1:]], 1).astype(np.int64)
    passed = np.abs(following[:, 1:, None] - times[:, None].astype(np.int64))
    bucket = (np.log(np.maximum(passed, 1).astype(np.float32)) / np.float32(0.301)).astype(np.int64)
    s = np.einsum("bhid,bhjd->bhij", q, k) + position[j - i + N - 1] + time[np.clip(bucket, 0, BUCKETS)][:, None]
    return np.einsum("bhij,bhjd->bhid", np.where(j <= i, s / (1 + np.exp(-s)) / N, 0), v)
