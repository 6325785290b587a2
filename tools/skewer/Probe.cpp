// `skewer target --probe`: measures a core by loops of known work. It compares times with each other, so that the
// results are cycles at any clock.
#include "tools/skewer/Probe.h"
#include "tools/skewer/Clock.h"
#include "tools/skewer/ProbeLoops.h"
#include "tools/skewer/ThreadPool.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <thread>

namespace skewer::driver {

Repeats repeatsOf(std::vector<double> values) {
  if (values.empty())
    return {};
  std::sort(values.begin(), values.end());
  double median = values[values.size() / 2];
  return {median, median > 0 ? (values.back() - values.front()) / median : INFINITY};
}

void apply(Machine &machine, const std::vector<Measurement> &measurements, const std::string &when,
           std::vector<std::string> &notes) {
  for (const Measurement &one : measurements)
    for (auto [number, field] : llvm::enumerate(machineFields())) {
      if (field.name != one.field)
        continue;
      std::string doubt = one.doubt;
      if (doubt.empty() && !(one.spread <= kMostSpread))
        doubt = fmt::format("its repeats spread by {:.0f} %", 100 * one.spread);
      else if (doubt.empty() && !(one.value >= field.least && one.value <= field.most))
        doubt = fmt::format("{:.3g} is not {}", one.value, field.range());
      if (doubt.empty()) {
        machine.set(one.field, one.value,
                    fmt::format("measured by --probe on {}, spread {:.0f} %", when, 100 * one.spread));
        continue;
      }
      notes.push_back(fmt::format("{}: not believed, {}; {} {} stays", one.field, doubt, field.of(machine.target),
                                  field.unit.str()));
      machine.sources[number] += fmt::format("; kept by --probe on {}: {}", when, doubt);
    }
}

namespace {

constexpr int kRepeats = 5, kSlices = 6;
constexpr double kSliceSeconds = 4e-4;

/// Returns the seconds of a unit. Each repeat takes the least of some slices, since interruptions only add time.
Repeats secondsOf(llvm::function_ref<int64_t(int64_t rounds)> loop, llvm::function_ref<void()> before = nullptr) {
  int64_t rounds = 1;
  double least = 0;
  while (rounds < (int64_t(1) << 40)) { // find the number of rounds that fills a slice
    double start = now();
    loop(rounds);
    least = now() - start;
    if (least >= kSliceSeconds / 2)
      break;
    rounds *= 2;
  }
  std::vector<double> values;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    double best = INFINITY;
    for (int slice = 0; slice < kSlices; ++slice) {
      if (before)
        before();
      double start = now();
      int64_t units = loop(rounds);
      best = std::min(best, (now() - start) / static_cast<double>(std::max<int64_t>(1, units)));
    }
    values.push_back(best);
  }
  return repeatsOf(values);
}

/// Rounds to a near half, 1.97 to 2; keeps 1.3: rates of pipes are multiples of a half, unless something else is the
/// limit.
double nearHalf(double rate) {
  double half = std::round(2 * rate) / 2;
  return std::abs(rate - half) <= 0.08 * rate ? half : std::round(100 * rate) / 100;
}

double digits(double value, int places) {
  double scale = std::pow(10, places);
  return std::round(value * scale) / scale;
}

struct Free {
  void operator()(char *data) const { std::free(data); }
};
using Memory = std::unique_ptr<char, Free>;

/// Allocates memory and writes it, so that its pages do not share one page of zeros. Null if there is not enough
/// memory.
Memory allocate(size_t bytes) {
  Memory memory(static_cast<char *>(std::aligned_alloc(4096, bytes)));
  if (memory)
    std::memset(memory.get(), 1, bytes);
  return memory;
}

size_t wholePages(int64_t bytes) { return static_cast<size_t>(std::max<int64_t>(bytes, 4096)) / 4096 * 4096; }

class Prober {
public:
  explicit Prober(const Machine &host)
      : target(host.target), caches(hostCaches()), loops(probeLoops(host.target.lanes)) {}

  std::vector<Measurement> run() {
    measureCycle();
    measurePipes();
    measureCaches();
    measureGathers();
    measureMemory();
    return std::move(found);
  }

private:
  void add(const char *field, double value, double spread, std::string doubt = "") {
    found.push_back({field, value, spread, std::move(doubt)});
  }

  /// Measures the length of a cycle with the chain of FMAs, whose number of cycles is known; it then serves as the
  /// clock, at the frequency that wide instructions run at. The number comes from a chain of integer instructions, run
  /// right after wide ones.
  void measureCycle() {
    chain = secondsOf([&](int64_t rounds) { return loops.chain(rounds, kFactor, kAdded); });
    double latency = target.fmaLatency;
    if (integerChain(1, 1)) {
      auto heat = [&] { loops.multiplyAdds(2000, kFactor, kAdded); };
      Repeats integers = secondsOf([&](int64_t rounds) { return integerChain(rounds, 0x5a5a); }, heat);
      double ratio = chain.median / integers.median, spread = std::max(chain.spread, integers.spread);
      bool isWhole = std::abs(ratio - std::round(ratio)) <= 0.2;
      add("fma_latency", std::round(ratio), spread,
          isWhole ? "" : fmt::format("{:.2f} is no whole number of cycles", ratio));
      if (isWhole && spread <= kMostSpread && ratio >= 1)
        latency = std::round(ratio);
    }
    cycle = chain.median / latency;
    add("clock", digits(1e-9 / cycle, 2), chain.spread);
  }

