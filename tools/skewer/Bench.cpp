// `skewer bench`: times kernels, with the processor's peak measured before and after each.
#include "tools/skewer/Bench.h"
#include "codegen/Compiler/Compiler.h"
#include "tools/skewer/Check.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Peak.h"
#include "tools/skewer/PlainRead.h"
#include "tools/skewer/Predict.h"
#include "tools/skewer/Progress.h"
#include "tools/skewer/ScheduleText.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Timing {
  double median = 0, least = 0;
  int64_t calls = 0;
};

/// Plain reads of the operands: their bytes, the seconds of one read, and its share of the time of the call next to it.
struct PlainReads {
  double bytes = 0, seconds = 0, share = 0;
};

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

struct Row : CheckedRow {
  Timing timing;
  double peak = 0;
  std::optional<double> unfused, plain, predicted;
  std::optional<PlainReads> reads;
  std::string code, why; // the code that ran, and why not the first one; empty if there is one
  double gflops() const { return timing.median > 0 ? flops / timing.median * 1e-9 : 0; }
  /// Returns nothing if the work is not counted, or if it is more than the processor can do: then work and peak were
  /// not measured under the same clock.
  std::optional<double> percent() const {
    double share = peak > 0 ? 100 * gflops() / peak : 0;
    return share > 0 && share <= 100 ? std::optional(share) : std::nullopt;
  }
};

bool wrong(const std::string &text) {
  sayError(text);
  return false;
}

