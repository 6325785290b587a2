#!/usr/bin/env python3
"""Compares `skewer run` with the evaluator of attn_text, for texts on the same random operands.

    compare.py --skewer build/release/bin/skewer examples/*/*.attn dialect/LANGUAGE.md [-D N=32] [--size batch=3] [--origin q0=4]

A .md file gives its blocks of `attn`. A .txt file begins with a kernel, and has a body for it on each further line. In an .attn
file, comments before `kernel` may have options (`# -D N=24`, `# --origin q0=3`). The script compares every kernel. Exits with
1 if a kernel differs, or if only one side refuses it; with --refused, if one side does not refuse it.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from attn_text import AttnError, Program, evaluate  # noqa: E402
from attn_text import syntax as s  # noqa: E402
from attn_text.parser import parse_file  # noqa: E402
from attn_text.scope import Scope  # noqa: E402

# Shares of the largest value: for f32 the tolerance of `skewer run`, for other types the rounding of the result alone.
TOLERANCE = {"f32": 2e-6, "f16": 2e-3, "bf16": 1.5e-2}


def texts_of(path):
    """Yields (name, text) of the texts in a file."""
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    if path.endswith(".txt"):
        before, _, bodies = text.partition("\n\n")
        return [(line, f"{before}\n  {line}\n}}\n") for line in bodies.splitlines()]
    if not path.endswith(".md"):
        return [(os.path.basename(path), text)]
    found = re.finditer(r"^```attn\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [(f"{os.path.basename(path)}:{text.count(chr(10), 0, m.start()) + 2}", m.group(1)) for m in found]


def rounded(array, element):
    if element == "f16":
        return array.astype(np.float16).astype(np.float32)
    if element == "bf16":
        bits = array.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    if element == "f8e4m3":  # all its positive numbers, and the nearest of them; of two equally near, the one of even bits
        every = np.array([fraction * 2.0**-9 for fraction in range(8)] +
                         [(8 + fraction) * 2.0**(exponent - 10) for exponent in range(1, 16) for fraction in range(8)])[:127]
        size = np.abs(array)[..., None].clip(max=448)
        distance = np.abs(size - every)
        nearest = distance == distance.min(-1, keepdims=True)
        even = nearest & (np.arange(127) % 2 == 0)
        chosen = np.where(even.any(-1, keepdims=True), even, nearest).argmax(-1)
        return (every[chosen] * np.sign(array)).astype(np.float32)
    return array.astype(np.float32)


def operands(program, kernel, sizes, rng):
    """Returns random operands for the types: normal numbers of the deviation, or whole numbers of the range."""
    saved, program.constants = program.constants, {**program.constants, **sizes}
    scope, out = Scope(program), {}
    longest = 1
    for _, kind in kernel.results:
        known = [scope.whole(size) for size in kind.sizes[:-1] if not (isinstance(size, s.Name) and size.name in sizes)]
        longest = max([longest] + known)
    for name, kind in kernel.operands:
        shape = [scope.whole(size) for size in kind.sizes]
        if kind.element == "i32":
            low, high = (0, longest) if kind.low is None else (scope.whole(kind.low), scope.whole(kind.high))
            out[name] = rng.integers(low, high, shape, endpoint=True).astype(np.int32)
        elif kind.element == "i8":
            out[name] = rng.integers(-128, 127, shape, endpoint=True).astype(np.int8)
        elif kind.between is not None:
            low, high = (scope.number(each) for each in kind.between)
            out[name] = rounded(rng.uniform(low, high, shape), kind.element)
        else:
            deviation = 1.0 if kind.deviation is None else scope.number(kind.deviation)
            mean = 0.0 if kind.mean is None else scope.number(kind.mean)
            out[name] = rounded(mean + deviation * rng.standard_normal(shape), kind.element)
    program.constants = saved
    return out


def origins_of(program, kernel, sizes, given, rng):
    """Returns the origins of the parts of a kernel: those given, else random ones inside the whole."""
    saved, program.constants = program.constants, {**program.constants, **sizes}
    scope, out = Scope(program), {}
    for statement in kernel.body:
        if isinstance(statement, s.Part):
            room = scope.whole(statement.whole) - scope.whole(statement.length) if statement.length is not None else 0
            out[statement.origin] = given.get(statement.origin, int(rng.integers(0, max(room, 0), endpoint=True)))
    program.constants = saved
    return out


def run_skewer(skewer, text, kernel, inputs, defines, origins):
    """Runs the kernel. Returns ({result: array}, "") or (None, the first line of the error)."""
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "text.attn")
        with open(spec, "w", encoding="utf-8") as stream:
            stream.write(text)
        command = [skewer, "run", spec, f"--kernel={kernel.name}", "--rows=1", "--tolerance=1e9"]
        command += [each for name, value in defines.items() for each in ("-D", f"{name}={value}")]
        command += [each for name, value in origins.items() for each in ("--origin", f"{name}={value}")]
        for name, array in inputs.items():
            np.save(f"{folder}/in-{name}.npy", array)
            command += ["--input", f"{name}={folder}/in-{name}.npy"]
        for at, (name, _) in enumerate(kernel.results):
            command += ["--output", f"{name}={folder}/out{at}.npy" if name else f"{folder}/out{at}.npy"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        outs = [f"{folder}/out{at}.npy" for at in range(len(kernel.results))]
        if not all(map(os.path.exists, outs)):
            errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["?"]
            return None, f"exit {done.returncode}: " + re.sub(r"^.*text\.attn:", "", errors[0])
        return {name: np.load(out).astype(np.float64) for (name, _), out in zip(kernel.results, outs)}, ""


def refusal_of(skewer, text, defines):
    """Returns the first error of the compiler, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "text.attn")
        with open(spec, "w", encoding="utf-8") as stream:
            stream.write(text)
        command = [skewer, "explain", spec] + [each for item in defines.items() for each in ("-D", "=".join(item))]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        return re.sub(r"^.*text\.attn:", "", errors[0]) if done.returncode == 1 and errors else None


