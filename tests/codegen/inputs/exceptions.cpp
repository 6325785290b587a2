// An exception that leaves the caller's parallel_for passes through the kernel; a backtrace in it shows who called.
#include "attend.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>

enum { BATCH = 1, HEADS = 2, N = 12, DIM = 8, ELEMENTS = BATCH * HEADS * N * DIM };
static float q[ELEMENTS], table[(2 * N - 1) * DIM], out[ELEMENTS], lse[BATCH * HEADS * N];
static int32_t lengths[BATCH] = {12};
static bool isCallerSeen = false;

static void lookBack(void *, int64_t count, void (*body)(void *, int64_t, int64_t, int32_t), void *data) {
  void *frames[64];
  int found = backtrace(frames, 64);
  char **names = backtrace_symbols(frames, found);
  for (int k = 0; k < found; ++k)
    isCallerSeen |= std::strstr(names[k], "the_caller") != nullptr;
  std::free(names);
  body(data, 0, count, 0);
}
static void refuse(void *, int64_t, void (*)(void *, int64_t, int64_t, int32_t), void *) { throw 42; }

extern "C" __attribute__((noinline)) int the_caller(const attend_args *args, const skewer_exec *exec) {
  int status = attend(args, exec);
  return status + 0 * std::printf("returned %d\n", status);
}

int main() {
  attend_args args = attend_args_init();
  args.q = args.k = args.v = q;
  args.table = table, args.lengths = lengths, args.out = out, args.lse = lse, args.batch = BATCH;
  skewer_exec exec = skewer_exec_init();
  exec.workspace_bytes = (attend_workspace_bytes(&args, &exec) + 63) / 64 * 64;
  exec.workspace = std::aligned_alloc(64, exec.workspace_bytes);
  exec.parallel_for = lookBack;
  the_caller(&args, &exec);
  std::printf("caller seen: %d\n", isCallerSeen);
  exec.parallel_for = refuse;
  try {
    the_caller(&args, &exec);
  } catch (int number) {
    std::printf("caught %d\n", number);
  }
  exec.parallel_for = nullptr;
  the_caller(&args, &exec);
  std::free(exec.workspace);
}
