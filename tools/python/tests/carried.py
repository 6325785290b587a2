"""Checks that a wheel has the libraries that it links. Run it with the Python of an environment that has the wheel and NumPy;
unittest's discovery does not find it."""

import subprocess
import sys

import common
import numpy as np

import skewer

x = common.operands()
layer = skewer.compile(common.TINY)
np.testing.assert_allclose(layer(**x), common.tiny(**x), atol=1e-6)
assert "content" in layer.explain()

for command in (["--version"], ["schemes"]):
    assert subprocess.run([sys.executable, "-m", "skewer", *command], check=True, capture_output=True).stdout

with open("/proc/self/maps", encoding="utf-8") as maps:
    paths = sorted({line.split(maxsplit=5)[5].strip() for line in maps if ".so" in line})
package = skewer.__file__.rpartition("/skewer/")[0]
carried = ("libLLVM", "libMLIR", "libfmt", "libskewer.", "libskewer-old-glibc")
ours = [path for path in paths if any(name in path for name in carried)]
assert len(ours) == len(carried) and all(any(name in path for path in ours) for name in carried), ours
for path in ours:
    assert path.startswith(package + "/"), f"{path} is not the wheel's own"
# The system gives the C and C++ libraries, and those of Python's own modules, and no other. The package has LLVM's part of these
# under another name.
allowed = ("libc.so", "libm.so", "libstdc++", "libgcc_s", "libdl", "libpthread", "librt", "libutil", "ld-linux", "libpython",
           "libz.so", "libexpat", "libbz2", "libcrypto", "libssl", "libffi", "liblzma")
foreign = [path for path in paths if path.startswith(("/usr/lib", "/lib")) and "/python" not in path and
           not path.rpartition("/")[2].startswith(allowed)]
assert not foreign, foreign
print(f"the wheel carries {len([path for path in paths if path.startswith(package)])} shared objects, none is missing")
