// Times a kernel in turns with what it is compared with, and measures the processor's peak around each part.
#include "tools/skewer/BenchKernel.h"
#include "codegen/Compiler/Compiler.h"
#include "tools/skewer/Clock.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Peak.h"
#include "tools/skewer/PlainRead.h"
#include "tools/skewer/Predict.h"
#include "tools/skewer/Progress.h"
#include <algorithm>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

/// Makes a plain read of the operands next to each call, because the machine's bandwidth changes within seconds.
class ReadsBeside {
public:
  ReadsBeside(const Execution &execution, ThreadPool &pool) : pool(pool) {
    for (const Buffer &operand : execution.operands()) {
      memory.push_back({operand.data(), operand.size()});
      total += double(operand.size());
    }
    before = secondsOfPlainRead(memory, pool);
  }
  void noteCall(double seconds) {
    double after = secondsOfPlainRead(memory, pool), least = std::min(before, after);
    shares.push_back(least / seconds);
    reads.push_back(least);
    before = after;
  }
  PlainReads figures() const { return {total, medianOf(reads), medianOf(shares)}; }

private:
  ThreadPool &pool;
  std::vector<std::pair<const void *, size_t>> memory;
  double total = 0, before = 0;
  std::vector<double> shares, reads;
};

/// Times calls for about `seconds`, at least three, after a first call that warms caches and pages.
std::optional<Timing> measure(Execution &execution, double seconds, ReadsBeside *reads = nullptr) {
  if (!execution.run())
    return std::nullopt;
  std::vector<double> times;
  double end = now() + seconds;
  while (times.size() < 3 || (now() < end && times.size() < 1000000)) {
    double start = now();
    if (!execution.run())
      return std::nullopt;
    times.push_back(now() - start);
    if (reads)
      reads->noteCall(times.back());
  }
  return Timing{medianOf(times), *std::min_element(times.begin(), times.end()), static_cast<int64_t>(times.size())};
}

} // namespace

std::optional<double> Row::percent() const {
  return flops > 0 && fmaPeak > 0 && isPossible() ? std::optional(100 * gflops() / peak()) : std::nullopt;
}

std::optional<double> Row::roofline() const {
  if (!reads)
    return std::nullopt;
  return std::max(reads->seconds, fmaPeak > 0 ? arithmetic / (peak() * 1e9) : 0);
}

std::optional<double> Row::percentOfRoofline() const {
  auto bound = roofline();
  bool isKnown = bound && *bound > 0 && timing.median > 0 && *bound <= timing.median;
  return isKnown ? std::optional(100 * *bound / timing.median) : std::nullopt;
}

