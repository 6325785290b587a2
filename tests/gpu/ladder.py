#!/usr/bin/env python3
"""Runs steps on this machine's GPU within a budget of seconds, the most important ones first:

  card         the card, its driver and its clocks
  smoke        one layer in a few shapes: if there is no GPU, everything ends here with exit code 3
  replay       kernels that the interpreter ran: of --launches FOLDER, or of GpuOrderTests beside skewer (replay.py)
  speed        times of the layers of speed.py by `skewer bench`, beside what the model says of them, PyTorch's kernels,
               and the peaks in the same run
  repeats      the same layers at the same sizes, compared with the reference and with themselves
  copies       the same layers with copies by threads and by TMA: compared, then timed side by side (sm_90a)
  matrix       the layers of matrix.py in six shapes and three types, and its long sums
  random       random layers: those of --random FILE (what `skewer-fuzz --gpu --print` prints), or of skewer-fuzz beside
               skewer
  conformance  layers of published models against their own outputs
  layers       layers of deployed models against NumPy's oracles
  narrow       the same in f16 and bf16, against the float64 reference
  sanitizer    a sample of the matrix under compute-sanitizer, where there is one

A step may pin parts of the schedule, as in matrix:engine=wgmma, random:rows=64+keys=64 or matrix:copies=tma; a layer that
an engine, or that way to copy, refuses by name is then counted by itself.

Every run is a process of its own that is killed after --kill seconds: a kernel that hangs stops no other. What is
checked is run --repeats times, and every run must return the same bytes. Runs that are checked share the GPU, --jobs at
a time; runs that are timed compile side by side and take turns on the GPU.

What does not fit the budget is left out and counted. The script prints a line for each failure and each step. It writes
ladder.json into --out, or into the folder that the variable OUT names, after each step. Exit codes: 0 if what ran is
right, 1 if something is wrong, 3 if there is no GPU.

  ladder.py --skewer build/release/bin/skewer --budget 300
  ladder.py --steps speed --layers 'plain*' --variant now= --variant 'small=--schedule rows=64,keys=64'
  ladder.py --steps speed --variant now= --variant 'two@plain-128,causal-*=--schedule stages=2'
"""
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from rungs.options import STEPS, parse  # noqa: E402
from rungs.record import Ladder  # noqa: E402

# Keeps the driver loaded between the runs, so that each opens the GPU faster.
HOLD = """import ctypes, sys
driver, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0:
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
sys.stdin.read()
"""


def main():
    options = parse(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder  # the lock of turns is this run's own
        ladder = Ladder(options, folder)
        holder = None
        if options.target != "host":
            holder = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
        try:
            for step, ladder.pins in options.steps:
                if ladder.seconds_left() > 0:
                    STEPS[step](ladder)
                else:
                    print(f"== {step}: left out, the budget is spent", flush=True)
        finally:
            ladder.processes.kill_all()
            ladder.save()
            if holder:
                holder.kill()
    wrong = sum(step["wrong"] for step in ladder.found["steps"])
    said = [f"{step['step']} {step['right']}/{step['right'] + step['wrong']}" +
            (f" ({step['left_out']} left out)" if step["left_out"] else "") for step in ladder.found["steps"]]
    print("; ".join(said) + f"; {time.monotonic() - ladder.begin:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
