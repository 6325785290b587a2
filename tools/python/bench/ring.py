#!/usr/bin/env python3
"""Measures ring attention against one process, and predicts its cost on many machines.

    ring.py measure [N] [RANKS] [THREADS]       starts RANKS processes here and times their rings, computation and waits
    ring.py predict --pair=S --join=S --rest=S  computes a table for many ranks from measured seconds

The layer is examples/ring/ring.attn with 8 heads of 64; tables of relative positions, causal, batch 1.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = Path(__file__).parents[3] / "examples" / "ring" / "ring.attn"
HEADS, DIM = 8, 64


class Timed:
    """A layer whose calls are timed."""

    def __init__(self, layer, times):
        self.layer, self.times = layer, times

    def __getattr__(self, name):
        return getattr(self.layer, name)

    def __call__(self, *arrays, **named):
        start, busy = time.perf_counter(), time.process_time()
        made = self.layer(*arrays, **named)
        self.times.append((time.perf_counter() - start, time.process_time() - busy))
        return made


def one(rank, ranks, folder, length, threads, rounds=5):
    """Runs one process of the ring. Returns the seconds of a call, and its parts: the step kernel, the join and the rest."""
    import torch
    import torch.distributed as dist

    from skewer import ring

    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    torch.set_num_threads(threads)
    attend = ring.Ring(SPEC, length, threads=threads, heads=HEADS, dim=DIM)
    torch.manual_seed(rank)
    share = attend.placement.share
    given = {name: torch.randn(1, HEADS, share, DIM) for name in "qkv"}
    given["table"] = torch.randn(2 * length - 1, DIM)
    spent = {"step": [], "join": []}

    attend(**given)
    attend.kernels = attend.kernels._replace(**{name: Timed(getattr(attend.kernels, name), times)
                                                for name, times in spent.items()})
    calls = []
    for _ in range(rounds):
        for times in spent.values():
            times.clear()
        dist.barrier()
        start, busy = time.perf_counter(), time.process_time()
        attend(**given)
        calls.append((time.perf_counter() - start, time.process_time() - busy, *map(tuple, spent.values())))
    dist.barrier()
    if rank == 0:
        report(attend, f"N = {length}, {ranks} processes of {threads} threads", calls)
    dist.destroy_process_group()


def report(attend, title, calls):
    """Prints the median call by both clocks: seconds that passed, and seconds of processors. Other work on the machine hardly
    changes the latter."""
    placement, middle = attend.placement, len(calls) // 2
    for clock, name in enumerate(("seconds that passed", "seconds of processors")):
        call, step, join = sorted((call[clock], sum(times[clock] for times in call[2]),
                                   sum(times[clock] for times in call[3])) for call in calls)[middle]
        pairs, joins = len(calls[0][2]), len(calls[0][3])
        rest = call - step - join
        print(f"{title}; {name}: a call {1e3 * call:.1f} ms\n"
              f"  {pairs} pairs of pieces of {placement.size}: {1e3 * step / pairs:.3f} ms each, "
              f"{step / call:.1%} of a call\n"
              f"  {joins} joins: {1e3 * join / max(joins, 1):.3f} ms each, {join / call:.1%}\n"
              f"  all else (cutting, packing, messages, Python): {1e3 * rest / placement.ranks:.3f} ms a step, "
              f"{rest / call:.1%}")
    print(f"  ring.py predict --piece={placement.size} --pair={step / pairs:.6f} --join={join / max(joins, 1):.6f} "
          f"--rest={rest / placement.ranks:.6f}")


def measure(length, ranks, threads):
    with tempfile.TemporaryDirectory() as folder:
        started = [subprocess.Popen([sys.executable, __file__, "one", str(rank), str(ranks), folder, str(length),
                                     str(threads)]) for rank in range(ranks)]
        return max(process.wait() for process in started)


def predict(options):
    """Prints predicted times. A step has 2 pairs, joins twice and sends its keys meanwhile; the first has 3 pairs and 1 join."""
    message = 2 * 2 * options.piece * HEADS * DIM * 4  # keys and values of two pieces, f32
    compute = 2 * options.pair + 2 * options.join
    print(f"pieces of {options.piece}: {message / 1e6:.2f} MB a message; a step computes {1e3 * compute:.3f} ms and "
          f"costs {1e3 * options.rest:.3f} ms more")
    print("| ranks | N | GB/s | message, ms | a step, ms | waiting, ms | all steps, s | of it computing |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for ranks in options.ranks:
        for bandwidth in options.bandwidths:
            travel = options.latency + message / (bandwidth * 1e9)
            step = max(compute, travel) + options.rest
            whole = (ranks - 1) * step + 3 * options.pair + options.join + options.rest
            useful = (2 * ranks + 1) * options.pair
            waiting = max(0, travel - compute)
            print(f"| {ranks:,} | {2 * ranks * options.piece:,} | {bandwidth:g} | {1e3 * travel:.3f} "
                  f"| {1e3 * step:.3f} | {1e3 * waiting:.3f} | {whole:.3f} | {useful / whole:.1%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "predict", "one"))
    parser.add_argument("numbers", nargs="*")
    parser.add_argument("--piece", type=int, default=1024)
    parser.add_argument("--pair", type=float, help="seconds of the step kernel on a pair of pieces")
    parser.add_argument("--join", type=float)
    parser.add_argument("--rest", type=float, help="seconds of all else, a step")
    parser.add_argument("--latency", type=float, default=50e-6)
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 128, 1024])
    parser.add_argument("--bandwidths", type=float, nargs="+", default=[0.125, 1.25, 12.5, 50])
    options = parser.parse_args()
    if options.what == "one":
        rank, ranks, folder, length, threads = options.numbers
        return one(int(rank), int(ranks), folder, int(length), int(threads))
    if options.what == "measure":
        length, ranks, threads = [*map(int, options.numbers), *[8192, 4, 1][len(options.numbers):]]
        return measure(length, ranks, threads)
    if None in (options.pair, options.join, options.rest):
        parser.error("predict needs --pair, --join and --rest, which measure prints")
    return predict(options)


if __name__ == "__main__":
    sys.exit(main())
