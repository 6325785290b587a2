// The kernel from C++: an error is a status, and threads of the caller do the work.
#include "relative.h"
#include <cstdio>
#include <vector>

static void inOrderBackwards(void *calls, int64_t count, void (*body)(void *, int64_t, int64_t, int32_t), void *data) {
  for (int64_t item = count; item-- > 0; ++*static_cast<int *>(calls))
    body(data, item, item + 1, static_cast<int32_t>(item % 2));
}

int main() {
  const size_t batch = 2, count = batch * 2 * 5 * 8;
  std::vector<float> q(count, 0.5f), k(count), v(count, 1.0f), table(9 * 8, -0.25f), serial(count, -1.0f),
      parallel(count, -1.0f);
  for (size_t n = 0; n < count; ++n)
    k[n] = static_cast<float>(n % 11) / 11, v[n] = static_cast<float>(n % 7);
  relative_args args = relative_args_init();
  args.q = q.data(), args.k = k.data(), args.v = v.data(), args.table = table.data(), args.out = serial.data();
  args.batch = static_cast<int64_t>(batch);
  skewer_exec exec = skewer_exec_init();
  exec.workers = 2;
  if (relative(&args, &exec) != SKEWER_NULL_WORKSPACE && relative_workspace_bytes(&args, &exec) != 0)
    return std::puts("a missing workspace went unnoticed"), 1;
  std::vector<char> memory(relative_workspace_bytes(&args, &exec) + 64);
  exec.workspace = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  exec.workspace_bytes = memory.size() - 64;
  if (relative(&args, &exec) != SKEWER_OK)
    return std::puts("the serial call failed"), 1;
  int calls = 0;
  exec.context = &calls;
  exec.parallel_for = inOrderBackwards;
  args.out = parallel.data();
  if (relative(&args, &exec) != SKEWER_OK || calls == 0)
    return std::puts("the call with a parallel-for failed"), 1;
  if (serial != parallel)
    return std::puts("the result depends on how the work was cut"), 1;
  return 0;
}
