#!/usr/bin/env python3
"""Measures the time in which layers become PTX and a cubin, and lists the layers that go by rows or are refused.

  gpu_compile.py                          the layers of tests/bench/specs, for every target
  gpu_compile.py --wide --target sm_80    heads 128, 192 and 256 wide, in f16 and f32, of several classes

It prints a line for each layer and target: the seconds (with process start), and the compiler's message about tiles. A layer
goes by rows if its registers are spilled in every tile. Exits with 1 if a layer is refused, and with 3 without ptxas. `skewer`
is the one on PATH, or --skewer.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
RELATIVE = '  p = einsum("b h i d, (j - i + N - 1) d -> b h i j", q, r) * D^-0.5\n'
RESULT = '  return einsum("b h i j, b h j d -> b h i d", softmax(%s), v)\n'
# Further operands, and the statements after the content `s`.
CLASSES = {
    "plain": ("", RESULT % "s"),
    "causal": ("", RESULT % "s where j <= i"),
    "rel": (", r : T[2*N - 1, D]", RELATIVE + RESULT % "s + p"),
    "relboth": (", r, r2 : T[2*N - 1, D]",
                RELATIVE + '  p2 = einsum("b h j d, (i - j + N - 1) d -> b h i j", k, r2) * D^-0.5\n'
                + RESULT % "s + p + p2"),
    "map": (", rh, rw : T[31, D]",
            '  a = einsum("b h (iy ix) d, (jy - iy + 15) d -> b h (iy ix) (jy jx)", q, rh, iy = 16, jy = 16, jx = 16)\n'
            '  c = einsum("b h (iy ix) d, (jx - ix + 15) d -> b h (iy ix) (jy jx)", q, rw, iy = 16, jy = 16, jx = 16)\n'
            + RESULT % "s + a + c"),
    "val": (", r, rv : T[2*N - 1, D]",
            RELATIVE + '  w = softmax(s + p)\n  return einsum("b h i j, b h j d -> b h i d", w, v) + '
            'einsum("b h i j, (j - i + N - 1) d -> b h i d", w, rv)\n'),
}


def wide_layers(folder):
    for name, (operands, statements) in CLASSES.items():
        for kind in ("f16", "f32"):
            for width in (128, 192, 256):
                path = folder / f"{name}_{kind}_{width}.attn"
                path.write_text(
                    f"param B = 1, H = 2, N = 256, D = {width}\n"
                    f"kernel {path.stem}(q, k, v : {kind}[B, H, N, D]{operands.replace('T[', kind + '[')}) -> "
                    f"{kind}[B, H, N, D] {{\n"
                    '  s = einsum("b h i d, b h j d -> b h i j", q, k) * D^-0.5\n' + statements + "}\n")
                yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wide", action="store_true", help="heads 128 to 256 wide in place of the bench layers")
    parser.add_argument("--target", action="append", help=f"may be repeated (default: {', '.join(TARGETS)})")
    parser.add_argument("--skewer", default="skewer")
    options = parser.parse_args()
    refused = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        specs = pathlib.Path(__file__).parent / "specs"
        for spec in wide_layers(folder) if options.wide else sorted(specs.glob("*.attn")):
            for target in options.target or TARGETS:
                begin = time.monotonic()
                run = subprocess.run([options.skewer, "compile", spec, f"--target={target}", "-o", folder / "out"],
                                     capture_output=True, text=True, check=False)
                seconds = time.monotonic() - begin
                if "ptxas was not found" in run.stderr:
                    print(run.stderr.strip(), file=sys.stderr)
                    return 3
                said = [line for line in run.stderr.splitlines() if "by rows" in line or "error:" in line]
                refused += run.returncode != 0
                print(f"{spec.stem:18} {target:8} {seconds:6.2f} s  {said[0] if said else ''}", flush=True)
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
