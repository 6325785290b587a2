"""emitted.py SPEC [FLAG…]: prints the einsum form (level 1) of every kernel of SPEC in the order of the file."""
import os
import re
import subprocess
import sys
import tempfile

spec, flags = sys.argv[1], sys.argv[2:]
with open(spec, encoding="utf-8") as stream:
    kernels = re.findall(r"^kernel\s+(\w+)", stream.read(), re.MULTILINE)
with tempfile.TemporaryDirectory() as folder:
    command = ["skewer", "compile", spec, "-o", folder, "--emit=attn", "--target=x86-64-v3", *flags]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
        sys.exit("the spec is refused")
    for kernel in kernels:
        with open(os.path.join(folder, kernel + ".attn.mlir"), encoding="utf-8") as stream:
            print(stream.read())
