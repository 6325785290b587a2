/* Calls a kernel in several floating-point states: the bits of its results must be the same, and the state stay. */
#include "fading.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

enum { N = 300, D = 16 };
static float q[N * D], k[N * D], v[N * D], out[N * D], weights[N * N], firstOut[N * D], firstWeights[N * N];

static void fill(float *values, unsigned seed) {
  for (int n = 0; n < N * D; ++n) {
    seed = seed * 1664525u + 1013904223u;
    values[n] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
}

int main(void) {
  fill(q, 1), fill(k, 2), fill(v, 3);
  v[5] = 1e-40f; /* a denormal operand */
  const unsigned states[] = {0x1f80, 0x9fc0, 0x5f80,
                             0x0080}; /* usual; flushing; rounding up; trapping on all but one */
  for (int s = 0; s < 4; ++s) {
    fading_args args = fading_args_init();
    args.q = q, args.k = k, args.v = v, args.out = out, args.weights = weights;
    skewer_exec exec = skewer_exec_init();
    exec.workspace_bytes = fading_workspace_bytes(&args, &exec);
    exec.workspace = aligned_alloc(64, (exec.workspace_bytes + 63) / 64 * 64);
    memset(out, 0, sizeof out);
    _mm_setcsr(states[s]);
    int status = fading(&args, &exec);
    unsigned after = _mm_getcsr();
    _mm_setcsr(0x1f80);
    if (s == 0) {
      memcpy(firstOut, out, sizeof out);
      memcpy(firstWeights, weights, sizeof weights);
    }
    int denormal = 0, same = !memcmp(out, firstOut, sizeof out) && !memcmp(weights, firstWeights, sizeof weights);
    for (int n = 0; n < N * N; ++n)
      denormal += fpclassify(weights[n]) == FP_SUBNORMAL;
    for (int n = 0; n < N * D; ++n)
      denormal += fpclassify(out[n]) == FP_SUBNORMAL;
    printf("state %#x: %d, state kept: %d, same bits: %d, denormal results: %d\n", states[s], status,
           after == states[s], same, denormal);
    free(exec.workspace);
  }
  return 0;
}
