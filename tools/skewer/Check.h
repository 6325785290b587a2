// Compares the result of a kernel with the expected result: of the float64 reference, or of a file. `run`, `bench`, the
// C API and the fuzzers call it. If the user gives no tolerance, it follows from the layer itself (docs/accuracy.md).
#pragma once
#include "codegen/Reference/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/Inputs.h"
#include <string>

namespace skewer::driver {

/// Counts of the elements that are not finite numbers.
struct NonFinite {
  int64_t nans = 0, infinities = 0;
  bool any() const { return nans || infinities; }
  void count(double value);
};
NonFinite countNonFinite(llvm::ArrayRef<double>);
/// Returns a text such as "3 NaN and 1 infinite elements".
std::string textOf(const NonFinite &);

/// Prints notes about the operands of a kernel: which are seeded, and which hold elements that are not finite numbers.
void noteOperands(const std::string &kernel, const KernelPlan &, const Operands &, uint64_t seed);

struct Comparison {
  int64_t rows = 0, allRows = 0; // number of compared rows; number of all rows
  double error = 0;              // largest difference over the largest absolute expected value
  int64_t mismatches = 0;        // elements where one side alone is NaN, or infinities differ
  NonFinite got, expected;
  double largest = 0;   // largest absolute expected value
  double tolerance = 0; // follows from the layer; 0 if it was not requested
  std::string where;    // the place of the worst element: "[0, 3, 17, 5]: got 1.5, expected 1.25"
  /// Prints a note with the number of elements that are not finite on both sides.
  void noteNonFinite(const std::string &kernel) const;
  bool within(double tolerance) const { return mismatches == 0 && error <= tolerance; }
};

/// The way to judge a result if the user gives no tolerance.
struct Judgement {
  int64_t rows = 0; // to compare; 0: as many as about 10⁸ operations of the reference allow
  uint64_t seed = 1;
  double flops = 0;     // of the layer
  bool isOnGpu = false; // a GPU multiplies f32 as three products of tf32, which gets a larger tolerance
  bool setsTolerance = true;
  /// Stops the evaluations that determine the tolerance as soon as the tolerance covers the error. The verdict is the
  /// same as after all evaluations; the tolerance is at most theirs.
  bool stopsWithin = false;
};

/// Factor from the largest change that roundings make to an element, in one of eight evaluations, to the tolerance
/// (docs/accuracy.md). A kernel is one more such evaluation, whose sums have another order; lost bits cause a larger
/// error.
constexpr double kRoomOfTolerance = 4;
/// Factor by which a sum of products on tensor cores, with three products of tf32 for each, loses more than one of f32.
constexpr double kRoundingsOfTf32 = 4;

/// Compares all rows with given values of the same shape. Leaves `tolerance` at 0.
Comparison compareWith(const Array &expected, ElementType, const void *got);

/// Compares a result of a level 1 function with the float64 reference. The tolerance follows from the layer. Returns an
/// error if the reference cannot judge the function.
llvm::Expected<Comparison> compareWithReference(mlir::func::FuncOp, const Operands &, ElementType, const void *got,
                                                const Judgement &, size_t result = 0);
/// Returns the tolerance alone, for results that are compared with other values; `largest` is the largest of these
/// results.
llvm::Expected<double> toleranceOf(mlir::func::FuncOp, const Operands &, ElementType, const Judgement &, double largest,
                                   size_t result = 0);

} // namespace skewer::driver
