// What values the function of an attention's scores may have, whatever the scores are.
#pragma once
#include "mlir/IR/Region.h"

namespace skewer {

struct RealRange {
  double low, high; // may be infinite
  bool isWithin(double most) const { return low >= -most && high <= most; }
};

/// Of numbers that are no NaN; rounding aside. What is not understood may be anything.
RealRange rangeOf(mlir::Region &through);

} // namespace skewer
