/* What attention returns where all scores are equal: the means of the values. */
#include <math.h>
#include <stdint.h>

static void fill(float *x, int32_t count) {
  int32_t k;
  for (k = 0; k < count; ++k)
    x[k] = (float)(k * 7 % 23) - 11;
}

/* Elements of `out` that are not the mean of the values of all keys, or of those up to the query. */
static int32_t differences(const float *out, const float *v, int32_t heads, int32_t n, int32_t dim, int32_t causal) {
  int32_t h, i, j, e, wrong = 0;
  for (h = 0; h < heads; ++h)
    for (i = 0; i < n; ++i)
      for (e = 0; e < dim; ++e) {
        int32_t keys = causal ? i + 1 : n;
        double sum = 0;
        for (j = 0; j < keys; ++j)
          sum += v[(h * n + j) * dim + e];
        wrong += !(fabs(out[(h * n + i) * dim + e] - sum / keys) < 1e-4);
      }
  return wrong;
}
