"""Swin Transformer (arXiv:2103.14030; WindowAttention with attn_mask), one block with shifted windows. The batch holds images times
windows, window fastest: row b is window b % windows. mask: -100 for pairs of tokens from different stretches of the shifted map, 0
for others, a matrix for each window. The bias row is (dy + w-1)(2w-1) + dx + w-1 for query minus key. Here 2 images of 2 x 2 windows.
"""
import numpy as np

BENCH = ["w=7", "heads=4", "dim=32", "windows=64"]
W, HEADS, DIM, WINDOWS, IMAGES = 5, 3, 16, 4, 2


def masks():
    image, count = np.zeros((2 * W, 2 * W)), 0
    runs = (slice(-W), slice(-W, -(W // 2)), slice(-(W // 2), None))
    for y in runs:
        for x in runs:
            image[y, x] = count
            count += 1
    parts = image.reshape(2, W, 2, W).transpose(0, 2, 1, 3).reshape(WINDOWS, W * W)
    return np.where(parts[:, :, None] != parts[:, None, :], -100, 0).astype(np.float32)


def inputs(rng):
    shape = (IMAGES * WINDOWS, HEADS, W * W, DIM)
    return {
        "q": rng.standard_normal(shape).astype(np.float32),
        "k": rng.standard_normal(shape).astype(np.float32),
        "v": rng.standard_normal(shape).astype(np.float32),
        "table": (0.5 * rng.standard_normal(((2 * W - 1) ** 2, HEADS))).astype(np.float32),
        "mask": masks(),
    }


def oracle(q, k, v, table, mask):
    token = np.arange(W * W)
    apart = (token[:, None] // W - token // W + W - 1) * (2 * W - 1) + token[:, None] % W - token % W + W - 1
    out = np.zeros(q.shape)
    for b in range(len(q)):
        for h in range(HEADS):
            s = q[b, h].astype(np.float64) @ k[b, h].T / np.sqrt(DIM) + table[apart, h] + mask[b % WINDOWS]
            p = np.exp(s - s.max(1, keepdims=True))
            out[b, h] = p / p.sum(1, keepdims=True) @ v[b, h]
    return out
