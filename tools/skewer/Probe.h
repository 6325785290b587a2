// Measuring this machine for a machine file.
#pragma once
#include "passes/Schedule/Machine.h"
#include <string>
#include <vector>

namespace skewer::driver {

/// What some repeats of a measurement gave. `spread` is (largest - least) / median.
struct Repeats {
  double median = 0, spread = 0;
};
Repeats repeatsOf(std::vector<double> values);

/// One field's measurement. A spread above `kMostSpread`, or a value out of the field's range, is not believed.
constexpr double kMostSpread = 0.2;
struct Measurement {
  const char *field;
  double value, spread;
  std::string doubt; // why it is not believed whatever its spread; empty if it is
};

/// Puts what is believed into the description; what is not leaves the field's value, and says so in its source and in
/// `notes`. `when` is a date.
void apply(Machine &, const std::vector<Measurement> &, const std::string &when, std::vector<std::string> &notes);

/// Measures for about a second, most of it on one thread, and memory on all.
std::vector<Measurement> probe(const Machine &host);

/// Measures `exposed_traffic` of a machine whose other numbers are known: what makes the cost model right about two
/// schedules of one attention that differ in traffic. Half a second, most of which compiles them.
Measurement probeTraffic(const Machine &);

} // namespace skewer::driver
