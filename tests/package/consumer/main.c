/* Runs the kernel and compares it with the formula, written out. */
#include "relative.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 3, H = 2, N = 5, D = 8, COUNT = B * H * N * D };

static float q[COUNT], k[COUNT], v[COUNT], table[(2 * N - 1) * D], out[COUNT];

static void fill(float *values, int count, unsigned seed) {
  int n;
  for (n = 0; n < count; ++n) {
    seed = seed * 1664525u + 1013904223u;
    values[n] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
  }
}

static double worst_error(void) {
  double worst = 0;
  int head, i, j, d;
  for (head = 0; head < B * H; ++head)
    for (i = 0; i < N; ++i) {
      double weight[N], sum = 0;
      for (j = 0; j < N; ++j) {
        double score = 0;
        for (d = 0; d < D; ++d)
          score += (double)q[(head * N + i) * D + d] *
                   ((double)k[(head * N + j) * D + d] + (double)table[(j - i + N - 1) * D + d]);
        sum += weight[j] = exp(score / sqrt((double)D));
      }
      for (d = 0; d < D; ++d) {
        double expected = 0, error;
        for (j = 0; j < N; ++j)
          expected += weight[j] / sum * v[(head * N + j) * D + d];
        error = fabs(expected - out[(head * N + i) * D + d]);
        worst = error > worst || error != error ? error : worst;
      }
    }
  return worst;
}

int main(void) {
  relative_args args = relative_args_init();
  skewer_exec exec = skewer_exec_init();
  skewer_status status;
  char *memory;
  double worst;
  fill(q, COUNT, 1), fill(k, COUNT, 2), fill(v, COUNT, 3), fill(table, (2 * N - 1) * D, 4);
  args.q = q, args.k = k, args.v = v, args.table = table, args.out = out;
  args.batch = B;
  exec.workspace_bytes = relative_workspace_bytes(&args, &exec);
  memory = malloc((size_t)exec.workspace_bytes + 64);
  exec.workspace = memory + (64 - (uintptr_t)memory % 64);
  status = relative(&args, &exec);
  free(memory);
  worst = worst_error();
  printf("%s, worst error %g\n", skewer_status_text(status), worst);
  return status == SKEWER_OK && worst < 1e-5 ? 0 : 1;
}
