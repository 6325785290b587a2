/* A cache of 8 bits with a scale a token: const int8_t * or, with E4M3, const uint8_t * in the argument struct; no alignment
   but a byte's. */
#include "cached.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 45, DIM = 20 };

#ifdef E4M3
typedef uint8_t stored;
static double number_of(stored bits) {
  int exponent = bits >> 3 & 15, fraction = bits & 7;
  double size = exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
  return bits & 0x80 ? -size : size;
}
/* A finite number, of which the largest is 30. */
static stored stored_of(unsigned bits) { return (stored)((bits & 0x80) | (bits & 0x7f) * 95 / 127); }
#else
typedef int8_t stored;
static double number_of(stored number) { return number; }
static stored stored_of(unsigned bits) { return (stored)bits; }
#endif

static stored memory[2 * N * DIM + 3];
static float q[2][DIM], step[N], out[2][DIM];

int main(void) {
  unsigned state = 7, wrong = 0;
  stored *k = memory + 1, *v = memory + 2 + N * DIM; /* odd addresses */
  for (int n = 0; n < N * DIM; ++n) {
    state = state * 1664525u + 1013904223u;
    k[n] = stored_of(state >> 24);
    v[n] = stored_of(state >> 16);
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
        weight[j] += (double)q[i][d] * number_of(k[j * DIM + d]) * step[j] / sqrt(DIM);
      largest = fmax(largest, weight[j]);
    }
    for (int j = 0; j < N; ++j)
      sum += weight[j] = exp(weight[j] - largest);
    for (int d = 0; d < DIM; ++d) {
      double expected = 0;
      for (int j = 0; j < N; ++j)
        expected += 0.01 * weight[j] / sum * number_of(v[j * DIM + d]);
      wrong += fabs(expected - out[i][d]) > 1e-5;
    }
  }
  printf("%u wrong\n", wrong);
  free(exec.workspace);
  return 0;
}
