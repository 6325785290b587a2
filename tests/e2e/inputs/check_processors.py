"""Runs one kernel compiled for each processor: `check_processors.py SKEWER CC SPEC FOLDER`. A kernel that this machine cannot run
must return a status; no process may die of a signal."""
import os
import subprocess
import sys

# By target, the flag of /proc/cpuinfo that its code needs.
NEEDED = {"x86-64-v2": ["sse4_2", "popcnt"], "x86-64-v3": ["avx2", "fma", "bmi2", "movbe"],
          "x86-64-v4": ["avx512f", "avx512bw", "avx512vl"], "cascadelake": ["avx512f", "avx512_vnni"],
          "zen4": ["avx512f", "avx512_bf16", "avx512_vbmi2"], "zen5": ["avx512f", "avx_vnni"],
          "sapphirerapids": ["avx512f", "avx512_fp16", "avx_vnni"], "emeraldrapids": ["avx512f", "avx512_fp16"],
          "graniterapids": ["avx512f", "avx512_fp16"], "host": []}
PROGRAM = """
#include "rel1d_attention.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  static float q[2 * 8 * 16], k[2 * 8 * 16], v[2 * 8 * 16], table[15 * 16], out[2 * 8 * 16];
  for (int n = 0; n < 2 * 8 * 16; ++n)
    q[n] = k[n] = 0, v[n] = 2, out[n] = -1;
  rel1d_attention_args args = rel1d_attention_args_init();
  args.q = q, args.k = k, args.v = v, args.table = table, args.out = out, args.batch = 1;
  skewer_exec exec = skewer_exec_init();
  exec.workspace_bytes = (rel1d_attention_workspace_bytes(&args, &exec) + 63) / 64 * 64;
  exec.workspace = aligned_alloc(64, exec.workspace_bytes);
  skewer_status status = rel1d_attention(&args, &exec), again = rel1d_attention(&args, &exec);
  skewer_status raw = rel1d_attention_raw(&args, &exec, 0, 0, 0, 0);
  float expected = status == SKEWER_OK ? 2 : -1; /* on an error nothing is written */
  for (int n = 0; n < 2 * 8 * 16; ++n)
    if (!(fabsf(out[n] - expected) < 1e-5f))
      return 2;
  if (status != again || (raw == SKEWER_UNSUPPORTED_CPU) != (status == SKEWER_UNSUPPORTED_CPU))
    return 3;
  printf("%s\\n", status == SKEWER_OK ? "ok" : status == SKEWER_UNSUPPORTED_CPU ? "unsupported" : "other");
  return 0;
}
"""


def main():
    skewer, compiler, spec, folder = sys.argv[1:]
    with open("/proc/cpuinfo") as stream:
        flags = next((line.split(":")[1].split() for line in stream if line.startswith("flags")), [])
    source = os.path.join(folder, "main.c")
    with open(source, "w") as stream:
        stream.write(PROGRAM)
    for target, needed in NEEDED.items():
        out = os.path.join(folder, target)
        sizes = ["-D", "N=8", "-D", "heads=2", "-D", "dim=16"]
        subprocess.run([skewer, "compile", spec, f"--target={target}", "-o", out] + sizes, check=True)
        program = os.path.join(out, "main")
        subprocess.run([compiler, "-I", out, source, os.path.join(out, "rel1d_attention.o"), "-lm", "-o", program],
                       check=True)
        run = subprocess.run([program], capture_output=True, text=True)
        answer = run.stdout.strip()
        missing = [flag for flag in needed if flag not in flags]
        assert run.returncode == 0, (target, run.returncode, answer)
        assert answer in ("ok", "unsupported"), (target, answer)
        assert not missing or answer == "unsupported", (target, missing, answer)
        assert answer == "ok" or target not in ("host", "x86-64-v2"), (target, answer)
        print(target, answer)


if __name__ == "__main__":
    main()
