/* Calls the kernel once: equal keys weigh the same, so that the result is the mean of the values that each query sees. */
#include "pasted.h"
#include "means.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { heads = 4, n = 24, dim = 32 };
static float q[heads * n * dim], k[heads * n * dim], v[heads * n * dim], out[heads * n * dim], table[2 * n * dim];

int main(void) {
  pasted_args args = pasted_args_init();
  skewer_exec exec = skewer_exec_init();
  skewer_status status;
  int32_t worst;
  fill(v, heads * n * dim);
  args.q = q, args.k = k, args.v = v, args.out = out, args.batch = 1;
  args.rel = table;
  exec.workspace_bytes = (pasted_workspace_bytes(&args, &exec) + 63) / 64 * 64;
  exec.workspace = aligned_alloc(64, exec.workspace_bytes + 64);
  status = pasted(&args, &exec);
  free(exec.workspace);
  worst = differences(out, v, heads, n, dim, 0);
  printf("%s, %d elements differ from the means\n", skewer_status_text(status), worst);
  return status != SKEWER_OK || worst != 0;
}
