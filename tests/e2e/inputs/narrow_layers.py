#!/usr/bin/env python3
"""Runs layers with all operands and results of f32 as bf16, for a target, against the float64 reference.

    narrow_layers.py SKEWER TARGET FOLDER [NAME …]

Prints a line for each layer that is wrong, how many are right, and how many of these ran code with AMX. A layer is left
out if its text needs f32, which is an error of the text. Exits with 1 if a layer is wrong or more than a third is left out.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile


def main():
    skewer, target, folder, *names = sys.argv[1:]
    names = names or sorted(os.path.basename(path)[:-5] for path in glob.glob(folder + "/*.attn"))
    count = {"right": 0, "WRONG": 0, "left out": 0, "with AMX": 0}
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            with open(f"{folder}/{name}.attn", encoding="utf-8") as file:
                text = re.sub(r"\bf32\[", "bf16[", file.read())
            path = f"{temporary}/{name}.attn"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([skewer, "run", path, f"--target={target}"], capture_output=True, text=True, check=False)
            refused = done.returncode == 1 and "compared with the float64 reference" not in done.stdout + done.stderr
            verdict = "right" if done.returncode == 0 else "left out" if refused else "WRONG"
            count[verdict] += 1
            count["with AMX"] += verdict == "right" and re.search(r": runs \S*/amx", done.stdout + done.stderr) is not None
            if verdict == "WRONG":
                print(f"{name}: {done.stdout.strip()[-300:]} {done.stderr.strip()[-300:]}", flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in count.items()))
    sys.exit(1 if count["WRONG"] or count["left out"] > len(names) / 3 else 0)


main()
