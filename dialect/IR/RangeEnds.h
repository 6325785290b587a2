// Ranges of index operands whose ends depend on lengths: `lengths : i32[b] in 1..N`.
#pragma once
#include "mlir/IR/Attributes.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::attn {

/// Of a kernel's argument: the two ends of its range, each an entry as `attn.shape` has them, [1, "N"]. `attn.range` beside
/// it holds the values that there are at any lengths. Of a lowered module: a dictionary of them by the names of the plan's
/// inputs.
constexpr llvm::StringLiteral kRangeEnds = "attn.range_ends";

/// attn_c15: whether the attribute holds two ends, each a number or an expression that parses.
bool areRangeEnds(mlir::Attribute);

} // namespace skewer::attn