bool benchKernel(const Options &options, Compilation &compilation, const Kernel &kernel, ThreadPool &pool,
                 std::vector<double> &peaks, Row &row) {
  auto execution = Execution::create(compilation, kernel, Execution::Form::Fused);
  if (!execution)
    return false;
  auto operands = prepareOperands(execution->plan(), options.inputs, options.sizes, options.seed, options.origins);
  if (!operands)
    return wrong(llvm::toString(operands.takeError()));
  auto own = compilation.kernelAt(kernel, operands->sizeByName);
  if (!own || !execution->countAsIn(compilation, *own) || !runChecked(options, *own, *operands, pool, *execution, row))
    return false;

  std::unique_ptr<Execution> plain;
  if (options.plain) {
    plain = Execution::create(compilation, kernel, Execution::Form::Plain);
    if (plain && !plain->bind(*operands, pool))
      return false;
    if (!plain)
      sayNote("kernel '" + kernel.name + "' does not fuse: there is no plain layer beside it");
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
  row.peak = medianOf(local);
  peaks.insert(peaks.end(), local.begin(), local.end());

  if (options.threads == 1) // the model covers one core
    row.predicted = predictedSeconds(*own, execution->scheduled(), execution->target(), operands->sizeByName);
  row.code = execution->code();
  row.why = whyNotFirst(*execution);
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

void printJson(const std::vector<Row> &rows, double peak) {
  llvm::json::Array kernels;
  for (const Row &row : rows)
    kernels.push_back(
        llvm::json::Object{{"name", row.name},
                           {"median_seconds", row.timing.median},
                           {"min_seconds", row.timing.least},
                           {"gflops", row.flops > 0 ? llvm::json::Value(row.gflops()) : nullptr},
                           {"percent_of_peak", row.percent() ? llvm::json::Value(*row.percent()) : nullptr},
                           {"unfused_median_seconds", row.unfused ? llvm::json::Value(*row.unfused) : nullptr},
                           {"plain_median_seconds", row.plain ? llvm::json::Value(*row.plain) : nullptr},
                           {"read_median_seconds", row.reads ? llvm::json::Value(row.reads->seconds) : nullptr},
                           {"share_of_read", row.reads ? llvm::json::Value(row.reads->share) : nullptr},
                           {"predicted_seconds", row.predicted ? llvm::json::Value(*row.predicted) : nullptr},
                           {"code", row.code.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(row.code)},
                           {"workspace_bytes", static_cast<int64_t>(row.workspaceBytes)},
                           {"max_error", row.error},
                           {"tolerance", row.tolerance},
                           {"seeded", llvm::json::Array(row.seeded)}});
  llvm::json::Object document{{"peak_gflops", peak}, {"kernels", std::move(kernels)}};
  printed() << llvm::formatv("{0:2}", llvm::json::Value(std::move(document))) << "\n";
}

void printTable(const std::vector<Row> &rows, double peak, int32_t threads) {
  printed() << fmt::format("peak {:.1f} GFLOP/s on {} thread{} ({}, f32)\n", peak, threads, threads == 1 ? "" : "s",
                           peakInstructions());
  for (const Row &row : rows) {
    std::string rate = row.flops > 0 ? fmt::format("{:.1f}", row.gflops()) : "-";
    std::string share = row.percent() ? fmt::format("{:.1f}", *row.percent()) : "-";
    printed() << fmt::format("{:<20} {:>10.4f} ms (least {:.4f}, {} calls)  {:>8} GFLOP/s  {:>5} % of peak", row.name,
                             row.timing.median * 1e3, row.timing.least * 1e3, row.timing.calls, rate, share);
    if (row.predicted)
      printed() << fmt::format("  {:.2f} times predicted ({:.4f} ms)", row.timing.median / *row.predicted,
                               *row.predicted * 1e3);
    if (row.unfused)
      printed() << fmt::format("  unfused {:.4f} ms ({:.2f} times)", *row.unfused * 1e3,
                               *row.unfused / row.timing.median);
    if (row.plain)
      printed() << fmt::format("  {:.2f} times plain ({:.4f} ms)", row.timing.median / *row.plain, *row.plain * 1e3);
    if (row.reads)
      printed() << fmt::format("  {:.2f} of a plain read of its operands ({:.1f} MB in {:.4f} ms, {:.1f} GB/s)",
                               row.reads->share, row.reads->bytes * 1e-6, row.reads->seconds * 1e3,
                               row.reads->bytes / row.reads->seconds * 1e-9);
    if (!row.code.empty())
      printed() << fmt::format("  runs {}{}", row.code, row.why);
    printed() << fmt::format("  workspace {} B  error {:.2g} (tolerance {:.2g})\n", row.workspaceBytes, row.error,
                             row.tolerance);
  }
}

/// Warns about impossible figures: a machine that also does other work has no stable peak.
void warnOfBadFigures(const std::vector<Row> &rows, double peak, int32_t threads, const Target &target) {
  constexpr const char *kRemedy = "; measure again while nothing else runs, with more --seconds";
  for (const Row &row : rows)
    if (row.peak > 0 && row.gflops() > row.peak)
      sayWarning(fmt::format("kernel '{}': {:.1f} GFLOP/s is more than the peak of {:.1f} that was measured beside it, so "
                             "neither can be trusted{}",
                             row.name, row.gflops(), row.peak, kRemedy));
  double described = 2e-9 * double(target.lanes) * target.fmaPerCycle * target.gigahertz * 1e9;
  if (threads == 1 && peak < described / 2) // threads may share a core and its units
    sayWarning(fmt::format("the measured peak, {:.1f} GFLOP/s, is less than half of the {:.1f} that the description of "
                           "'{}' has: the machine was busy, and times beside it are too long{}",
                           peak, described, target.name, kRemedy));
}

} // namespace

double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Returns the largest error of the results against the float64 reference, with its tolerance. Sets `isRight` to false,
/// after a message, if an error is above its tolerance. Returns nothing after a message if the reference cannot judge.
static std::optional<double> checkedError(const Options &options, const Kernel &kernel, const Operands &operands,
                                          const Execution &execution, bool &isRight, double &tolerance) {
  Judgement how{options.rows ? options.rows : 32, options.seed, execution.flops(), execution.isOnGpu(),
                !options.tolerance};
  double error = 0;
  for (size_t number = 0; number < execution.plan().outputs.size(); ++number) {
    auto check = compareWithReference(kernel.einsumFunction(), operands, execution.plan().outputs[number].type,
                                      execution.result(number), how, number);
    if (!check)
      return wrong(fmt::format("kernel '{}': {}", kernel.name, llvm::toString(check.takeError()))), std::nullopt;
    check->noteNonFinite(kernel.name);
    double own = options.tolerance.value_or(check->tolerance);
    // Among several results, takes the one closest to its tolerance.
    if (number == 0 || check->error * tolerance > error * own) {
      error = check->error;
      tolerance = own;
    }
    if (!check->within(own))
      isRight = wrong(fmt::format("kernel '{}': error {:.3g} is above the tolerance {:.3g}; worst at {}", kernel.name,
                                  check->error, own, check->where));
  }
  return error;
}

bool runChecked(const Options &options, const Kernel &kernel, const Operands &operands, ThreadPool &pool,
                Execution &execution, CheckedRow &row) {
  if (!execution.start(operands, pool, options.prepared))
    return false;
  row.name = kernel.name;
  row.flops = execution.flops();
  row.workspaceBytes = execution.workspaceBytes();
  row.seeded = operands.seeded;
  noteOperands(kernel.name, execution.plan(), operands, options.seed);
  auto error = checkedError(options, kernel, operands, execution, row.isRight, row.tolerance);
  row.error = error.value_or(0);
  return error.has_value();
}

bool forEachKernel(const Options &options,
                   llvm::function_ref<bool(const Options &, Compilation &, const Kernel &)> measure) {
  auto targets = targetsNamed(options.isForGpu() ? "host" : options.target);
  if (!targets)
    return false;
  for (const std::string &spec : options.specs) {
    auto compilation = Compilation::create(spec, options.parameters, targets->front());
    if (!compilation)
      return false;
    compilation->targets = *targets;
    compilation->pinned = options.cpuSchedule;
    std::vector<const Kernel *> chosen = chooseKernels(*compilation, options.kernel, /*one=*/false);
    auto isMeasured = [&](const Kernel *kernel) {
      return measure(optionsOf(*kernel, chosen, options), *compilation, *kernel);
    };
    if (chosen.empty() || !llvm::all_of(chosen, isMeasured))
      return false;
  }
  return true;
}

int bench(const Options &options) {
  if (!checkSchedule(options, !options.isForGpu(), options.isForGpu()))
    return kUsage;
  if (options.isForGpu())
    return benchOnGpu(options);
  ThreadPool pool(options.threads);
  std::vector<Row> rows;
  std::vector<double> peaks;
  bool allRight = true;
  bool isMeasured = forEachKernel(options, [&](const Options &own, Compilation &compilation, const Kernel &kernel) {
    Row &row = rows.emplace_back();
    if (!benchKernel(own, compilation, kernel, pool, peaks, row))
      return false;
    allRight &= row.isRight;
    return true;
  });
  if (!isMeasured)
    return kWrong;
  double peak = medianOf(peaks);
  if (auto targets = targetsNamed(options.target))
    warnOfBadFigures(rows, peak, options.threads, targets->front());
  if (options.json)
    printJson(rows, peak);
  else
    printTable(rows, peak, options.threads);
  return allRight ? kDone : kWrong;
}

} // namespace skewer::driver
