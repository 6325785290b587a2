"""fused.py SPEC [FLAG…]: prints the fused form of every kernel of SPEC in the order of the file, after running each
against the float64 reference. Flags go to `skewer compile` (-D N=8, --target=…)."""
import os
import re
import subprocess
import sys
import tempfile

spec, flags = sys.argv[1], sys.argv[2:]
with open(spec, encoding="utf-8") as stream:
    kernels = re.findall(r"^kernel\s+(\w+)", stream.read(), re.MULTILINE)
parameters = [flag for flag in flags if not flag.startswith("--target")]
with tempfile.TemporaryDirectory() as folder:
    command = ["skewer", "compile", spec, "-o", folder, "--emit=fused", "--target=x86-64-v3", *flags]
    if subprocess.run(command).returncode:
        sys.exit(1)
    for kernel in kernels:
        with open(os.path.join(folder, kernel + ".fused.mlir"), encoding="utf-8") as stream:
            print(stream.read())
    for kernel in kernels:
        ran = subprocess.run(["skewer", "run", spec, "--kernel", kernel, *parameters], capture_output=True, text=True)
        if ran.returncode:
            sys.exit("%s does not compute what the reference does:\n%s%s" % (kernel, ran.stdout, ran.stderr))
