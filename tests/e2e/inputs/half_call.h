/* The operands of the kernel `half` of AMX's tests, two heads of 128 tokens, and a call of it. */
#include "half.h"
#include <stdlib.h>

enum { heads = 2, n = 128, dim = 64, count = heads * n * dim };
static skewer_half q[count], k[count], v[count];

/* Calls the kernel, and returns whether it succeeds and all elements of its result are right. */
static int isCallRight(int (*isElementRight)(int number, skewer_half element)) {
  skewer_half *out = calloc(count, sizeof *out);
  half_args args = half_args_init();
  skewer_exec exec = skewer_exec_init();
  int e, right;
  args.q = q, args.k = k, args.v = v, args.out = out;
  exec.workspace_bytes = (half_workspace_bytes(&args, &exec) + 63) / 64 * 64;
  exec.workspace = aligned_alloc(64, exec.workspace_bytes);
  right = half(&args, &exec) == SKEWER_OK;
  for (e = 0; e < count; ++e)
    right &= isElementRight(e, out[e]);
  free(exec.workspace);
  free(out);
  return right;
}
