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
  static constexpr double kUsualClock = 1.05; // the most that the clock of a call is usually above that of the peak
  Timing timing;
  double fmaPeak = 0;         // GFLOP/s of FMAs, measured around the timing
  double productsOverFma = 1; // the peak of the fastest engine that multiplies, as a multiple of it
  double compileSeconds = 0;  // of the processor: from the checked layer to machine code in memory
  double arithmetic = 0;      // FLOPs that the kernel cannot avoid; fewer than `flops` if terms share products
  std::optional<double> unfused, plain, predicted; // seconds
  std::optional<PlainReads> reads;
  std::string code, why; // the code that ran, and why not the first one; empty if there is one
  double gflops() const { return timing.median > 0 ? flops / timing.median * 1e-9 : 0; }
  double peak() const { return fmaPeak * productsOverFma; }
  /// Returns whether the processor can do the work in this time. If not, time and peak were not measured under the same
  /// clock; a clock that changes by a few percent is usual.
  bool isPossible() const { return fmaPeak <= 0 || arithmetic * 1e-9 <= kUsualClock * peak() * timing.median; }
  /// Returns the share of the peak that the useful operations are; more than 100 if the kernel needs fewer of them.
  /// Returns nothing if the work is not counted or not possible.
  std::optional<double> percent() const;
  /// Returns the seconds that the measured peak and a plain read of the operands allow; nothing without such a read.
  std::optional<double> roofline() const;
  /// Returns the share of the roofline that is reached; nothing if it is above 100, or not known.
  std::optional<double> percentOfRoofline() const;
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
