"""arrays.py FOLDER: writes good and bad .npy files byte by byte, so that no numerical library is needed."""
import os
import struct
import sys


def npy(shape, kind="<f4", order=False, values=None, magic=b"\x93NUMPY\x01\x00"):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (kind, order, "".join("%d, " % n for n in shape))
    header = header.ljust(117) + "\n"
    count = 1
    for n in shape:
        count *= n
    code = {"<f4": "<%df", "<f8": "<%dd", "<i4": "<%di", ">f4": ">%df"}[kind]
    numbers = values if values is not None else [0] * count
    return magic + struct.pack("<H", len(header)) + header.encode() + struct.pack(code % count, *numbers)


folder, shape = sys.argv[1], (2, 4, 8)
good = npy(shape)
files = {
    "good.npy": good,
    "nan.npy": npy(shape, values=[float("nan")] + [0] * 63),
    "ones.npy": npy(shape, "<f8", values=[1] * 64),
    "cut.npy": good[:-3],
    "cut-header.npy": good[:40],
    "cut-magic.npy": good[:4],
    "more.npy": good + b"more",
    "integers.npy": npy(shape, "<i4"),
    "double.npy": npy(shape, "<f8"),
    "big-endian.npy": npy(shape, ">f4"),
    "fortran.npy": npy(shape, order=True),
    "shape.npy": npy((2, 4, 9)),
    "rank.npy": npy((8, 8)),
    "empty.npy": b"",
    "text.npy": b"1 2 3 4\n" * 100,
    "garbage.npy": b"\x93NUMPY\x01\x00\xff\xff" + bytes(range(256)),
}
os.makedirs(folder, exist_ok=True)
for name, data in files.items():
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)
