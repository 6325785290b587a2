"""pages.py EXAMPLES [--update]: what `skewer explain` says on each example's page is what it says now, and each example's
kernel agrees with the float64 reference. --update writes the pages' blocks anew."""
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

examples = pathlib.Path(sys.argv[1])
update = "--update" in sys.argv[2:]
TARGET = "x86-64-v4"  # a description that every machine has: the pages do not depend on where they are made
# Arguments whose unit-normal values would make scores of hundreds: as large as a trained layer's instead.
SCALED = {
    "t5": {"q": ((1, 12, 512, 64), 64**-0.5)},
    "vit_mae": {"w_qkv": ((768, 2304), 768**-0.5), "w_out": ((768, 768), 768**-0.5)},
}


def arguments(example, folder):
    """--input options with the example's scaled arrays, written into the folder as .npy files."""
    options = []
    for name, (shape, scale) in SCALED.get(example, {}).items():
        count = 1
        for size in shape:
            count *= size
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
        seeded = random.Random(name)
        numbers = struct.pack("<%df" % count, *(seeded.gauss(0, scale) for _ in range(count)))
        path = pathlib.Path(folder) / (name + ".npy")
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + (header.ljust(117) + "\n").encode() + numbers)
        options += ["--input", "%s=%s" % (name, path)]
    return options


wrong = []
folders = sorted(folder for folder in examples.iterdir() if folder.is_dir())
if not folders:
    sys.exit("no examples under %s" % examples)
for folder in folders:
    page, (spec,) = folder / "README.md", folder.glob("*.attn")
    command = ["skewer", "explain", spec.name, "--target=" + TARGET]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(["skewer", "run", spec.name, *arguments(folder.name, scratch)], cwd=folder,
                             capture_output=True, text=True)
    if said.returncode or run.returncode:
        wrong.append("%s: %s%s%s" % (spec, said.stderr, run.stdout, run.stderr))
        continue
    block = "```\n$ %s\n%s```" % (" ".join(command), said.stdout)
    text = page.read_text() if page.exists() else "# %s\n\n```\n$ skewer explain\n```\n" % folder.name
    now, found = re.subn(r"```\n\$ skewer explain.*?```", lambda _: block, text, count=1, flags=re.S)
    if update:
        page.write_text(now)
    elif not found or now != text:
        wrong.append("%s says something else than skewer explain; tests/e2e/inputs/pages.py examples --update" % page)
    print("%-12s %s" % (folder.name, run.stdout.strip()))
sys.exit("\n".join(wrong) if wrong else 0)