bool benchKernel(const Options &options, Compilation &compilation, const Kernel &kernel, ThreadPool &pool,
                 std::vector<double> &peaks, Row &row) {
  double start = processorTime(); // a compilation has one thread
  auto execution = Execution::create(compilation, kernel, Execution::Form::Fused);
  if (!execution)
    return false;
  row.compileSeconds = processorTime() - start;
  auto operands = prepareOperands(execution->plan(), options.inputs, options.sizes, options.seed, options.origins);
  if (!operands)
    return sayError(operands.takeError()), false;
  auto own = compilation.kernelAt(kernel, operands->sizeByName);
  if (!own || !execution->countAsIn(compilation, *own) || !execution->start(*operands, pool, options.prepared) ||
      !checkRun(options, *own, *operands, *execution, row))
    return false;

  std::unique_ptr<Execution> plain;
  if (options.plain) {
    plain = Execution::create(compilation, kernel, Execution::Form::Plain);
    if (plain && !plain->bind(*operands, pool))
      return false;
    if (!plain)
      sayNote("kernel '" + kernel.name + "' does not fuse, so no plain layer is timed beside it");
  }

  nowDoing("timing kernel '" + kernel.name + "'");
  // The clock of a processor varies, so the peak is measured around each part of the timing, and medians are compared.
  std::vector<double> local{measurePeak(pool)};
  std::vector<Timing> parts;
  std::optional<ReadsBeside> reads;
  if (options.besideRead)
    reads.emplace(*execution, pool);
  std::vector<double> plainMedians; // measured in turns with the layer, under the same clock
  for (int part = 0; part < 3; ++part) {
    auto timing = measure(*execution, options.seconds / 3, reads ? &*reads : nullptr);
    if (!timing)
      return false;
    parts.push_back(*timing);
    if (plain) {
      auto beside = measure(*plain, options.seconds / 3);
      if (!beside)
        return false;
      plainMedians.push_back(beside->median);
    }
    local.push_back(measurePeak(pool));
  }
  std::vector<double> medians;
  row.timing.least = parts.front().least;
  for (const Timing &part : parts) {
    medians.push_back(part.median);
    row.timing.least = std::min(row.timing.least, part.least);
    row.timing.calls += part.calls;
  }
  row.timing.median = medianOf(medians);
  if (reads)
    row.reads = reads->figures();
  row.fmaPeak = medianOf(local);
  peaks.insert(peaks.end(), local.begin(), local.end());

  WorkFacts work = workOfCall(*own, execution->scheduled(), execution->target(), operands->sizeByName);
  row.arithmetic = work.computeSeconds * work.peak;
  row.productsOverFma = work.productsOverFma;
  if (options.threads == 1 && work.predictedSeconds > 0) // the model covers one core
    row.predicted = work.predictedSeconds;
  row.code = execution->code();
  row.why = execution->whyNotFirst();
  if (plain)
    row.plain = medianOf(plainMedians);
  if (options.unfused) {
    auto generic = Execution::create(compilation, kernel, Execution::Form::Unfused);
    if (!generic || !generic->bind(*operands, pool))
      return false;
    auto timing = measure(*generic, std::min(options.seconds, 1.0) / 4);
    if (!timing)
      return false;
    row.unfused = timing->median;
  }
  return true;
}

llvm::json::Object jsonOf(const Row &row) {
  auto orNull = [](const std::optional<double> &value) { return value ? llvm::json::Value(*value) : nullptr; };
  return llvm::json::Object{{"name", row.name},
                            {"median_seconds", row.timing.median},
                            {"min_seconds", row.timing.least},
                            {"gflops", row.flops > 0 ? llvm::json::Value(row.gflops()) : nullptr},
                            {"percent_of_peak", orNull(row.percent())},
                            {"products_over_fma", row.productsOverFma},
                            {"unfused_median_seconds", orNull(row.unfused)},
                            {"plain_median_seconds", orNull(row.plain)},
                            {"read_median_seconds", row.reads ? llvm::json::Value(row.reads->seconds) : nullptr},
                            {"share_of_read", row.reads ? llvm::json::Value(row.reads->share) : nullptr},
                            {"roofline_seconds", orNull(row.roofline())},
                            {"predicted_seconds", orNull(row.predicted)},
                            {"code", row.code.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(row.code)},
                            {"compile_seconds", row.compileSeconds},
                            {"workspace_bytes", static_cast<int64_t>(row.workspaceBytes)},
                            {"max_error", row.error},
                            {"tolerance", row.tolerance},
                            {"seeded", llvm::json::Array(row.seeded)}};
}

/// Returns whether the peak of one thread is impossibly low. Several threads may share a core and its units.
static bool isLowPeak(double peak, int32_t threads, const Target &target) {
  return threads == 1 && peak < target.peak() * 1e-9 / 2;
}

bool canBeTrusted(const Row &row, int32_t threads, const Target &target) {
  return row.isPossible() && !isLowPeak(row.fmaPeak, threads, target);
}

void warnOfBadFigures(const std::vector<Row> &rows, double peak, int32_t threads, const Target &target) {
  for (const Row &row : rows)
    if (!row.isPossible())
      sayWarning(fmt::format("kernel '{}' computed {:.1f} GFLOP/s, but the measured peak is {:.1f} GFLOP/s: neither "
                             "number can be trusted{}",
                             row.name, row.arithmetic / row.timing.median * 1e-9, row.peak(), kMeasureAgain));
  if (isLowPeak(peak, threads, target))
    sayWarning(fmt::format("the measured peak is {:.1f} GFLOP/s, less than half of the {:.1f} GFLOP/s of target '{}': "
                           "the machine was busy, so the measured times are too long{}",
                           peak, target.peak() * 1e-9, target.name, kMeasureAgain));
}

} // namespace skewer::driver
