"""show.py SPEC KERNEL…: runs kernels that return matrices and prints what they return, side by side."""
import ast
import pathlib
import struct
import subprocess
import sys
import tempfile


def rows_of(spec, kernel):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "result.npy"
        subprocess.run(["skewer", "run", spec, "--kernel", kernel, "--output", str(file)], check=True, stdout=subprocess.DEVNULL)
        data = file.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    shape = ast.literal_eval(data[10 : 10 + length].decode())["shape"]
    numbers = struct.unpack("<%df" % ((len(data) - 10 - length) // 4), data[10 + length :])
    columns = shape[-1]
    return ["".join("%5g" % (x or 0) for x in numbers[k : k + columns]) for k in range(0, len(numbers), columns)]


spec, kernels = sys.argv[1], sys.argv[2:]
parts = [rows_of(spec, kernel) for kernel in kernels]
widths = [max(len(kernel) + 3, len(part[0]) + 3) for kernel, part in zip(kernels, parts)]
for line in [kernels] + list(zip(*parts)):
    print("".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
