"""Attention over a sequence that several processes share, and beside it the whole layer in one process.

usage: torchrun --nproc-per-node=4 ring.py [LENGTH]
"""
import os
import sys

import torch
import torch.distributed as dist

import skewer
from skewer import ring


def main():
    length = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    spec = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ring.attn")
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    attend = ring.Ring(spec, length, timeout=60)
    generator = torch.Generator().manual_seed(1)  # the same operands in every process, each of which keeps its share
    q, k, v = (torch.randn(1, 2, length, 16, generator=generator) for _ in range(3))
    table = torch.randn(2 * length - 1, 16, generator=generator)
    out, lse = attend(q=attend.share(q), k=attend.share(k), v=attend.share(v), table=table)
    whole = attend.gather(out)
    if attend.rank == 0:
        expected, _ = skewer.compile(spec, kernel="whole", N=length)(q, k, v, table)
        difference = ((whole - expected).abs().max() / expected.abs().max()).item()
        print(f"{attend.ranks} processes, {length} positions: largest difference {difference:.1e} of the largest value")
        if difference > 1e-5:
            sys.exit("that is too much")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
