// Comparing a kernel's result with what it must be.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/Inputs.h"
#include <string>

namespace skewer::driver {

struct Comparison {
  int64_t rows = 0, allRows = 0; // compared, of how many
  double error = 0;              // largest difference over the largest absolute expected value
  int64_t mismatches = 0;        // elements where one side alone is NaN, or infinities differ
  std::string where;             // of the worst element: "[0, 3, 17, 5]: got 1.5, expected 1.25"
  bool within(double tolerance) const { return mismatches == 0 && error <= tolerance; }
};

/// The default tolerance of the coarsest type among a kernel's arguments and result.
/// On a GPU f32 is multiplied as three products of tf32, and allowed more.
double defaultTolerance(const KernelPlan &, bool isOnGpu = false);

/// All rows against given values (of the same shape).
Comparison compareWith(const Array &expected, ElementType, const void *got);

/// Against the float64 reference of a result of a level 1 function: `rows` rows, or where that is 0 as many as about
/// 10⁸ operations of the reference allow. Errors where the reference cannot judge the function.
llvm::Expected<Comparison> compareWithReference(mlir::func::FuncOp, const Operands &, ElementType, const void *got,
                                                int64_t rows, uint64_t seed, double flops, size_t result = 0);

} // namespace skewer::driver
