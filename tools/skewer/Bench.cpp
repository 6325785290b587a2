// `skewer bench`: times kernels, with the processor's peak measured before and after each.
#include "tools/skewer/Bench.h"
#include "codegen/Compiler/Compiler.h"
#include "tools/skewer/BenchKernel.h"
#include "tools/skewer/BenchSweep.h"
#include "tools/skewer/Check.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/OpenSpec.h"
#include "tools/skewer/Peak.h"
#include "tools/skewer/ScheduleText.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

bool wrong(const std::string &text) {
  sayError(text);
  return false;
}

void printJson(const std::vector<Row> &rows, double peak) {
  llvm::json::Array kernels;
  for (const Row &row : rows)
    kernels.push_back(jsonOf(row));
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
    if (row.productsOverFma != 1)
      printed() << fmt::format(" ({:.3g} x f32's)", row.productsOverFma);
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

bool checkRun(const Options &options, const Kernel &kernel, const Operands &operands, const Execution &execution,
              CheckedRow &row) {
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
    auto compilation = openSpecOf(options, spec, targets->front());
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
  if (options.sweep)
    return benchSweep(options);
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
