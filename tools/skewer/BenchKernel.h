// Times one kernel on this machine's processor. `bench` calls it once for each kernel, and a sweep once for each of its
// values.
#pragma once
#include "tools/skewer/Bench.h"
#include "llvm/Support/JSON.h"

namespace skewer::driver {

struct Timing {
  double median = 0, least = 0; // seconds
  int64_t calls = 0;
};

/// Plain reads of the operands: their bytes, the seconds of one read, and its share of the time of the call next to it.
struct PlainReads {
  double bytes = 0, seconds = 0, share = 0;
};

struct Row : CheckedRow {
  Timing timing;
  double peak = 0;           // GFLOP/s, measured around the timing
  double compileSeconds = 0; // of the processor: from the checked layer to machine code in memory
  double arithmetic = 0;     // FLOPs that the kernel cannot avoid; fewer than `flops` if terms share products
  std::optional<double> unfused, plain, predicted; // seconds
  std::optional<PlainReads> reads;
  std::string code, why; // the code that ran, and why not the first one; empty if there is one
  double gflops() const { return timing.median > 0 ? flops / timing.median * 1e-9 : 0; }
  /// Returns nothing if the work is not counted, or if it is more than the processor can do: then work and peak were
  /// not measured under the same clock.
  std::optional<double> percent() const { return percentOf(peak > 0 ? gflops() / peak : 0); }
  /// Returns the seconds that the measured peak and a plain read of the operands allow; nothing without such a read.
  std::optional<double> roofline() const;
  /// Returns the share of the roofline that is reached, as `percent` does.
  std::optional<double> percentOfRoofline() const;

private:
  static std::optional<double> percentOf(double share);
};

/// Compiles the kernel, checks one call, and times calls as the options say. Adds the peaks that it measures to
/// `peaks`. Returns false after a message.
bool benchKernel(const Options &, Compilation &, const Kernel &, ThreadPool &, std::vector<double> &peaks, Row &);

/// Returns the figures of a row for --json.
llvm::json::Object jsonOf(const Row &);

/// The advice at the end of warnings about impossible figures.
constexpr const char *kMeasureAgain = "; measure again while nothing else runs, with more --seconds";
/// Returns whether the figures of a row are possible: a machine that also does other work has no stable peak.
bool canBeTrusted(const Row &, int32_t threads, const Target &);
/// Warns about each impossible figure.
void warnOfBadFigures(const std::vector<Row> &, double peak, int32_t threads, const Target &);

} // namespace skewer::driver
