#include "dialect/IR/Inliner.h"
#include "dialect/IR/Attn.h"

using namespace mlir;
using namespace skewer::attn;

bool Inliner::isLegalToInline(Operation *op, Region *, bool, IRMapping &) const {
  return indicesOf(op).empty() && !isa<IndexOp>(op);
}

// The region of an attention contains no calls.
bool Inliner::isLegalToInline(Region *, Region *, bool, IRMapping &) const { return false; }
