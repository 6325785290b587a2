// Measures this machine for a machine file. `skewer target --probe` calls it. A measurement that varies too much is
// rejected.
#pragma once
#include "passes/Schedule/Machine.h"
#include <string>
#include <vector>

namespace skewer::driver {

/// Summary of repeated measurements. `spread` is (largest - least) / median.
struct Repeats {
  double median = 0, spread = 0;
};
Repeats repeatsOf(std::vector<double> values);

/// A measurement with a spread above this limit, or with a value outside the field's range, is rejected.
constexpr double kMostSpread = 0.2;
struct Measurement {
  const char *field;
  double value, spread;
  std::string doubt; // why it is rejected, whatever its spread; empty: no reason
};

/// Stores the accepted measurements in the description. A rejected one leaves the field's value unchanged; the field's
/// source and `notes` say so. `when` is a date.
void apply(Machine &, const std::vector<Measurement> &, const std::string &when, std::vector<std::string> &notes);

/// Measures for about a second: most of it on one thread, memory on all threads.
std::vector<Measurement> probe(const Machine &host);

/// Measures `exposed_traffic` of a machine whose other numbers are known. With it the cost model is right about two
/// schedules of one attention that differ in traffic. Takes half a second, most of it to compile the two.
Measurement probeTraffic(const Machine &);

} // namespace skewer::driver
