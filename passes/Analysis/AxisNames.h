// What axes are called below the language, where letters mean nothing: names are given by place and role, so that the
// same program in other letters is the same program.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace skewer {

/// The query's and the key's position, and the stem of the names of a map's axes.
inline const std::string kQueryAxis = "i", kKeyAxis = "j";
/// What a term contracts, and the values' own axis; further ones have a number behind.
inline const std::string kDepthAxis = "d", kWidthAxis = "e";

/// A stem with its number: "d", "d1", "d2".
inline std::string numbered(const std::string &stem, size_t number) {
  return number == 0 ? stem : stem + std::to_string(number);
}

/// Names of the axes of a position: {"i"} for one, {"iy", "ix"}, {"iz", "iy", "ix"}, else i0, i1, ….
std::vector<std::string> axisNames(const std::string &stem, size_t count);

/// "b", "h", "i", "j" from the last: for what a tensor's dimensions are unless more is known.
std::vector<std::string> dimensionNames(size_t rank);

/// Names of an attention's leading axes, which are so many; `runtime`: the first is of run-time size.
std::vector<std::string> leadingNames(size_t count, bool runtime);
/// One more of them, for an axis that becomes a leading one later.
std::string nextLeadingName(const std::vector<std::string> &taken);

} // namespace skewer