def error_of(got, want):
    """Returns (a fault or None, the error as a share of the largest value)."""
    if got.shape != want.shape:
        return f"shapes {got.shape} and {want.shape}", np.inf
    finite = np.isfinite(want) & np.isfinite(got)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    if not np.all(finite | same):
        at = tuple(int(n[0]) for n in np.nonzero(~(finite | same)))
        return f"{got[at]} and {want[at]} at {at}", np.inf
    if not np.any(finite):
        return None, 0.0
    scale = max(np.abs(want[finite]).max(), np.finfo(np.float32).tiny)
    return None, float(np.abs(got[finite] - want[finite]).max() / scale)


class Comparison:
    def __init__(self, skewer, defines=None, sizes=None, origins=None, seed=1):
        self.skewer, self.defines, self.origins, self.seed = skewer, defines or {}, origins or {}, seed
        self.sizes = sizes or {}

    def asked_for(self, text):
        """Returns the options in the text's comments."""
        comments = " ".join(re.findall(r"^#(.*)$", text, re.MULTILINE))
        found = {key: dict(re.findall(rf"(?<!\S){key}[ =](\w+)=([^\s,]*[^\s,.])", comments)) for key in ("-D", "--size", "--origin")}
        numbers = (lambda pairs: {name: int(value) for name, value in pairs.items()})
        return {**found["-D"], **self.defines}, {**numbers(found["--size"]), **self.sizes}, \
            {**numbers(found["--origin"]), **self.origins}

    def kernels(self, text):
        """Yields (kernel, verdict, message). The verdict is same, DIFFERENT, refused (by both) or REFUSED (by one)."""
        defines, given, origins = self.asked_for(text)
        try:
            known = {param.name for param in parse_file(text).params}
            program = Program(text, {name: value for name, value in defines.items() if name in known})
        except AttnError as error:
            theirs = refusal_of(self.skewer, text, defines)
            yield None, *(("refused", f"compiler: {theirs} | evaluator: {error}") if theirs else
                          ("REFUSED", f"by the evaluator: {error}"))
            return
        names = {name: given.get(name, 2) for name, _ in program.file.sizes}
        for kernel in program.file.kernels.values():
            rng, inputs, begins = np.random.default_rng(self.seed), {}, {}
            try:
                inputs = operands(program, kernel, names, rng)
                begins = origins_of(program, kernel, names, origins, rng)
                want, mine = evaluate(program, inputs, kernel.name, names, begins), ""
            except AttnError as error:
                want, mine = None, str(error)
            except Exception as error:  # pylint: disable=broad-except
                yield kernel.name, "BROKEN", f"the evaluator: {error!r}"
                continue
            used = {name: value for name, value in defines.items() if name in known}
            got, theirs = run_skewer(self.skewer, text, kernel, inputs, used, begins)
            yield (kernel.name, *self.verdict(kernel, got, theirs, want, mine))

    def verdict(self, kernel, got, theirs, want, mine):
        if want is None or got is None:
            if want is None and got is None:
                return "refused", f"compiler: {theirs} | evaluator: {mine}"
            return "REFUSED", f"by the compiler: {theirs}" if got is None else f"by the evaluator: {mine}"
        worst = 0.0
        for name, kind in kernel.results:
            strange, error = error_of(got[name], want[name])
            if strange or error > TOLERANCE[kind.element]:
                return "DIFFERENT", f"{name or ''} {strange or f'{error:.1e} of the largest value'}"
            worst = max(worst, error)
        return "same", f"{worst:.1e}"


def pairs(values):
    return dict(value.split("=", 1) for value in values)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--skewer", required=True)
    p.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--size", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--origin", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--quiet", action="store_true", help="say only what is not the same")
    p.add_argument("--refused", action="store_true", help="these texts mean nothing")
    p.add_argument("files", nargs="+")
    a = p.parse_args()
    comparison = Comparison(a.skewer, pairs(a.D), {k: int(v) for k, v in pairs(a.size).items()},
                            {k: int(v) for k, v in pairs(a.origin).items()}, a.seed)
    count = {}
    for path in a.files:
        for name, text in texts_of(path):
            for kernel, verdict, what in comparison.kernels(text):
                count[verdict] = count.get(verdict, 0) + 1
                if verdict != ("refused" if a.refused else "same") or not a.quiet:
                    print(f"{name:32s} {kernel or '':20s} {verdict:9s} {what}", flush=True)
    print(", ".join(f"{n} {v}" for v, n in sorted(count.items())))
    sys.exit(1 if set(count) - {"refused" if a.refused else "same"} else 0)


if __name__ == "__main__":
    main()
