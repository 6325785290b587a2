"""A wheel carries what it links: run with the Python of an environment that holds it and NumPy. Not found by unittest's discovery."""

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
# All that the system gives are the C and C++ libraries, and what Python's own modules need. What LLVM needs of these is in
# the package under another name.
allowed = ("libc.so", "libm.so", "libstdc++", "libgcc_s", "libdl", "libpthread", "librt", "libutil", "ld-linux", "libpython",
           "libz.so", "libexpat", "libbz2", "libcrypto", "libssl", "libffi", "liblzma")
foreign = [path for path in paths if path.startswith(("/usr/lib", "/lib")) and "/python" not in path and
           not path.rpartition("/")[2].startswith(allowed)]
assert not foreign, foreign
print(f"the wheel carries {len([path for path in paths if path.startswith(package)])} shared objects, none is missing")
