// What MLIR's inliner may do with the dialect's operations.
#pragma once
#include "mlir/Transforms/InliningUtils.h"

namespace skewer::attn {

/// Every operation of the dialect is a function of its operands, so a function made of them may take the place of a
/// call of it. The exception is one that reads run-time index operands (`indices`), or names one (attn.index): its texts
/// call them by name (attn_c6), and the caller has others; such a kernel stays a call.
struct Inliner : mlir::DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(mlir::Operation *, mlir::Region *destination, bool wouldBeCloned, mlir::IRMapping &) const final;
  bool isLegalToInline(mlir::Region *destination, mlir::Region *source, bool wouldBeCloned,
                       mlir::IRMapping &) const final;
};

} // namespace skewer::attn
