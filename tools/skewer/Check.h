// Comparing a kernel's result with what it must be.
#pragma once
#include "codegen/Reference/Reference.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/Inputs.h"
#include <string>

namespace skewer::driver {

/// Numbers of elements that are no finite number.
struct NonFinite {
  int64_t nans = 0, infinities = 0;
  bool any() const { return nans || infinities; }
  void count(double value);
};
NonFinite countNonFinite(llvm::ArrayRef<double>);
/// "3 NaN and 1 infinite elements".
std::string textOf(const NonFinite &);

/// Says of a kernel's operands which of them are seeded, and which hold elements that are no finite numbers.
void noteOperands(const std::string &kernel, const KernelPlan &, const Operands &, uint64_t seed);

struct Comparison {
  int64_t rows = 0, allRows = 0; // compared, of how many
  double error = 0;              // largest difference over the largest absolute expected value
  int64_t mismatches = 0;        // elements where one side alone is NaN, or infinities differ
  NonFinite got, expected;
  double largest = 0;   // absolute expected value
  double tolerance = 0; // that follows from the layer; 0 where it was not asked for
  std::string where;    // of the worst element: "[0, 3, 17, 5]: got 1.5, expected 1.25"
  /// Says of elements that are no finite numbers on both sides how many they are.
  void noteNonFinite(const std::string &kernel) const;
  bool within(double tolerance) const { return mismatches == 0 && error <= tolerance; }
};

/// How a result is judged where nobody says a tolerance.
struct Judgement {
  int64_t rows = 0; // to compare; 0: as many as about 10⁸ operations of the reference allow
  uint64_t seed = 1;
  double flops = 0;     // of the layer
  bool isOnGpu = false; // f32 is multiplied as three products of tf32, and allowed more
  bool setsTolerance = true;
  /// The evaluations that the tolerance comes from end as soon as it holds the error: the verdict is that of all of them,
  /// the tolerance at most theirs.
  bool stopsWithin = false;
};

/// A tolerance is so many times the most that roundings do to an element in one of eight evaluations
/// (docs/accuracy.md): a kernel is one more such evaluation, whose sums have another order; lost bits are more than
/// that.
constexpr double kRoomOfTolerance = 4;
/// Sums of products on tensor cores, of three products of tf32 each, lose so many times what those of f32 do.
constexpr double kRoundingsOfTf32 = 4;

/// All rows against given values (of the same shape). `tolerance` is left 0.
Comparison compareWith(const Array &expected, ElementType, const void *got);

/// Against the float64 reference of a result of a level 1 function, with the tolerance that follows from the layer.
/// Errors where the reference cannot judge the function.
llvm::Expected<Comparison> compareWithReference(mlir::func::FuncOp, const Operands &, ElementType, const void *got,
                                                const Judgement &, size_t result = 0);
/// The tolerance alone, for results that are compared with something else; `largest` is their largest value.
llvm::Expected<double> toleranceOf(mlir::func::FuncOp, const Operands &, ElementType, const Judgement &, double largest,
                                   size_t result = 0);

} // namespace skewer::driver
