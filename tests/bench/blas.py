#!/usr/bin/env python3
"""blas.py [--skewer BINARY] [--cc COMPILER] [ROWSxDEPTHxCOLUMNS...]: times compiled matrix products and OpenBLAS's sgemm.

Both run on one thread of one process, in turn, call by call. The columns are medians. "ratio" is the time of OpenBLAS divided
by the time of the compiled product. The product packs its columns in every call, as sgemm does. Without OpenBLAS the script
says so and ends with status 77."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = ["1576x768x2304", "1576x768x768", "1024x512x1536", "1024x512x512"]  # of mhsa-vit; of c=512, N=1024
SPEC = """param rows, depth, columns
kernel product(x : f32[rows, depth], w : f32[depth, columns]) -> f32[rows, columns] {
  return einsum("n c, c e -> n e", x, w)
}
"""


def measure(shape, skewer, compiler, folder):
    rows, depth, columns = (int(size) for size in shape.split("x"))
    spec = folder / "product.attn"
    spec.write_text(SPEC)
    sizes = [option for name, size in (("rows", rows), ("depth", depth), ("columns", columns))
             for option in ("-D", "%s=%d" % (name, size))]
    subprocess.run([skewer, "compile", str(spec), *sizes, "-o", str(folder)], check=True, stdout=subprocess.DEVNULL)
    program = folder / "blas"
    subprocess.run([compiler, "-O2", "-std=gnu11", "-DROWS=%d" % rows, "-DDEPTH=%d" % depth, "-DCOLUMNS=%d" % columns,
                    "-I", str(folder), str(HERE / "blas.c"), str(folder / "product.o"), "-o", str(program), "-lm", "-ldl"],
                   check=True)
    run = subprocess.run([str(program)], capture_output=True, text=True)
    if run.returncode == 77:
        return None
    if run.returncode:
        sys.exit("%s: the products differ, or the kernel failed: %s" % (shape, run.stdout.strip()))
    return [float(value) for value in run.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skewer", default=str(HERE.parent.parent / "build/release/bin/skewer"))
    parser.add_argument("--cc", default="cc")
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    options = parser.parse_args()
    print("%-16s %10s %10s %8s %10s" % ("product", "compiled", "OpenBLAS", "ratio", "difference"))
    for shape in options.shapes or SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(shape, options.skewer, options.cc, pathlib.Path(folder))
        if not found:
            print("no OpenBLAS is installed here (Debian: libopenblas0)")
            sys.exit(77)
        ours, theirs, error = found
        print("%-16s %7.2f ms %7.2f ms %8.2f %10.1e" % (shape, 1e3 * ours, 1e3 * theirs, theirs / ours, error))


if __name__ == "__main__":
    main()
