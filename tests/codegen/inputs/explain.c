/* What attend_explain() says of calls that are refused: which argument, what was expected, what was found. */
#include "attend.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, HEADS = 2, N = 12, DIM = 8, ELEMENTS = BATCH * HEADS * N * DIM, ROWS = BATCH * HEADS * N };
static float q[ELEMENTS], k[ELEMENTS], v[ELEMENTS], table[(2 * N - 1) * DIM], out[ELEMENTS], lse[ROWS];
static int32_t lengths[BATCH] = {12, 5, 1};

static void said(const attend_args *args, const skewer_exec *exec) {
  char text[512];
  memset(text, '#', sizeof text);
  puts(attend_explain(args, exec, attend(args, exec), text, sizeof text));
}

int main(void) {
  attend_args args = attend_args_init(), wrong;
  skewer_exec exec = skewer_exec_init(), bad;
  char small[9];
  args.q = q, args.k = k, args.v = v, args.table = table, args.lengths = lengths;
  args.out = out, args.lse = lse, args.batch = BATCH;
  exec.workspace_bytes = (attend_workspace_bytes(&args, &exec) + 63) / 64 * 64;
  exec.workspace = aligned_alloc(64, exec.workspace_bytes);
  said(&args, &exec);
  said(NULL, &exec);
  said(&args, NULL);
  wrong = args, wrong.size += 8, said(&wrong, &exec);
  wrong = args, wrong.version += 256, said(&wrong, &exec);
  wrong = args, wrong.version = SKEWER_ABI_VERSION, said(&wrong, &exec); /* of no particular layer: done */
  wrong = args, wrong.batch = -7, said(&wrong, &exec);
  wrong = args, wrong.k0 = 3, said(&wrong, &exec);
  wrong = args, wrong.k = NULL, wrong.lse = NULL, said(&wrong, &exec);
  wrong = args, wrong.v = (const float *)((const char *)v + 2), said(&wrong, &exec);
  wrong = args, wrong.k = out + 8, said(&wrong, &exec);
  wrong = args, wrong.q = (const float *)exec.workspace, said(&wrong, &exec);
  bad = exec, bad.size = 4, said(&args, &bad);
  bad = exec, bad.version = 9, said(&args, &bad);
  bad = exec, bad.workers = -2, said(&args, &bad);
  bad = exec, bad.workspace = NULL, said(&args, &bad);
  bad = exec, bad.workspace_bytes = 64, said(&args, &bad);
  bad = exec, bad.workspace = (char *)exec.workspace + 4, said(&args, &bad);
  lengths[1] = -4, said(&args, &exec);
  lengths[1] = 5;
  /* A text that does not fit is cut, and ends with a zero. */
  printf("cut: '%s'\n", attend_explain(&args, &exec, SKEWER_NULL_TENSOR, small, sizeof small));
  free(exec.workspace);
  return 0;
}
