// `skewer bench` on this machine's GPU: measures rounds of calls by the GPU's own clock.
#include "tools/skewer/Bench.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

constexpr int kRounds = 7;

struct GpuRow : CheckedRow {
  double median = 0, least = 0;           // seconds of one call
  double clockBefore = 0, clockAfter = 0; // MHz
  int64_t calls = 0;                      // number of calls in a round
  double teraflops() const { return median > 0 ? flops / median * 1e-12 : 0; }
};

/// While it lives, no other process that benches has a GPU of this machine work: each would measure the other's work
/// too. It holds a lock on a file in the folder for temporary files; if it cannot, it does nothing.
class Turn {
public:
  Turn() {
    llvm::SmallString<128> path;
    llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, path);
    llvm::sys::path::append(path, "skewer-gpu.lock");
    if (llvm::sys::fs::openFileForReadWrite(path, file, llvm::sys::fs::CD_OpenAlways, llvm::sys::fs::OF_None, 0666))
      file = -1;
    else if (llvm::sys::fs::lockFile(file))
      close();
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  ~Turn() { close(); }

private:
  void close() {
    if (file >= 0)
      llvm::sys::Process::SafelyCloseFileDescriptor(file); // which unlocks it
    file = -1;
  }
  int file = -1;
};

/// Times rounds, each with as many calls as fill its share of `seconds`, after calls that warm the GPU up for one
/// round.
bool measure(const Options &options, Device &device, Execution &execution, GpuRow &row) {
  auto first = execution.time(1);
  if (!first)
    return false;
  auto few = execution.time(10); // the first call loaded code and filled caches
  if (!few)
    return false;
  double share = options.seconds / (kRounds + 1);
  row.calls = std::clamp<int64_t>(static_cast<int64_t>(share / std::max(*few, 1e-7)), 3, 100000);
  if (!execution.time(row.calls))
    return false;
  row.clockBefore = device.clock();
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    auto seconds = execution.time(row.calls);
    if (!seconds)
      return false;
    rounds.push_back(*seconds);
  }
  row.clockAfter = device.clock();
  row.median = medianOf(rounds);
  row.least = *std::min_element(rounds.begin(), rounds.end());
  return true;
}

bool benchKernel(const Options &options, Compilation &compilation, const Kernel &kernel, Device &device, GpuRow &row) {
  auto execution = Execution::createForGpu(compilation, kernel, device, options);
  if (!execution)
    return false;
  auto operands = prepareOperands(execution->plan(), options.inputs, options.sizes, options.seed, options.origins);
  if (!operands) {
    sayError(operands.takeError());
    return false;
  }
  ThreadPool pool(1);
  if (Turn turn; !execution->start(*operands, pool, options.prepared))
    return false;
  if (!checkRun(options, kernel, *operands, *execution, row))
    return false;
  Turn turn;
  return measure(options, device, *execution, row);
}

void printJson(const Device &device, const std::string &target, const std::vector<GpuRow> &rows) {
  llvm::json::Array kernels;
  for (const GpuRow &row : rows)
    kernels.push_back(llvm::json::Object{{"name", row.name},
                                         {"median_seconds", row.median},
                                         {"min_seconds", row.least},
                                         {"rounds", kRounds},
                                         {"calls_a_round", row.calls},
                                         {"tflops", row.teraflops()},
                                         {"sm_clock_mhz", llvm::json::Array{row.clockBefore, row.clockAfter}},
                                         {"workspace_bytes", static_cast<int64_t>(row.workspaceBytes)},
                                         {"is_right", row.isRight},
                                         {"max_error", row.error},
                                         {"tolerance", row.tolerance},
                                         {"seeded", llvm::json::Array(row.seeded)}});
  llvm::json::Object document{{"gpu", device.name()},
                              {"compute_capability", device.capability()},
                              {"target", target},
                              {"kernels", std::move(kernels)}};
  printed() << llvm::formatv("{0:2}", llvm::json::Value(std::move(document))) << "\n";
}

void printTable(const Device &device, const std::string &target, const std::vector<GpuRow> &rows) {
  printed() << fmt::format("{} (compute capability {}.{}), target {}, medians of {} rounds\n", device.name(),
                           device.capability() / 10, device.capability() % 10, target, kRounds);
  for (const GpuRow &row : rows)
    printed() << fmt::format("{:<20} {:>10.4f} ms (least {:.4f}, {} calls a round)  {:>8.2f} TFLOP/s  SM clock "
                             "{:.0f} and {:.0f} MHz  workspace {} B  error {:.2g} (tolerance {:.2g})\n",
                             row.name, row.median * 1e3, row.least * 1e3, row.calls, row.teraflops(), row.clockBefore,
                             row.clockAfter, row.workspaceBytes, row.error, row.tolerance);
}

} // namespace

int benchOnGpu(const Options &options) {
  auto device = openDevice();
  if (!device)
    return kNoDevice;
  std::vector<GpuRow> rows;
  bool allRight = true;
  bool isMeasured = forEachKernel(options, [&](const Options &own, Compilation &compilation, const Kernel &kernel) {
    GpuRow &row = rows.emplace_back();
    if (!benchKernel(own, compilation, kernel, *device, row))
      return false;
    allRight &= row.isRight;
    return true;
  });
  if (!isMeasured)
    return kWrong;
  if (options.json)
    printJson(*device, options.target, rows);
  else
    printTable(*device, options.target, rows);
  return allRight ? kDone : kWrong;
}

} // namespace skewer::driver
