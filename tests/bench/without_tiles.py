#!/usr/bin/env python3
"""Times what a kernel for AMX does besides its tile instructions, on a machine with AVX-512 that has no AMX.

    without_tiles.py [--skewer S] [--seconds 0.5] SPEC … [-- options of skewer compile]

Compiles each spec for this machine with AMX, takes the tile instructions out of the assembly, and prints the least time of a call: the
time of the exponentials, terms and packing, which tiles must wait for or hide. The results are wrong, of course. A spec has one kernel;
its operands are pointers and sizes known at compile time."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

TILES = re.compile(r"^\s+(tdpbf16ps|tileload|tilestore|tilezero|tilerelease|ldtilecfg)")
KNOWN = re.compile(r"(cpu\.known(?:\.\d+)?:\n\s+)(?:\.byte\s+0|\.zero\s+1)\b")  # which code runs: 1 is the one with tiles
MAIN = """#define _GNU_SOURCE
#include "{name}.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) {{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }}
static void *operand(void) {{
  unsigned short *p = aligned_alloc(64, 64 << 20);
  for (long i = 0; i < 32 << 20; ++i) p[i] = 0x3c00 + i * 7919 % 127;
  return p;
}}
int main(void) {{
  {name}_args args = {name}_args_init();
  {operands}
  skewer_exec exec = skewer_exec_init();
  exec.workspace_bytes = ({name}_workspace_bytes(&args, &exec) + 63) / 64 * 64;
  exec.workspace = aligned_alloc(64, exec.workspace_bytes + 64);
  double least = 1e9, begin = now();
  while (now() - begin < {seconds}) {{
    double start = now();
    if ({name}(&args, &exec)) return 1;
    if (now() - start < least) least = now() - start;
  }}
  printf("%.3f\\n", least * 1e3);
}}
"""


def with_tiles(skewer, folder):
    """Returns the machine file of this machine, as if it had AMX."""
    path = f"{folder}/amx.json"
    subprocess.run([skewer, "target", "host", "-o", path], check=True, capture_output=True)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r'("amx_rate": \{"value": )[0-9.]+', r"\g<1>1", text)
    text = re.sub(r'("features": "[^"]*)"', r'\1,+amx-tile,+amx-bf16"', text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def milliseconds(skewer, spec, seconds, options):
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out"
        subprocess.run([skewer, "compile", spec, f"--target={with_tiles(skewer, folder)}", "-o", out, "--emit=asm", *options],
                       check=True, stdout=subprocess.DEVNULL)
        (name,) = [file[:-2] for file in os.listdir(out) if file.endswith(".s")]
        with open(f"{out}/{name}.s", encoding="utf-8") as file:
            text = "".join(line for line in file if not TILES.match(line))
        text = KNOWN.sub(r"\1.byte 1", text)
        text = re.sub(r'(\.section\s+)\.bss(\.\S*cpu\.known\S*,"aw",)@nobits', r"\1.data\2@progbits", text)
        with open(f"{out}/timed.s", "w", encoding="utf-8") as file:
            file.write(text)
        with open(f"{out}/{name}.h", encoding="utf-8") as file:
            fields = re.search(rf"typedef struct {name}_args \{{(.*?)\}} {name}_args;", file.read(), re.S)[1]
        pointers = re.findall(r"\*(\w+);", re.sub(r"/\*.*?\*/", "", fields, flags=re.S))
        operands = " ".join(f"args.{pointer} = operand();" for pointer in pointers)
        with open(f"{out}/main.c", "w", encoding="utf-8") as file:
            file.write(MAIN.format(name=name, operands=operands, seconds=seconds))
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-w", "main.c", "timed.s", "-o", "timed", "-lm"], cwd=out, check=True)
        return float(subprocess.run([f"{out}/timed"], check=True, capture_output=True, text=True).stdout)


def main():
    own = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skewer", default="skewer")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("spec", nargs="+")
    arguments = parser.parse_args(own)
    options = sys.argv[len(own) + 2 :]
    for spec in arguments.spec:
        time = milliseconds(arguments.skewer, spec, arguments.seconds, options)
        print(f"{os.path.basename(spec):24} {time:9.3f} ms", flush=True)


main()
