"""Draws relative positions with given operands and computes the scores again: `check_plot.py SKEWER FOLDER`."""
import os
import struct
import subprocess
import sys

from read_plot import cells, panel_of

N, DIM = 5, 3


def write_npy(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as stream:
        stream.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        stream.write(struct.pack(f"<{len(values)}f", *values))


def main():
    skewer, folder = sys.argv[1:]
    q = [((7 * k) % 11 - 5) / 4 for k in range(N * DIM)]
    k = [((5 * k) % 13 - 6) / 8 for k in range(N * DIM)]
    table = [((3 * k) % 17 - 8) / 4 for k in range((2 * N - 1) * DIM)]
    files = []
    for name, shape, values in ("q", (1, 1, N, DIM), q), ("k", (1, 1, N, DIM), k), ("table", (2 * N - 1, DIM), table):
        path = os.path.join(folder, name + ".npy")
        write_npy(path, shape, values)
        files += ["--input", f"{name}={path}"]
    spec = os.path.join(folder, "check.attn")
    with open(spec, "w") as stream:
        stream.write(
            f"kernel check(q, k, v : f32[1, 1, {N}, {DIM}], table : f32[{2 * N - 1}, {DIM}]) -> f32[1, 1, {N}, {DIM}] {{\n"
            '  content = einsum("bhid,bhjd->bhij", q, k)\n'
            "  weights = softmax((content * 2 + rel1d(q, table)) where j <= i + 2)\n"
            '  return einsum("bhij,bhjd->bhid", weights, v)\n}\n')
    picture = os.path.join(folder, "check.svg")
    subprocess.run([skewer, "plot", spec, "-o", picture] + files, check=True)
    dot = lambda a, i, b, j: sum(a[i * DIM + d] * b[j * DIM + d] for d in range(DIM))
    for name, content in ("map0", 2), ("map1", 0):
        found = cells(panel_of(picture, name))
        for i in range(N):
            for j in range(N):
                expected = content * dot(q, i, k, j) + dot(q, i, table, j - i + N - 1)
                got = found[i, j]
                assert (got == "masked") == (j > i + 2), (name, i, j, got)
                assert got == "masked" or abs(float(got) - expected) < 1e-5 * max(1, abs(expected)), (i, j, got, expected)


if __name__ == "__main__":
    main()
