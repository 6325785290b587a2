/* A cache of 8 bits with a scale a token: const int8_t * in the argument struct, no alignment but a byte's. */
#include "cached.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 45, DIM = 20 };

static int8_t memory[2 * N * DIM + 3];
static float q[2][DIM], step[N], out[2][DIM];

int main(void) {
  unsigned state = 7, wrong = 0;
  int8_t *k = memory + 1, *v = memory + 2 + N * DIM; /* odd addresses */
  for (int n = 0; n < N * DIM; ++n) {
    state = state * 1664525u + 1013904223u;
    k[n] = (int8_t)(state >> 24);
    v[n] = (int8_t)(state >> 16);
  }
  for (int n = 0; n < 2 * DIM; ++n)
    q[n / DIM][n % DIM] = (float)sin(n);
  for (int n = 0; n < N; ++n)
    step[n] = 0.01f * (float)(1 + n % 3);
  cached_args args = cached_args_init();
  args.q = q[0], args.k = k, args.v = v, args.step = step, args.out = out[0];
  skewer_exec exec = skewer_exec_init();
  exec.workspace_bytes = (cached_workspace_bytes(&args, &exec) + 63) / 64 * 64;
  exec.workspace = aligned_alloc(64, exec.workspace_bytes + 64);
  skewer_status status = cached(&args, &exec);
  if (status != SKEWER_OK)
    return printf("%s\n", skewer_status_text(status)), 1;
  for (int i = 0; i < 2; ++i) {
    double weight[N], sum = 0, largest = -1e30;
    for (int j = 0; j < N; ++j) {
      weight[j] = 0;
      for (int d = 0; d < DIM; ++d)
        weight[j] += (double)q[i][d] * k[j * DIM + d] * step[j] / sqrt(DIM);
      largest = fmax(largest, weight[j]);
    }
    for (int j = 0; j < N; ++j)
      sum += weight[j] = exp(weight[j] - largest);
    for (int d = 0; d < DIM; ++d) {
      double expected = 0;
      for (int j = 0; j < N; ++j)
        expected += 0.01 * weight[j] / sum * v[j * DIM + d];
      wrong += fabs(expected - out[i][d]) > 1e-5;
    }
  }
  printf("%u wrong\n", wrong);
  free(exec.workspace);
  return 0;
}
