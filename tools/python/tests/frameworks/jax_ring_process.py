"""One process of a ring of JAX, as test_jax_ring.py starts it: jax_ring_process.py RANK RANKS PORT WHAT.

Compares its share with the whole layer and prints the error. If WHAT is "die" or "hang", rank 1 dies or does nothing, and the
others go on with calls.
"""

import os
import sys
import time
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import skewer
from skewer import jax_ring

SPEC = Path(__file__).parents[4] / "examples" / "ring" / "ring.attn"
N = 96


def main():
    rank, ranks, port, what = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    jax.distributed.initialize(f"localhost:{port}", ranks, rank)
    mesh = Mesh(np.array(jax.devices()), ("sequence",))
    part, everywhere = PartitionSpec(None, None, "sequence"), PartitionSpec()

    def put(array, spec):
        return jax.make_array_from_callback(array.shape, NamedSharding(mesh, spec), lambda index: array[index])

    layer = skewer.compile(SPEC, kernel="whole", N=N)
    given = layer.example(batch=2)
    attend = jax_ring.Ring(SPEC, N, ranks=ranks, axis_name="sequence")
    call = jax.jit(jax.shard_map(lambda q, k, v, table: attend(q=q, k=k, v=v, table=table)[0], mesh=mesh,
                                 in_specs=(part, part, part, everywhere), out_specs=part))
    operands = [put(np.asarray(attend.place(given[name])), part) for name in "qkv"] + [put(given["table"], everywhere)]
    got = np.asarray(call(*operands).addressable_shards[0].data)
    again = np.asarray(call(*operands).addressable_shards[0].data)
    whole = layer(**given)[0]
    error = np.abs(got - whole[:, :, attend.placement.positions(rank)]).max() / np.abs(whole).max()
    print("difference", error, "same" if np.array_equal(got, again) else "other bits", flush=True)
    if what != "compute":
        if rank == 1:
            time.sleep(40 if what == "hang" else 0)
            os._exit(9)
        start = time.monotonic()
        try:
            while True:
                jax.block_until_ready(call(*operands))
        except Exception as wrong:
            print("error", time.monotonic() - start, str(wrong).splitlines()[0], flush=True)
        os._exit(3)


if __name__ == "__main__":
    main()
