"""made.py FOLDER: checks the modes and links of the files that skewer makes, and a text from standard input."""
import os
import stat
import subprocess
import sys

os.umask(0o022)
folder = os.path.join(sys.argv[1], "feature%2Fx", "50%%%%")
spec = os.path.join(sys.argv[1], "made.attn")
wild = "kernel  a(x:f32[4])->f32[4]{return x*2}\n"
with open(spec, "w", encoding="utf-8") as stream:
    stream.write(wild)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


subprocess.run(["skewer", "compile", spec, "-o", folder], check=True)
assert mode(folder) == mode(os.path.dirname(folder)) == 0o755, oct(mode(folder))
assert sorted(os.listdir(folder)) == ["a.h", "a.json", "a.o"], os.listdir(folder)
assert mode(os.path.join(folder, "a.o")) == 0o644

other = os.path.join(sys.argv[1], "other.attn")
os.chmod(spec, 0o640)
os.link(spec, other)
tidy = subprocess.run(["skewer", "format", "-"], input=wild, capture_output=True, text=True, check=True).stdout
assert tidy == "kernel a(x : f32[4]) -> f32[4] { return x*2 }\n", tidy
subprocess.run(["skewer", "format", "-i", spec], check=True)
assert mode(spec) == 0o640 and os.stat(spec).st_nlink == 2
with open(other, encoding="utf-8") as stream:
    assert stream.read() == tidy
os.remove(other)
with open(spec, "w", encoding="utf-8") as stream:
    stream.write(wild)
subprocess.run(["skewer", "format", "-i", spec], check=True)
assert mode(spec) == 0o640, oct(mode(spec))
assert subprocess.run(["skewer", "format", "-i", "-"], input=wild, capture_output=True, text=True, check=False).returncode == 2
assert subprocess.run(["skewer", "format", "--check", "-"], input=wild, capture_output=True, text=True, check=False).returncode == 1

# The output is closed, so that nobody can read messages; the work is still done.
with open("/dev/full", "w", encoding="utf-8") as full:
    done = subprocess.run(["skewer", "run", spec], stdout=subprocess.DEVNULL, stderr=full, check=False)
assert done.returncode == 0, done.returncode
