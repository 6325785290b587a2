#!/usr/bin/env python3
"""Compares layers of deployed models with oracles of their own: NAME.attn with NAME.py.

    check.py --skewer build/release/bin/skewer [--target gpu] [--sizes default,whole] [--part 1/4] [NAME …]

It needs Python with NumPy.

NAME.py has `inputs(rng)` -> dict of arrays (float32, or int32 for index operands), and `oracle(**inputs)` -> the result in
float64 (a list if the kernel has several). The oracle follows the paper or the model's code, and uses nothing of Skewer.
Optional constants: TOLERANCE (of the largest value; default 2e-6), KERNEL (of a spec with several), OUTPUTS (names of several
results) and OPTIONS (further arguments of `skewer run`).

The kernel and the float64 reference share the front end, so that `skewer run` alone cannot find a text that the front end
misreads; this script can. Each layer runs at the sizes of its text, and at those of sizes.py, which fill whole vectors. Exits
with 1 if a layer is wrong or refused.
"""
import argparse
import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import sizes  # noqa: E402


def assigned(tree):
    """Yields (name, function that gives it another value) for each constant of a module."""
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        target, = statement.targets
        if isinstance(target, ast.Name):
            yield target.id, lambda value, statement=statement: setattr(statement, "value", value)
        elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            for at, name in enumerate(target.elts):
                yield name.id, lambda value, at=at, elements=statement.value.elts: elements.__setitem__(at, value)


def load(path, constants):
    """Loads the module with other values for some constants, by name or by name in capitals; the rest follows from them."""
    with open(path, encoding="utf-8") as stream:
        tree = ast.parse(stream.read(), path)
    known = dict(assigned(tree))
    for name, value in constants.items():
        change = known.get(name) or known.get(name.upper())
        if change is None:
            raise SystemExit(f"{path}: there is no constant '{name}'")
        change(ast.parse(value, mode="eval").body)
    module = types.ModuleType(os.path.basename(path)[:-3])
    exec(compile(ast.fix_missing_locations(tree), path, "exec"), module.__dict__)  # pylint: disable=exec-used
    return module


def differences(got, want):
    """Returns (verdict, error as a share of the largest value)."""
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}", 0.0
    if (np.isnan(got) != np.isnan(want)).any():
        return "a NaN on one side only", 0.0
    scale = np.abs(want[np.isfinite(want)]).max()
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return None, float(np.where(same, 0, np.abs(got - want)).max() / scale)


def check(skewer, name, folder, which, target="host"):
    params, constants = sizes.parse(name) if which == "whole" else ({}, {})
    m = load(os.path.join(folder, name + ".py"), constants)
    inputs = m.inputs(np.random.default_rng(2026))
    want = m.oracle(**{k: (v.astype(np.float64) if v.dtype.kind == "f" else v) for k, v in inputs.items()})
    want = want if isinstance(want, (list, tuple)) else [want]
    with tempfile.TemporaryDirectory() as d:
        command = [skewer, "run", os.path.join(folder, name + ".attn"), "--rows=1", "--tolerance=1e9", "--target=" + target,
                   *getattr(m, "OPTIONS", [])]
        for param, value in params.items():
            command += ["-D", f"{param}={value}"]
        if hasattr(m, "KERNEL"):
            command.append("--kernel=" + m.KERNEL)
        for key, value in inputs.items():
            np.save(f"{d}/{key}.npy", value)
            command += ["--input", f"{key}={d}/{key}.npy"]
        outs = [f"{d}/out{n}.npy" for n in range(len(want))]
        names = getattr(m, "OUTPUTS", None)
        for n, o in enumerate(outs):
            command += ["--output", f"{names[n]}={o}" if names else o]
        r = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
        if r.returncode:
            return "refused", r.stderr.strip().splitlines()[0][:160] if r.stderr.strip() else f"exit {r.returncode}"
        worst = 0.0
        for o, w in zip(outs, want):
            wrong, error = differences(np.load(o).astype(np.float64), w)
            if wrong:
                return "WRONG", wrong
            worst = max(worst, error)
        # A GPU multiplies f32 by three products of tf32.
        limit = max(getattr(m, "TOLERANCE", 2e-6), 0 if target == "host" else 1e-5)
        return ("right" if worst <= limit else "WRONG"), f"{worst:.1e} of the largest value (at most {limit:.0e})"


def fraction(text):
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not match or int(match[1]) > int(match[2]):
        raise argparse.ArgumentTypeError(f"expected one of so many parts, such as 2/4, found '{text}'")
    return int(match[1]), int(match[2])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--skewer", required=True)
    p.add_argument("--folder", default=HERE)
    p.add_argument("--target", default="host", help="what `skewer run` runs them on: host (default), gpu")
    p.add_argument("--sizes", default="default,whole", help="default: those of the texts; whole: those of sizes.py")
    p.add_argument("--part", type=fraction, default=(1, 1), help="2/4: the second of four parts of the layers")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    if not shutil.which(a.skewer):
        p.error(f"there is no program '{a.skewer}'")
    layers = sorted(os.path.basename(f)[:-5] for f in glob.glob(a.folder + "/*.attn"))
    for what, given, known in (("layer", a.names, layers), ("choice of sizes", a.sizes.split(","), ["default", "whole"])):
        for name in given:
            if name not in known:
                p.error(f"there is no {what} '{name}'; there are {', '.join(known) or 'none in ' + a.folder}")
    names = a.names or layers
    part, parts = a.part
    count = {}
    for name in names[part - 1::parts]:
        for which in a.sizes.split(","):
            try:
                verdict, text = check(a.skewer, name, a.folder, which, a.target)
            except subprocess.TimeoutExpired:
                verdict, text = "refused", "no answer in 600 s"
            count[verdict] = count.get(verdict, 0) + 1
            print(f"{name:20s} {which:8s} {verdict:8s} {text}", flush=True)
    print(", ".join(f"{n} {v}" for v, n in sorted(count.items())))
    sys.exit(1 if set(count) != {"right"} else 0)


if __name__ == "__main__":
    main()
