// Counts the kinds of terms, masks and classes that a range of seeds has met, and those that were fused.
#pragma once
#include "tests/fuzz/Differential.h"
#include <set>

namespace skewer::fuzz {

class Coverage {
public:
  void add(const Spec &, const Outcome &);
  /// A table of counts.
  std::string report() const;
  /// Returns what 500 seeds must have met and have not, a line each: every class of the registry; every kind of term
  /// under every mask, and beside each feature of a layer; every class, kind, mask and feature in a fused kernel, but
  /// for those that the compiler does not fuse; every class under every mask that it has met. With `isForGpus` every
  /// class in each type too, and no feature that makes a layer go by rows there.
  std::vector<std::string> gaps(bool isForGpus) const;

private:
  struct Count {
    int all = 0, fused = 0;
    void add(bool isFused) { ++all, fused += isFused; }
  };
  std::map<std::string, Count> classes, kinds, masks, types, features;
  std::map<std::pair<std::string, std::string>, Count> classesUnder; // by the mask, and by the type
  std::map<std::string, int> reasons;                                // why kernels were not fused
  std::set<std::pair<TermKind, Mask>> pairs;
  std::set<std::pair<TermKind, std::string>> beside;
  int specs = 0, fused = 0;
};

} // namespace skewer::fuzz
