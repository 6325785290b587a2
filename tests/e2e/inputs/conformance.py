"""conformance.py FOLDER [OPTION…]: runs every case under FOLDER by `skewer run`, and compares it with the model's own output.

A case is a folder with case.json (files, tolerance) and spec.attn. Prints a line for each case; fails if a case fails.
"""
import json
import os
import re
import subprocess
import sys


def command_of(folder, options, skewer="skewer"):
    with open(os.path.join(folder, "case.json")) as f:
        case = json.load(f)
    with open(os.path.join(folder, "spec.attn")) as f:
        text = re.sub(r"#.*", "", f.read())
    # A GPU multiplies f32 by three products of tf32.
    tolerance = max(case["tolerance"]["f32"], 1e-5 if any(option.startswith("--target=") for option in options) else 0)
    arguments = text[text.index("kernel "):].split("->")[0]
    command = [skewer, "run", os.path.join(folder, "spec.attn"), *options, "--expect",
               os.path.join(folder, case["output"]["file"]), "--tolerance", str(tolerance)]
    for name, entry in case["inputs"].items():
        # A case may have the arrays from which its inputs were made; the kernel does not take them.
        if re.search(r"\b%s\b" % name, arguments):
            command += ["--input", "%s=%s" % (name, os.path.join(folder, entry["file"]))]
    return command


def run(folder, options):
    try:
        result = subprocess.run(command_of(folder, options), capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None, "took more than a minute"
    match = re.search(r"largest error (\S+)", result.stdout)
    return result.returncode == 0, "error " + match.group(1) if match else result.stderr.strip()[-400:]


def cases(root):
    folders = sorted(os.path.join(root, name) for name in os.listdir(root))
    return [f for f in folders if os.path.exists(os.path.join(f, "spec.attn"))]


def main():
    root, options = sys.argv[1], sys.argv[2:]
    folders = cases(root)
    if not folders:
        sys.exit("no cases in " + root)
    failed = 0
    for folder in folders:
        right, text = run(folder, options)
        failed += not right
        print("%-30s %s %s" % (os.path.basename(folder), "ok  " if right else "WRONG", text), flush=True)
    print("%d cases, %d wrong" % (len(folders), failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
