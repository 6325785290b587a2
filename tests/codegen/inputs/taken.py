"""taken.py FOLDER NAME…: compiles a kernel of each name, and prints the compiler's message, or that it accepts the name."""
import os
import subprocess
import sys

folder = sys.argv[1]
for name in sys.argv[2:]:
    spec = os.path.join(folder, "taken.attn")
    with open(spec, "w", encoding="utf-8") as stream:
        stream.write(f"kernel {name}(x : f32[4]) -> f32[4] {{ return x }}\n")
    done = subprocess.run(["skewer", "compile", spec, "-o", folder], capture_output=True, text=True, check=False)
    print(done.stderr if done.returncode == 1 else f"{name} WAS TAKEN")
