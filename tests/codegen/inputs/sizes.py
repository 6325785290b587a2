"""sizes.py SPEC NAME=VALUE,…  …: checks that every kernel of SPEC computes what the float64 reference does, with each of these
sets of parameters."""
import re
import subprocess
import sys

spec, sets = sys.argv[1], sys.argv[2:]
with open(spec, encoding="utf-8") as stream:
    kernels = re.findall(r"^kernel\s+(\w+)", stream.read(), re.MULTILINE)
wrong = 0
for values in sets:
    flags = [flag for value in values.split(",") for flag in ("-D", value)]
    for kernel in kernels:
        ran = subprocess.run(["skewer", "run", spec, "--kernel", kernel, *flags], capture_output=True, text=True)
        if ran.returncode:
            wrong += 1
            print("%s with %s:\n%s%s" % (kernel, values, ran.stdout, ran.stderr))
print("%d kernels at %d sizes, %d wrong" % (len(kernels), len(sets), wrong))
sys.exit(1 if wrong else 0)
