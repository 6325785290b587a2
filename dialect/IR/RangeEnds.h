// Ranges of index operands whose ends depend on lengths: `lengths : i32[b] in 1..N`.
#pragma once
#include "mlir/IR/Attributes.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::attn {

/// The name of the attribute that holds a range's two ends where lengths decide them, [1, "N"]. The entries have the form
/// of `attn.shape`. It stands on a kernel's argument, next to `attn.range`, which holds all values that occur at any length.
/// A lowered module has it too: there it is a dictionary from the names of the plan's inputs to their ends.
constexpr llvm::StringLiteral kRangeEnds = "attn.range_ends";

/// attn_c15: whether the attribute holds two ends, each a number or an expression that parses.
bool areRangeEnds(mlir::Attribute);

} // namespace skewer::attn