  void measurePipes() {
    Repeats multiplies = secondsOf([&](int64_t rounds) { return loops.multiplyAdds(rounds, kFactor, kAdded); });
    Repeats additions = secondsOf([&](int64_t rounds) { return loops.additions(rounds, kFactor, kAdded); });
    Repeats both = secondsOf([&](int64_t rounds) { return loops.both(rounds, kFactor, kAdded); });
    add("fma_rate", nearHalf(cycle / multiplies.median), std::max(chain.spread, multiplies.spread));
    // On shared pipes the two together take the sum of their times; on separate pipes they take the longer time.
    double share = both.median / (multiplies.median + additions.median);
    double spread = std::max({chain.spread, multiplies.spread, additions.spread, both.spread});
    bool isApart = share < 0.65, isShared = share > 0.85;
    add("own_add_rate", isApart ? nearHalf(cycle / additions.median) : 0, spread,
        isApart || isShared
            ? ""
            : fmt::format("FMAs and additions together take {:.2f} of the time of one after the other", share));
  }

  /// Returns the seconds for one byte of memory that is read again and again.
  Repeats readTime(int64_t bytes) {
    size_t size = wholePages(bytes);
    Memory memory = allocate(size);
    if (!memory)
      return {1, INFINITY};
    return secondsOf([&](int64_t rounds) { return loops.read(rounds, memory.get(), size); });
  }

  void measureCaches() {
    Repeats first = readTime(target.l1Bytes / 2);
    double vector = 4.0 * static_cast<double>(target.lanes);
    add("load_rate", nearHalf(cycle / (first.median * vector)), std::max(chain.spread, first.spread));
    Repeats second = readTime(target.l2Bytes / 2);
    add("l2_rate", digits(cycle / second.median, 1), std::max(chain.spread, second.spread));
    int64_t third = std::min(4 * target.l2Bytes, caches.l3 / 2);
    if (third < 2 * target.l2Bytes)
      return add("l3_rate", 0, 0, "this machine names no cache behind L2 that is four times as large");
    Repeats behind = readTime(third);
    add("l3_rate", digits(cycle / behind.median, 1), std::max(chain.spread, behind.spread));
  }

  /// Takes the faster of the gather instruction and single loads: the compiler knows which is better on a processor.
  void measureGathers() {
    std::vector<float> table(kGathered, 1.0f);
    Repeats each = secondsOf([&](int64_t rounds) { return loops.pick(rounds, table.data()); });
    if (loops.gather)
      if (Repeats whole = secondsOf([&](int64_t rounds) { return loops.gather(rounds, table.data()); });
          whole.median < each.median)
        each = whole;
    add("gather_cost", digits(each.median / cycle, 2), std::max(chain.spread, each.spread));
  }

  /// Measures the rate of each thread while all work: each reads its own memory, together twice the size of the last
  /// cache.
  void measureMemory() {
    constexpr int64_t kLeast = int64_t(64) << 20, kMost = int64_t(512) << 20;
    auto workers = static_cast<int32_t>(std::clamp(std::thread::hardware_concurrency(), 1u, 1024u));
    struct Work {
      const ProbeLoops *loops;
      size_t bytes;
      std::vector<Memory> parts;
      std::vector<double> seconds;
    } work{&loops, wholePages(std::clamp(2 * caches.l3, kLeast, kMost) / workers), {}, {}};
    work.parts.resize(workers);
    work.seconds.resize(workers);
    ThreadPool pool(workers);
    pool.run(
        workers,
        [](void *data, int64_t begin, int64_t end, int32_t) {
          auto *work = static_cast<Work *>(data);
          for (int64_t item = begin; item < end; ++item)
            work->parts[item] = allocate(work->bytes);
        },
        &work);
    if (llvm::any_of(work.parts, [](const Memory &part) { return !part; }))
      return add("memory_rate", 0, 0, "there is not enough memory");
    std::vector<double> rates;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      double best = 0;
      for (int slice = 0; slice < 2; ++slice) {
        pool.run(
            workers,
            [](void *data, int64_t begin, int64_t end, int32_t) {
              auto *work = static_cast<Work *>(data);
              for (int64_t item = begin; item < end; ++item) {
                // All threads work: elapsed time would count other processes as slow memory.
                double start = processorTime();
                work->loops->read(1, work->parts[item].get(), work->bytes);
                work->seconds[item] = processorTime() - start;
              }
            },
            &work);
        double seconds = std::accumulate(work.seconds.begin(), work.seconds.end(), 0.0) / workers;
        best = std::max(best, static_cast<double>(work.bytes) / std::max(seconds, 1e-9) * 1e-9);
      }
      rates.push_back(best);
    }
    Repeats rate = repeatsOf(rates);
    add("memory_rate", digits(rate.median, 1), rate.spread);
  }

  // Sums stay finite: x = 0.999 x + 0.001.
  static constexpr float kFactor = 0.999f, kAdded = 0.001f;
  const Target &target;
  HostCaches caches;
  ProbeLoops loops;
  Repeats chain;
  double cycle = 0; // seconds
  std::vector<Measurement> found;
};

} // namespace

std::vector<Measurement> probe(const Machine &host) { return Prober(host).run(); }

} // namespace skewer::driver
