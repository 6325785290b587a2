/* Calls a compiled layer rightly and wrongly, through its header alone. Prints one line for each thing that it tries. */
#include "attend.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, HEADS = 2, N = 12, DIM = 8, ELEMENTS = BATCH * HEADS * N * DIM, ROWS = BATCH * HEADS * N };
static float q[ELEMENTS], k[ELEMENTS], v[ELEMENTS], table[(2 * N - 1) * DIM];
static float out[ELEMENTS], lse[ROWS], expected[ELEMENTS], again[ELEMENTS];
static int32_t lengths[BATCH] = {12, 5, 1};
static const float UNTOUCHED = -12345.0f;

static float number(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static void compute(void) { /* the layer by its formula, in double */
  for (int b = 0; b < BATCH; ++b)
    for (int h = 0; h < HEADS; ++h)
      for (int i = 0; i < N; ++i) {
        const float *query = q + ((b * HEADS + h) * N + i) * DIM;
        double sums[DIM] = {0}, total = 0;
        for (int j = 0; j < lengths[b]; ++j) {
          double score = 0;
          for (int d = 0; d < DIM; ++d)
            score += query[d] * (double)(k[((b * HEADS + h) * N + j) * DIM + d] + table[(j - i + N - 1) * DIM + d]);
          double weight = exp(score / sqrt(DIM));
          total += weight;
          for (int d = 0; d < DIM; ++d)
            sums[d] += weight * v[((b * HEADS + h) * N + j) * DIM + d];
        }
        for (int d = 0; d < DIM; ++d)
          expected[((b * HEADS + h) * N + i) * DIM + d] = (float)(sums[d] / total);
      }
}
static double error(void) {
  double worst = 0;
  for (int e = 0; e < ELEMENTS; ++e)
    worst = fmax(worst, fabs((double)out[e] - expected[e]));
  return worst;
}
static void clear(void) {
  for (int e = 0; e < ELEMENTS; ++e)
    out[e] = UNTOUCHED;
  for (int r = 0; r < ROWS; ++r)
    lse[r] = UNTOUCHED;
}
static int untouched(void) {
  int same = 1;
  for (int e = 0; e < ELEMENTS; ++e)
    same &= out[e] == UNTOUCHED;
  for (int r = 0; r < ROWS; ++r)
    same &= lse[r] == UNTOUCHED;
  return same;
}

static attend_args arguments(void) {
  attend_args args = attend_args_init();
  args.q = q, args.k = k, args.v = v, args.table = table, args.lengths = lengths;
  args.out = out, args.lse = lse, args.batch = BATCH;
  return args;
}
static skewer_exec execution(const attend_args *args, int32_t workers) {
  skewer_exec exec = skewer_exec_init();
  exec.workers = workers;
  exec.workspace_bytes = attend_workspace_bytes(args, &exec);
  exec.workspace = aligned_alloc(64, (exec.workspace_bytes + 63) / 64 * 64);
  return exec;
}

static void refused(const char *what, skewer_status wanted, const attend_args *args, const skewer_exec *exec) {
  clear();
  skewer_status status = attend(args, exec);
  printf("%s: %d %s%s\n", what, (int)status, attend_status_text(status),
         status != wanted ? ", ANOTHER THAN THE HEADER'S" : untouched() ? "" : ", BUT SOMETHING WAS WRITTEN");
}

static void one_by_one(void *context, int64_t count, void (*body)(void *, int64_t, int64_t, int32_t), void *data) {
  for (int64_t item = count; item-- > 0;) /* backwards, with workers in turn */
    body(data, item, item + 1, (int32_t)(item % *(int32_t *)context));
}
static void none(void *context, int64_t count, void (*body)(void *, int64_t, int64_t, int32_t), void *data) {
  (void)context, (void)count, (void)body, (void)data;
}
static void twice(void *context, int64_t count, void (*body)(void *, int64_t, int64_t, int32_t), void *data) {
  (void)context;
  body(data, 0, count, 0);
  body(data, 0, count, 0);
}

int main(void) {
  unsigned state = 7;
  float *all[] = {q, k, v, table};
  size_t counts[] = {ELEMENTS, ELEMENTS, ELEMENTS, sizeof(table) / sizeof(float)};
  for (int n = 0; n < 4; ++n)
    for (size_t e = 0; e < counts[n]; ++e)
      all[n][e] = number(&state);
  compute();

  attend_args args = arguments();
  skewer_exec exec = execution(&args, 1);
  clear();
  printf("serial: %d, right: %d\n", (int)attend(&args, &exec), error() < 1e-5);
  memcpy(again, out, sizeof(out));

  /* The caller's parallel-for: other workers, another order, the same bits. */
  int32_t workers = 3;
  skewer_exec parallel = execution(&args, workers);
  parallel.context = &workers, parallel.parallel_for = one_by_one;
  clear();
  printf("parallel: %d, same bits: %d\n", (int)attend(&args, &parallel), memcmp(again, out, sizeof(out)) == 0);

  /* Phase after phase, in ranges of the caller's choice. */
  clear();
  int good = 1;
  for (int32_t phase = 0; phase < attend_phases(); ++phase) {
    int64_t items = attend_items(&args, phase);
    good &= items > 0;
    for (int64_t begin = 0; begin < items; begin += 2)
      good &= attend_raw(&args, &exec, phase, begin, begin + 2 < items ? begin + 2 : items, 0) == SKEWER_OK;
    good &= attend_raw(&args, &exec, phase, items, items, 0) == SKEWER_OK; /* of nothing */
  }
  printf("raw: %d, same bits: %d\n", good, memcmp(again, out, sizeof(out)) == 0);
  printf("raw, wrong phase: %d %d\n", (int)attend_raw(&args, &exec, attend_phases(), 0, 1, 0),
         (int)attend_raw(&args, &exec, -1, 0, 1, 0));
  int64_t items = attend_items(&args, 0);
  printf("raw, wrong ranges: %d %d %d %d\n", (int)attend_raw(&args, &exec, 0, -1, 1, 0),
         (int)attend_raw(&args, &exec, 0, 0, items + 1, 0), (int)attend_raw(&args, &exec, 0, 1, 0, 0),
         (int)attend_raw(&args, &exec, 0, 0, 1, 1));
  printf("items of a wrong phase: %d\n", (int)attend_items(&args, attend_phases()));

  /* The workspace: more for more workers, and none for what cannot run. */
  skewer_exec more = exec;
  more.workers = 4;
  printf("workspace grows: %d\n", attend_workspace_bytes(&args, &more) > exec.workspace_bytes);
  printf("workspace without exec: %d\n", attend_workspace_bytes(&args, NULL) == exec.workspace_bytes);
  attend_args pointless = attend_args_init();
  pointless.batch = BATCH;
  printf("workspace without tensors: %d\n", attend_workspace_bytes(&pointless, &exec) == exec.workspace_bytes);
  pointless.batch = 0;
  printf("workspace of no batch: %d\n", attend_workspace_bytes(&pointless, &exec) == SIZE_MAX);
  printf("workspace of no args: %d\n", attend_workspace_bytes(NULL, &exec) == SIZE_MAX);

  attend_args wrong;
  skewer_exec bad;
  refused("null args", SKEWER_NULL_ARGS, NULL, &exec);
  wrong = args, wrong.size -= 8;
  refused("smaller struct", SKEWER_BAD_ARGS_SIZE, &wrong, &exec);
  wrong = args, wrong.size += 8;
  refused("larger struct", SKEWER_BAD_ARGS_SIZE, &wrong, &exec);
  wrong = args, wrong.version += 1;
  refused("later version", SKEWER_BAD_ARGS_VERSION, &wrong, &exec);
  wrong = args, wrong.batch = 0;
  refused("no batch", SKEWER_BAD_SIZE, &wrong, &exec);
  wrong = args, wrong.batch = INT64_MAX / 2;
  refused("immense batch", SKEWER_BAD_SIZE, &wrong, &exec);
  wrong = args, wrong.v = NULL;
  refused("null input", SKEWER_NULL_TENSOR, &wrong, &exec);
  wrong = args, wrong.lse = NULL;
  refused("null second result", SKEWER_NULL_TENSOR, &wrong, &exec);
  wrong = args, wrong.q = (const float *)((const char *)q + 2);
  refused("misaligned input", SKEWER_MISALIGNED_TENSOR, &wrong, &exec);
  wrong = args, wrong.lengths = (const int32_t *)((const char *)lengths + 1);
  refused("misaligned indices", SKEWER_MISALIGNED_TENSOR, &wrong, &exec);
  refused("null exec", SKEWER_NULL_EXEC, &args, NULL);
  bad = exec, bad.size = 0;
  refused("wrong exec", SKEWER_BAD_EXEC_SIZE, &args, &bad);
  bad = exec, bad.version = 0;
  refused("wrong exec version", SKEWER_BAD_EXEC_VERSION, &args, &bad);
  bad = exec, bad.workers = 0;
  refused("no workers", SKEWER_BAD_WORKERS, &args, &bad);
  bad = exec, bad.workspace = NULL;
  refused("no workspace", SKEWER_NULL_WORKSPACE, &args, &bad);
  bad = exec, bad.workspace_bytes -= 1;
  refused("small workspace", SKEWER_SMALL_WORKSPACE, &args, &bad);
  bad = exec, bad.workers = 2;
  refused("workspace of one worker for two", SKEWER_SMALL_WORKSPACE, &args, &bad);
  bad = exec, bad.workspace = (char *)exec.workspace + 4;
  refused("misaligned workspace", SKEWER_MISALIGNED_WORKSPACE, &args, &bad);
  wrong = args, wrong.q = out;
  refused("result over an input", SKEWER_OVERLAP, &wrong, &exec);
  wrong = args, wrong.out = lse;
  refused("result over a result", SKEWER_OVERLAP, &wrong, &exec);
  wrong = args, wrong.k = q, wrong.v = q;
  printf("inputs that share memory: %d\n", (int)attend(&wrong, &exec));
  for (int32_t length = -1; length <= N + 1; length += N + 2) {
    lengths[1] = length;
    refused("index out of range", SKEWER_BAD_INDEX, &args, &exec);
  }
  lengths[1] = 0; /* a row without visible keys is 0, and its lse is -inf */
  printf("no visible keys: %d, zero: %d, -inf: %d\n", (int)attend(&args, &exec),
         out[HEADS * N * DIM] == 0 && out[2 * HEADS * N * DIM - 1] == 0, isinf(lse[HEADS * N]) && lse[HEADS * N] < 0);
  lengths[1] = 5;
  bad = exec, bad.parallel_for = none;
  printf("parallel-for of nothing: %d\n", (int)attend(&args, &bad));
  bad.parallel_for = twice;
  printf("parallel-for twice: %d\n", (int)attend(&args, &bad));
  printf("unknown status: %s\n", attend_status_text((skewer_status)1000));
  free(exec.workspace), free(parallel.workspace);
  return 0;
}
