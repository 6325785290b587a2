// Names of axes below the language. The passes name axes by place and role, not by the user's letters, so that a
// program written with other letters compiles to the same program.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace skewer {

/// The names of the query's and the key's position; also the stems of the names of a map's axes.
inline const std::string kQueryAxis = "i", kKeyAxis = "j";
/// The names of a term's contracted axis and of the values' own axis. Further ones get a number behind the name.
inline const std::string kDepthAxis = "d", kWidthAxis = "e";

/// Returns the stem with its number: "d", "d1", "d2".
inline std::string numbered(const std::string &stem, size_t number) {
  return number == 0 ? stem : stem + std::to_string(number);
}

/// Returns the names of the axes of a position: {"i"} for one, {"iy", "ix"}, {"iz", "iy", "ix"}, else i0, i1, ….
std::vector<std::string> axisNames(const std::string &stem, size_t count);

/// Returns names for the dimensions of a tensor of which nothing else is known. Up to rank 4, these are the last `rank`
/// of "b", "h", "i", "j".
std::vector<std::string> dimensionNames(size_t rank);

/// Returns the names of `count` leading axes of an attention; with `runtime`, the first one has a run-time size.
std::vector<std::string> leadingNames(size_t count, bool runtime);
/// Returns a further name, not in `taken`, for an axis that becomes a leading axis later.
std::string nextLeadingName(const std::vector<std::string> &taken);

} // namespace skewer
