// The threads of a oneTBB arena compute the layer.
#include "problem.h"
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

namespace tbb = oneapi::tbb;

/// Gives the range to the arena. A thread of an arena has one index in it, which no other thread has at that time: it
/// is the worker. The ranges are equal, and stay with their threads where that is possible, because of the static
/// partitioner; with the default one TBB makes smaller ranges, which is right too.
static void onTbb(void *context, int64_t count, void (*body)(void *, int64_t, int64_t, int32_t), void *data) {
  static_cast<tbb::task_arena *>(context)->execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, count),
        [&](const tbb::blocked_range<int64_t> &range) {
          body(data, range.begin(), range.end(), tbb::this_task_arena::current_thread_index());
        },
        tbb::static_partitioner());
  });
}

int main() {
  tbb::task_arena arena(4);
  return check_parallel_for("tbb", &arena, arena.max_concurrency(), onTbb);
}
