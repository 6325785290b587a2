"""HaloNet (Vaswani et al. 2021, arXiv:2103.12731), blocked local attention: the map is divided into blocks of b x b queries; each
block attends to the (b + 2h) x (b + 2h) keys of itself and a halo of h around it, with relative logits by key - query along rows
and columns. Keys outside the map do not take part.
"""
import numpy as np

BENCH = ["H=64", "W=64", "block=8", "halo=3", "heads=4", "dim=32"]
H, W, BLOCK, HALO, HEADS, DIM = 22, 19, 4, 1, 3, 16


def inputs(rng):
    rows = 2 * (BLOCK + 2 * HALO) - 1
    return {
        "q": rng.standard_normal((2, HEADS, H * W, DIM)).astype(np.float32),
        "k": rng.standard_normal((2, HEADS, H * W, DIM)).astype(np.float32),
        "v": rng.standard_normal((2, HEADS, H * W, DIM)).astype(np.float32),
        "rel_h": (0.5 * rng.standard_normal((rows, DIM))).astype(np.float32),
        "rel_w": (0.5 * rng.standard_normal((rows, DIM))).astype(np.float32),
    }


def oracle(q, k, v, rel_h, rel_w):
    out = np.zeros_like(q)
    middle = BLOCK + 2 * HALO - 1
    for y0 in range(0, H, BLOCK):
        for x0 in range(0, W, BLOCK):
            near = [(ky, kx) for ky in range(max(y0 - HALO, 0), min(y0 + BLOCK + HALO, H))
                    for kx in range(max(x0 - HALO, 0), min(x0 + BLOCK + HALO, W))]
            keys = [ky * W + kx for ky, kx in near]
            for y in range(y0, min(y0 + BLOCK, H)):
                for x in range(x0, min(x0 + BLOCK, W)):
                    query = q[:, :, y * W + x]
                    relative = np.stack([rel_h[ky - y + middle] + rel_w[kx - x + middle] for ky, kx in near])
                    s = np.einsum("bhd,bhkd->bhk", query, k[:, :, keys]) / np.sqrt(DIM) + query @ relative.T
                    p = np.exp(s - s.max(-1, keepdims=True))
                    out[:, :, y * W + x] = np.einsum("bhk,bhkd->bhd", p / p.sum(-1, keepdims=True), v[:, :, keys])
    return out
