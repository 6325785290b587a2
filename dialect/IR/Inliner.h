// The rules for MLIR's inliner on the dialect's operations. The dialect registers them.
#pragma once
#include "mlir/Transforms/InliningUtils.h"

namespace skewer::attn {

/// Every operation of the dialect is a function of its operands, so the inliner may replace a call by the called
/// function's operations. The exception is a function that reads run-time index operands (`indices`) or names one
/// (attn.index): its texts call them by name (attn_c6), and the caller has other names. A call of such a kernel stays a
/// call.
struct Inliner : mlir::DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(mlir::Operation *, mlir::Region *destination, bool wouldBeCloned, mlir::IRMapping &) const final;
  bool isLegalToInline(mlir::Region *destination, mlir::Region *source, bool wouldBeCloned,
                       mlir::IRMapping &) const final;
};

} // namespace skewer::attn
