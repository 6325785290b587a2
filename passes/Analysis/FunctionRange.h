// Bounds the values of the function that an attention's scores go through, for any scores.
#pragma once
#include "mlir/IR/Operation.h"

namespace skewer {

struct AttentionShape;

struct RealRange {
  double low, high; // may be infinite
  bool isWithin(double most) const { return low >= -most && high <= most; }
};

/// Returns the range of the function's value, for scores that are not NaN and without rounding errors. The range is
/// infinite if the function contains an unknown operation.
RealRange rangeOf(mlir::Region &through);
/// Returns the range of an operation's result, given the ranges of its operands.
RealRange rangeOf(mlir::Operation *, llvm::ArrayRef<RealRange> operands);
/// Returns whether single keys are hidden: by a mask that is not an interval, or by the function before a softmax, if
/// it can return -inf.
bool hidesKeys(const AttentionShape &);
/// Returns whether the function hides keys in this way.
bool hidesByFunction(const AttentionShape &);

} // namespace skewer
