/* Calls at the same time, each with a workspace of its own, and one call on several threads: always the same bits. */
#define _POSIX_C_SOURCE 200809L
#include "attend.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, HEADS = 2, N = 12, DIM = 8, ELEMENTS = BATCH * HEADS * N * DIM, ROWS = BATCH * HEADS * N, CALLERS = 4 };
static float q[ELEMENTS], k[ELEMENTS], v[ELEMENTS], table[(2 * N - 1) * DIM], expected[ELEMENTS];
static int32_t lengths[BATCH] = {12, 7, 3, 12};

struct caller {
  float out[ELEMENTS], lse[ROWS];
  int failures;
};

static void *call(void *data) {
  struct caller *caller = data;
  attend_args args = attend_args_init();
  args.q = q, args.k = k, args.v = v, args.table = table, args.lengths = lengths;
  args.out = caller->out, args.lse = caller->lse, args.batch = BATCH;
  skewer_exec exec = skewer_exec_init();
  exec.workspace_bytes = attend_workspace_bytes(&args, &exec);
  exec.workspace = aligned_alloc(64, (exec.workspace_bytes + 63) / 64 * 64);
  for (int round = 0; round < 50; ++round) {
    memset(exec.workspace, round, exec.workspace_bytes); /* what it held does not matter */
    memset(caller->out, 0xff, sizeof(caller->out));
    caller->failures += attend(&args, &exec) != SKEWER_OK;
    caller->failures += memcmp(caller->out, expected, sizeof(expected)) != 0;
  }
  free(exec.workspace);
  return NULL;
}

typedef void (*range_body)(void *, int64_t, int64_t, int32_t);
struct range {
  range_body body;
  void *data;
  int64_t begin, end;
  int32_t worker;
};
static void *work(void *data) {
  struct range *range = data;
  range->body(range->data, range->begin, range->end, range->worker);
  return NULL;
}
/* Uneven ranges, one thread each. */
static void on_threads(void *context, int64_t count, range_body body, void *data) {
  int32_t workers = *(int32_t *)context;
  pthread_t threads[8];
  struct range ranges[8];
  for (int32_t worker = 0; worker < workers; ++worker) {
    struct range range = {body, data, count * worker * worker / (workers * workers),
                          count * (worker + 1) * (worker + 1) / (workers * workers), worker};
    ranges[worker] = range;
    pthread_create(&threads[worker], NULL, work, &ranges[worker]);
  }
  for (int32_t worker = 0; worker < workers; ++worker)
    pthread_join(threads[worker], NULL);
}

int main(void) {
  unsigned state = 3;
  float *all[] = {q, k, v, table};
  size_t counts[] = {ELEMENTS, ELEMENTS, ELEMENTS, sizeof(table) / sizeof(float)};
  for (int n = 0; n < 4; ++n)
    for (size_t e = 0; e < counts[n]; ++e) {
      state = state * 1664525u + 1013904223u;
      all[n][e] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  static struct caller callers[CALLERS];
  attend_args args = attend_args_init();
  args.q = q, args.k = k, args.v = v, args.table = table, args.lengths = lengths;
  args.out = expected, args.lse = callers[0].lse, args.batch = BATCH;
  skewer_exec exec = skewer_exec_init();
  exec.workers = 5;
  exec.workspace_bytes = attend_workspace_bytes(&args, &exec);
  exec.workspace = aligned_alloc(64, (exec.workspace_bytes + 63) / 64 * 64);
  int failures = attend(&args, &exec) != SKEWER_OK;

  pthread_t threads[CALLERS];
  for (int n = 0; n < CALLERS; ++n)
    pthread_create(&threads[n], NULL, call, &callers[n]);
  for (int n = 0; n < CALLERS; ++n) {
    pthread_join(threads[n], NULL);
    failures += callers[n].failures;
  }
  printf("calls at the same time: %d failures\n", failures);

  int differences = 0;
  static float out[ELEMENTS];
  args.out = out;
  for (int32_t workers = 1; workers <= 5; ++workers) {
    exec.context = &workers, exec.parallel_for = on_threads;
    memset(out, 0xff, sizeof(out));
    differences += attend(&args, &exec) != SKEWER_OK || memcmp(out, expected, sizeof(out)) != 0;
  }
  printf("one call on threads: %d differences\n", differences);
  free(exec.workspace);
  return 0;
}
