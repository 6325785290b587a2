// The arguments of a kernel: names, types and shapes.
#pragma once
#include "Tensor.h"
#include <optional>
#include <utility>

namespace skewer::python {

/// A size of a dimension: a number known at compile time, the index of a run-time size, or an expression of run-time
/// sizes (a Python function of their values in order).
struct Extent {
  int64_t fixed = 0;
  int size = -1;
  nb::object expression;
  std::vector<int> used; // indices of the run-time sizes in the expression
  std::string text; // "4", "batch", "2*N - 1"

  /// Returns the number for these values of the run-time sizes. An expression needs the interpreter's lock.
  int64_t at(const std::vector<int64_t> &sizes) const;
};

struct Argument {
  std::string name;
  Element element;
  std::string typeName;
  std::vector<Extent> shape;
  std::optional<std::pair<Extent, Extent>> range; // of its elements; both ends are included
  bool hasNote = false;                           // a note about its copy has been given
};

struct Signature {
  /// Each of `inputs` and `results` is (name, type, shape, (low, high) or None). An extent of a shape is a number,
  /// (place, name) of a run-time size, or (function, text, places of sizes). Each of `sizes` is (name, bound or 0).
  Signature(std::string name, nb::list inputs, nb::list results, nb::list sizes);
  /// Returns how messages name a result: "out", or "out[1]" if there are several.
  std::string titleOf(size_t result) const;
  [[noreturn]] void refuse(const std::string &argument, nb::object dimension, const std::string &expected,
                           const std::string &found) const;

  const std::string name;
  std::vector<Argument> inputs, results;
  std::vector<std::pair<std::string, int64_t>> sizes;
};

/// Returns what skewer/_errors.py has by that name.
nb::object errors(const char *what);
[[noreturn]] void raise(nb::object exception);

} // namespace skewer::python
