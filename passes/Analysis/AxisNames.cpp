#include "passes/Analysis/AxisNames.h"
#include "llvm/ADT/STLExtras.h"

using namespace skewer;

std::vector<std::string> skewer::axisNames(const std::string &stem, size_t count) {
  if (count == 1)
    return {stem};
  std::vector<std::string> names;
  for (size_t k = 0; k < count; ++k)
    names.push_back(count <= 3 ? stem + "zyx"[3 - count + k] : stem + std::to_string(k));
  return names;
}

// The names of leading axes, in the order of use.
static const std::vector<std::string> kLeading = {"b", "h", "g", "n", "m", "t"};

static std::string leadingName(size_t number) {
  return number < kLeading.size() ? kLeading[number] : "leading" + std::to_string(number);
}

std::vector<std::string> skewer::dimensionNames(size_t rank) {
  const std::vector<std::string> usual = {kLeading[0], kLeading[1], kQueryAxis, kKeyAxis};
  if (rank <= usual.size())
    return {usual.end() - rank, usual.end()};
  std::vector<std::string> names;
  for (size_t k = 0; k < rank; ++k)
    names.push_back(k < 2 ? usual[k] : "x" + std::to_string(k));
  return names;
}

std::vector<std::string> skewer::leadingNames(size_t count, bool runtime) {
  std::vector<std::string> names;
  for (size_t k = 0; k < count; ++k)
    names.push_back(leadingName(count == 1 && !runtime ? 1 : k)); // a single axis is that of the heads: no batch
  return names;
}

std::string skewer::nextLeadingName(const std::vector<std::string> &taken) {
  for (size_t k = 1;; ++k) // an axis that is added later is not the batch
    if (!llvm::is_contained(taken, leadingName(k)))
      return leadingName(k);
}
