// A plain pool of threads computes the layer through parallel_for. The calling thread waits.
#include "pool.h"
#include "problem.h"
#include <algorithm>

/// Gives each thread of the pool about four ranges, so that a thread that is late leaves its share to others. The
/// number of the thread is the worker, whichever ranges it takes.
static void onPool(void *context, int64_t count, void (*body)(void *, int64_t, int64_t, int32_t), void *data) {
  Pool &pool = *static_cast<Pool *>(context);
  int64_t ranges = std::min<int64_t>(count, 4 * pool.size());
  Countdown left(ranges);
  for (int64_t range = 0; range < ranges; ++range)
    pool.submit([&, range](int32_t thread) {
      body(data, count * range / ranges, count * (range + 1) / ranges, thread);
      left.done();
    });
  left.wait();
}

int main() {
  Pool pool(4);
  return check_parallel_for("pool", &pool, pool.size(), onPool);
}
