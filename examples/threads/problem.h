/* The operands of the layer, its result by one thread, and a check that other threads compute the same bits. C and
   C++. */
#pragma once
#include "layer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, HEADS = 4, N = 192, DIM = 32, TENSOR = BATCH * HEADS * N * DIM, TABLE = (2 * N - 1) * DIM };

static float q[TENSOR], k[TENSOR], v[TENSOR], table[TABLE], out[TENSOR], expected[TENSOR];

/* Returns the arguments of a call that writes to `result`. */
static inline layer_args args_for(float *result) {
  layer_args args = layer_args_init();
  args.q = q;
  args.k = k;
  args.v = v;
  args.table = table;
  args.out = result;
  args.batch = BATCH;
  return args;
}

/* Gives `exec` a workspace for `workers` workers: the count comes first, because the size depends on it. */
static inline int take_workspace(skewer_exec *exec, const layer_args *args, int32_t workers) {
  exec->workers = workers;
  exec->workspace_bytes = (layer_workspace_bytes(args, exec) + 63) / 64 * 64;
  exec->workspace = aligned_alloc(64, exec->workspace_bytes);
  return exec->workspace != NULL;
}

/* Fills the operands and computes `expected` in this thread alone. Returns 0 after a message. */
static inline int prepare_problem(void) {
  float *all[] = {q, k, v, table};
  size_t counts[] = {TENSOR, TENSOR, TENSOR, TABLE}, tensor, n;
  unsigned state = 1;
  for (tensor = 0; tensor < 4; ++tensor)
    for (n = 0; n < counts[tensor]; ++n) {
      state = state * 1664525u + 1013904223u;
      all[tensor][n] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  layer_args args = args_for(expected);
  skewer_exec exec = skewer_exec_init();
  if (!take_workspace(&exec, &args, 1))
    return 0;
  skewer_status status = layer(&args, &exec);
  free(exec.workspace);
  if (status != SKEWER_OK)
    fprintf(stderr, "%s\n", skewer_status_text(status));
  return status == SKEWER_OK;
}

/* Returns whether `out` has the bits of `expected`, and spoils it for the next call. */
static inline int is_right(void) {
  int is_same = memcmp(out, expected, sizeof out) == 0;
  memset(out, 0xff, sizeof out);
  return is_same;
}

/* Calls the layer a few times with a parallel-for and prints whether the results have the bits of one thread. Returns
   the exit code of a program. */
static inline int check_parallel_for(const char *name, void *context, int32_t workers,
                                     void (*parallel_for)(void *context, int64_t count,
                                                          void (*body)(void *data, int64_t begin, int64_t end,
                                                                       int32_t worker),
                                                          void *data)) {
  enum { CALLS = 5 };
  layer_args args = args_for(out);
  skewer_exec exec = skewer_exec_init();
  int call, wrong = 0;
  if (!prepare_problem() || !take_workspace(&exec, &args, workers))
    return 1;
  exec.context = context;
  exec.parallel_for = parallel_for;
  for (call = 0; call < CALLS; ++call) {
    skewer_status status = layer(&args, &exec);
    if (status != SKEWER_OK)
      fprintf(stderr, "%s\n", skewer_status_text(status));
    wrong += status != SKEWER_OK || !is_right();
  }
  free(exec.workspace);
  printf("%s: %d calls on %d workers, %d differ from one thread\n", name, (int)CALLS, (int)workers, wrong);
  return wrong != 0;
}
