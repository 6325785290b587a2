/* The kernel chooses: its result has the bits of the first of its variants that this processor runs. */
#include "rel1d_attention.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { heads = 2, n = 37, dim = 16, count = heads * n * dim };
typedef skewer_status entry(const rel1d_attention_args *, const skewer_exec *);
typedef size_t bytes(const rel1d_attention_args *, const skewer_exec *);
static float q[count], k[count], v[count], table[(2 * n - 1) * dim], chosen[count], one[count];

static float noise(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static skewer_status run(entry *call, bytes *needed, float *out) {
  rel1d_attention_args args = rel1d_attention_args_init();
  skewer_exec exec = skewer_exec_init();
  skewer_status status;
  args.q = q, args.k = k, args.v = v, args.table = table, args.out = out;
  exec.workspace_bytes = (needed(&args, &exec) + 63) / 64 * 64;
  exec.workspace = aligned_alloc(64, exec.workspace_bytes);
  status = call(&args, &exec);
  free(exec.workspace);
  return status;
}

int main(void) {
  entry *calls[] = {rel1d_attention_x86_64_v4, rel1d_attention_x86_64_v3, rel1d_attention_x86_64_v2};
  bytes *needed[] = {rel1d_attention_x86_64_v4_workspace_bytes, rel1d_attention_x86_64_v3_workspace_bytes,
                     rel1d_attention_x86_64_v2_workspace_bytes};
  const char *names[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
  int32_t i, found = -1;
  for (i = 0; i < count; ++i)
    q[i] = noise(), k[i] = noise(), v[i] = noise();
  for (i = 0; i < (2 * n - 1) * dim; ++i)
    table[i] = noise();
  if (run(rel1d_attention, rel1d_attention_workspace_bytes, chosen) != SKEWER_OK)
    return 1;
  for (i = 0; i < 3; ++i) {
    skewer_status status;
    double worst = 0;
    int32_t e;
    memset(one, 0, sizeof one);
    status = run(calls[i], needed[i], one);
    if (status == SKEWER_UNSUPPORTED_CPU)
      continue;
    if (status != SKEWER_OK)
      return 2;
    if (found < 0) {
      found = i;
      if (memcmp(one, chosen, sizeof one) != 0)
        return 3;
    }
    for (e = 0; e < count; ++e)
      worst = worst < one[e] - chosen[e] ? one[e] - chosen[e] : worst < chosen[e] - one[e] ? chosen[e] - one[e] : worst;
    if (!(worst < 1e-5))
      return 4;
  }
  if (!strstr(rel1d_attention_info(), "\"targets\"") || !strstr(rel1d_attention_x86_64_v3_info(), "\"target\""))
    return 5;
  printf("chose %s\n", found < 0 ? "none" : names[found]);
  return found < 0;
}
