#!/usr/bin/env python3
"""Hashes the objects of every spec of the tree, to prove that a change of the compiler changes no byte of them:

    same_objects.py hash --skewer build/release/bin/skewer -o before.json
    … the change, and a build …
    same_objects.py hash --skewer build/release/bin/skewer -o after.json
    same_objects.py compare before.json after.json         # says what differs; exit status 1 if anything does

Specs are the .attn files that git tracks (each part, if lines `# -----` divide a file) and the ```attn blocks of the documents.
Every kernel has a hash for each target: of its object, or for a GPU of its PTX. A refused spec is recorded as refused. `--root`
is the tree whose specs are read (default: this script's). Specs whose texts differ between the two files are compared too: a
new spelling then shows that it has the old meaning."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGETS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "sm_80", "sm_90"]
BLOCK = re.compile(r"(?ms)^```attn\n(.*?)^```")
PART = re.compile(r"(?m)^# -----.*\n")
SPEC_HASH = re.compile(rb'"spec_hash": "[0-9a-f]{16}"')  # the manifest in an object has a hash of the text
SECONDS = 600


def specs(root, patterns):
    """Yields the name and the text of each spec."""
    listing = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "*.attn", "*.md"],
                             check=True, capture_output=True).stdout.decode()
    for path in filter(None, listing.split("\0")):
        if patterns and not any(re.search(pattern, path) for pattern in patterns):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as stream:
            text = stream.read()
        parts = BLOCK.findall(text) if path.endswith(".md") else PART.split(text)
        for number, part in enumerate(parts, 1):
            if re.search(r"(?m)^kernel\b", part):  # a file with schemes alone is no layer
                yield path if len(parts) == 1 else f"{path}#{number}", part


def compiled(skewer, text, target):
    """Returns the hash of each kernel's object or PTX; the first error under "" if the spec is refused."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "spec.attn"), "w", encoding="utf-8") as stream:
            stream.write(text)
        is_gpu = target.startswith("sm_")
        command = [skewer, "compile", "spec.attn", "-o", "out", "--target=" + target] + ["--ptx-only"] * is_gpu
        try:
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return {"": f"no end within {SECONDS} s"}
        if ran.returncode:
            error = re.search(r"error: .*", ran.stderr)
            return {"": error.group(0) if error else f"exit status {ran.returncode}"}
        hashes, suffix = {}, ".ptx" if is_gpu else ".o"
        for base, _, files in os.walk(os.path.join(folder, "out")):
            for name in sorted(files):
                if name.endswith(suffix):
                    with open(os.path.join(base, name), "rb") as stream:
                        hashes[name[: -len(suffix)]] = hashlib.sha256(SPEC_HASH.sub(b"", stream.read())).hexdigest()
        return hashes or {"": f"no {suffix} written"}


def hash_all(arguments):
    work = [(name, text, target) for name, text in specs(arguments.root, arguments.only)
            for target in arguments.targets.split(",")]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = {pool.submit(compiled, os.path.abspath(arguments.skewer), text, target): (name, target)
                for name, text, target in work}
        for done in concurrent.futures.as_completed(jobs):
            name, target = jobs[done]
            for kernel, digest in done.result().items():
                found[f"{name} {kernel} {target}"] = digest
    with open(arguments.output, "w", encoding="utf-8") as stream:
        json.dump(found, stream, indent=1, sort_keys=True)
    refused = sum(" error: " in " " + digest or not re.fullmatch("[0-9a-f]{64}", digest) for digest in found.values())
    print(f"{len(found) - refused} objects, {refused} refusals of {len(work)} compilations: {arguments.output}")
    return 0


def compare(arguments):
    with open(arguments.before, encoding="utf-8") as one, open(arguments.after, encoding="utf-8") as other:
        before, after = json.load(one), json.load(other)
    same = differing = 0
    is_hash = re.compile("[0-9a-f]{64}").fullmatch
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new or (old and new and not is_hash(old) and not is_hash(new)):  # refused in both
            same += 1
            continue
        differing += 1
        print(f"{key}: " + ("only before" if new is None else "only after" if old is None else
                            "differs" if is_hash(old) and is_hash(new) else
                            f"refused after: {new}" if is_hash(old) else f"refused before: {old}"))
    print(f"{same} the same, {differing} not")
    return 1 if differing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    hashing = commands.add_parser("hash", help="compile every spec and write the hashes")
    hashing.add_argument("--skewer", required=True)
    hashing.add_argument("--root", default=ROOT, help="the tree whose specs are compiled")
    hashing.add_argument("--targets", default=",".join(TARGETS))
    hashing.add_argument("--jobs", "-j", type=int, default=os.cpu_count())
    hashing.add_argument("--output", "-o", required=True)
    hashing.add_argument("only", nargs="*", help="regular expressions: only files whose paths match one of them")
    comparing = commands.add_parser("compare", help="two files of hashes")
    comparing.add_argument("before")
    comparing.add_argument("after")
    arguments = parser.parse_args()
    return hash_all(arguments) if arguments.command == "hash" else compare(arguments)


if __name__ == "__main__":
    sys.exit(main())
