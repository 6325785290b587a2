#!/usr/bin/env python3
"""Measures layers on this machine's GPU with `skewer bench --target=gpu`. If there is a Python with torch (SKEWER_TORCH_PYTHON,
else python3), it also prints PyTorch's time for plain attention of the same sizes. Exits with 3 if there is no GPU, and with 1
if a layer is wrong."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def call(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def torch_python():
    for python in (os.environ.get("SKEWER_TORCH_PYTHON"), sys.executable, shutil.which("python3")):
        if python and call([python, "-c", "import torch; assert torch.cuda.is_available()"]).returncode == 0:
            return python
    return None


def sizes_of(options, spec, name):
    """Returns the shapes of q, k and v of a kernel; None if they are not [batch, heads, N, dim]."""
    with tempfile.TemporaryDirectory() as folder:
        command = [options.skewer, "compile", spec, "--target=sm_80", "--ptx-only", "-o", folder]
        if call(command).returncode:
            return None
        with open(os.path.join(folder, name + ".json"), encoding="utf-8") as stream:
            inputs = json.load(stream)["inputs"][:3]
    given = dict(size.split("=") for size in options.size)
    shapes = [[extent if isinstance(extent, int) else int(given.get(extent, 1)) for extent in tensor["shape"]]
              for tensor in inputs]
    if [tensor["name"] for tensor in inputs] != ["q", "k", "v"] or any(len(shape) != 4 for shape in shapes):
        return None
    return dict(zip("qkv", shapes), type=inputs[0]["type"])


def beside(options, python, spec, name):
    """Returns a readable line about PyTorch's time."""
    sizes = python and sizes_of(options, spec, name)
    if not sizes:
        return ""
    done = call([python, os.path.join(HERE, "torch_peers.py"), json.dumps(sizes)])
    if done.returncode:
        return "torch: " + (done.stderr.strip().splitlines() or ["failed"])[-1]
    peers = json.loads(done.stdout.splitlines()[-1])
    flex = f"{peers['flex_seconds'] * 1e3:.4f} ms" if "flex_seconds" in peers else peers["flex_error"]
    return (f"torch {peers['torch']}, without positions: SDPA {peers['sdpa_seconds'] * 1e3:.4f} ms, FlexAttention with a "
            f"table of distances {flex}; matrix product {peers['matmul_tflops']:.0f} TFLOP/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("specs", nargs="+")
    parser.add_argument("--skewer", default=os.path.join(HERE, "..", "..", "build", "release", "bin", "skewer"))
    parser.add_argument("--size", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    python, wrong = torch_python(), False
    for spec in options.specs:
        sizes = [word for size in options.size for word in ("--size", size)]
        done = call([options.skewer, "bench", spec, "--target=gpu", "--json", *sizes])
        sys.stderr.write(done.stderr)
        if done.returncode == 3:
            sys.exit(3)
        wrong |= done.returncode != 0
        if not done.stdout.strip():
            continue
        report = json.loads(done.stdout)
        for row in report["kernels"]:
            before, after = row["sm_clock_mhz"]
            print(f"{row['name']:<20} {row['median_seconds'] * 1e3:>10.4f} ms {row['tflops']:>8.2f} TFLOP/s  error "
                  f"{row['max_error']:.2g}{'' if row['is_right'] else ' WRONG'}  {report['gpu']} at {before:.0f} and "
                  f"{after:.0f} MHz")
            line = beside(options, python, spec, row["name"])
            if line:
                print(f"{'':<20} {line}", flush=True)
    if not python:
        print("no Python with torch and CUDA was found: nothing to compare with (SKEWER_TORCH_PYTHON names one)")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
