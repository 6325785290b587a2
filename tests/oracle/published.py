#!/usr/bin/env python3
"""Compares the evaluator of attn_text with NumPy code of deployed layers and with outputs of models, which know no `.attn`."""
import glob
import json
import os
import sys

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
E2E = os.path.join(HERE, "..", "e2e")
sys.path[:0] = [HERE, os.path.join(E2E, "layers")]
import check  # noqa: E402
import sizes  # noqa: E402
from attn_text import AttnError, Program, evaluate  # noqa: E402


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as stream:
        return stream.read()


def run(program, inputs):
    """Returns the results, or the error."""
    try:
        return list(evaluate(program, inputs).values())
    except AttnError as error:
        return error


def layers():
    """Yields (name, results, expected, tolerance) for each layer, at the sizes of its text and at those that fill vectors."""
    for path in sorted(glob.glob(os.path.join(E2E, "layers", "*.attn"))):
        name = os.path.basename(path)[:-5]
        for params, constants in (({}, {}), sizes.parse(name)):
            layer = check.load(path[:-5] + ".py", constants)
            inputs = layer.inputs(np.random.default_rng(2026))
            want = layer.oracle(**{k: (v.astype(np.float64) if v.dtype.kind == "f" else v) for k, v in inputs.items()})
            yield name, run(Program(read(path), params), inputs), want if isinstance(want, (list, tuple)) else [want], getattr(layer, "TOLERANCE", 2e-6)


def models():
    for path in sorted(glob.glob(os.path.join(E2E, "conformance", "*", "case.json"))):
        folder = os.path.dirname(path)
        case, program = json.loads(read(path)), Program(read(folder, "spec.attn"))
        inputs = {name: np.load(os.path.join(folder, name + ".npy")) for name, _ in program.kernel().operands}
        yield os.path.basename(folder), run(program, inputs), [np.load(os.path.join(folder, case["output"]["file"]))], \
            case["tolerance"]["f32"]


def main():
    count = wrong = 0
    for cases in (layers(), models()):
        for name, got, want, tolerance in cases:
            if isinstance(got, AttnError):
                wrong += 1
                print(f"{name:32s} REFUSED {got}")
                continue
            for one, other in zip(got, want):
                strange, error = check.differences(one, np.asarray(other, np.float64))
                count += 1
                if strange or error > tolerance:
                    wrong += 1
                    print(f"{name:32s} WRONG {strange or f'{error:.1e} of the largest value'}")
    print(f"{count} results, {wrong} wrong")
    sys.exit(1 if wrong or not count else 0)


if __name__ == "__main__":
    main()
