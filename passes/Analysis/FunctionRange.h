// What values the function of an attention's scores may have, whatever the scores are.
#pragma once
#include "mlir/IR/Operation.h"

namespace skewer {

struct AttentionShape;

struct RealRange {
  double low, high; // may be infinite
  bool isWithin(double most) const { return low >= -most && high <= most; }
};

/// Of numbers that are no NaN; rounding aside. What is not understood may be anything.
RealRange rangeOf(mlir::Region &through);
/// Of an operation's result, where its operands have these.
RealRange rangeOf(mlir::Operation *, llvm::ArrayRef<RealRange> operands);
/// Whether keys are hidden one by one: by a mask that is no interval, or by the function of the scores before a softmax,
/// which says -inf of some.
bool hidesKeys(const AttentionShape &);
/// Whether it is the function that does.
bool hidesByFunction(const AttentionShape &);

} // namespace skewer
