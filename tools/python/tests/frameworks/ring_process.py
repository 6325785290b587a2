"""One process of a ring, as test_ring.py starts it: ring_process.py RANK RANKS FOLDER WHAT CAUSAL.

Writes its results to FOLDER/RANK.npz. After an exception it prints the type, the seconds that passed, and the text.
"""

import datetime
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from skewer import ring

SPEC = Path(__file__).parents[4] / "examples" / "ring" / "ring.attn"
N, TIMEOUT = 96, 4.0


def operands(batch=2):
    """Returns q, k, v and the table, which are the same in every process."""
    generator = np.random.default_rng(7)
    made = {name: generator.standard_normal((batch, 2, N, 16), np.float32) for name in "qkv"}
    made["table"] = generator.standard_normal((2 * N - 1, 16), np.float32)
    return {name: torch.from_numpy(array) for name, array in made.items()}


def call(attend, given):
    out, lse = attend(**{name: tensor if name == "table" else attend.share(tensor)[:, :, :given.get("most")]
                         for name, tensor in given.items() if name != "most"})
    return out, lse


CHANGES = {"batch": lambda given: operands(3), "type": lambda given: {**given, "k": given["k"].double()},
           "share": lambda given: {**given, "most": 7}, "table": lambda given: {**given, "table": given["table"][1:]}}


def main():
    rank, ranks, folder, what, causal = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], \
        sys.argv[5] == "causal"
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks,
                            timeout=datetime.timedelta(seconds=120))
    dist.barrier()  # a late start does not count as late in the ring
    group = None if what in ("compute", "late") else dist.new_group(timeout=datetime.timedelta(seconds=TIMEOUT))
    attend = ring.Ring(SPEC, N, group=group, causal=causal, threads=1, timeout=TIMEOUT if what == "late" else None)
    dist.barrier()
    out, lse = call(attend, operands())
    if what == "compute":
        again = [call(attend, operands()) for _ in range(3)]
        same = all(torch.equal(out, other) and torch.equal(lse, more) for other, more in again)
        np.savez(folder / f"{rank}.npz", out=attend.gather(out).numpy(), lse=attend.gather(lse, -1).numpy(), same=same)
        dist.barrier()
        dist.destroy_process_group()
        return
    if what in CHANGES:  # rank 1 changes an operand at a later call; the others go on as before
        given = operands()
        if rank == 1:
            given = CHANGES[what](given)
    else:
        given = operands()
        if rank == 1 and what == "die":
            os._exit(9)
        if rank == 1:  # "hang", "late": it lives, and does nothing
            time.sleep(10 * TIMEOUT)
            os._exit(9)
    start = time.monotonic()
    try:
        while True:  # the first calls may succeed with messages that had arrived before
            call(attend, given)
    except Exception as error:
        print(type(error).__name__, time.monotonic() - start, error, flush=True)
    os._exit(3)  # a group that lost a process cannot be closed in order


if __name__ == "__main__":
    main()
