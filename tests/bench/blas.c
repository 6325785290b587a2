/* Times a compiled matrix product beside sgemm of the OpenBLAS that is installed here, one thread each, call by call.
 * Built by blas.py with product.h of the layer and ROWS, DEPTH, COLUMNS. Ends with 77 where there is no OpenBLAS. */
#include "product.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void (*sgemm_function)(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                               float *, int);
enum { kRowMajor = 101, kNoTranspose = 111, kRounds = 25 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static float *floats(size_t count) {
  float *memory = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  for (size_t n = 0; memory && n < count; ++n)
    memory[n] = (float)((n * 2654435761u >> 8) % 2001) / 1000.0f - 1.0f;
  return memory;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(void) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (!library)
    library = dlopen("libopenblas.so", RTLD_NOW);
  sgemm_function sgemm = library ? (sgemm_function)dlsym(library, "cblas_sgemm") : NULL;
  void (*threads)(int) = library ? (void (*)(int))dlsym(library, "openblas_set_num_threads") : NULL;
  if (!sgemm || !threads)
    return 77;
  threads(1);
  float *x = floats((size_t)ROWS * DEPTH), *w = floats((size_t)DEPTH * COLUMNS);
  float *ours = floats((size_t)ROWS * COLUMNS), *theirs = floats((size_t)ROWS * COLUMNS);
  product_args args = product_args_init();
  args.x = x, args.w = w, args.out = ours;
  skewer_exec exec = skewer_exec_init();
  exec.workspace_bytes = (product_workspace_bytes(&args, &exec) + 63) / 64 * 64;
  exec.workspace = aligned_alloc(64, exec.workspace_bytes ? exec.workspace_bytes : 64);
  if (!x || !w || !ours || !theirs || !exec.workspace)
    return 1;
  double times[2][kRounds];
  for (int round = -2; round < kRounds; ++round) {
    double start = now();
    if (product(&args, &exec) != SKEWER_OK)
      return 1;
    double middle = now();
    sgemm(kRowMajor, kNoTranspose, kNoTranspose, ROWS, COLUMNS, DEPTH, 1, x, DEPTH, w, COLUMNS, 0, theirs, COLUMNS);
    double end = now();
    if (round >= 0)
      times[0][round] = middle - start, times[1][round] = end - middle;
  }
  double error = 0, largest = 0;
  for (size_t n = 0; n < (size_t)ROWS * COLUMNS; ++n) {
    error = fmax(error, fabs((double)ours[n] - theirs[n]));
    largest = fmax(largest, fabs((double)theirs[n]));
  }
  for (int side = 0; side < 2; ++side)
    qsort(times[side], kRounds, sizeof(double), ascending);
  printf("%.6e %.6e %.3e\n", times[0][kRounds / 2], times[1][kRounds / 2], error / largest);
  return error <= 1e-5 * largest ? 0 : 1;
}
