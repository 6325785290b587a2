// A program with a scheduler of its own computes the layer: it asks for phases and items, and submits ranges of items
// among its other tasks. No thread waits inside a kernel, so the scheduler may do anything between two ranges.
#include "pool.h"
#include "problem.h"
#include <algorithm>
#include <atomic>
#include <functional>

/// One call of the layer, phase after phase. The last range of a phase submits the next phase.
class Call {
public:
  Call(Pool &pool, const layer_args &args, const skewer_exec &exec, std::function<void(skewer_status)> whenDone)
      : pool(pool), args(args), exec(exec), whenDone(std::move(whenDone)) {}

  void begin(int32_t phase = 0) {
    if (phase == layer_phases())
      return end();
    int64_t items = layer_items(&args, phase); // -1: an argument is wrong, and layer_raw says which
    int64_t ranges = std::max<int64_t>(1, std::min<int64_t>(items, 2 * pool.size()));
    left = ranges;
    for (int64_t range = 0; range < ranges; ++range)
      pool.submit([=](int32_t thread) {
        skewer_status one =
            layer_raw(&args, &exec, phase, items * range / ranges, items * (range + 1) / ranges, thread);
        if (one != SKEWER_OK)
          status = one;
        if (--left == 0)
          status == SKEWER_OK ? begin(phase + 1) : end();
      });
  }

private:
  void end() {
    auto last = whenDone; // whoever waits for it may destroy this call
    last(status);
  }

  Pool &pool;
  layer_args args;
  skewer_exec exec;
  std::function<void(skewer_status)> whenDone;
  std::atomic<int64_t> left{0};
  std::atomic<skewer_status> status{SKEWER_OK};
};

int main() {
  static float second[TENSOR];
  Pool pool(4);
  layer_args firstArgs = args_for(out), secondArgs = args_for(second);
  skewer_exec firstExec = skewer_exec_init(), secondExec = skewer_exec_init();
  // Two calls share the pool: each has a workspace with a part for every thread.
  if (!prepare_problem() || !take_workspace(&firstExec, &firstArgs, pool.size()) ||
      !take_workspace(&secondExec, &secondArgs, pool.size()))
    return 1;
  Countdown left(2);
  std::atomic<int> failures{0};
  auto whenDone = [&](skewer_status status) {
    failures += status != SKEWER_OK;
    left.done();
  };
  Call first(pool, firstArgs, firstExec, whenDone), other(pool, secondArgs, secondExec, whenDone);
  first.begin();
  other.begin();
  left.wait();
  int wrong = failures + (memcmp(second, expected, sizeof second) != 0) + !is_right();
  free(firstExec.workspace);
  free(secondExec.workspace);
  printf("phases: 2 calls at the same time on %d workers, %d differ from one thread\n", pool.size(), wrong);
  return wrong != 0;
}
