// Positions of a map as one number, where the sizes of the map are not the same at all lengths.
#pragma once
#include "dialect/IR/Attn.h"
#include "llvm/ADT/StringRef.h"

namespace skewer {

/// Of a function that is compared with itself at other lengths: products of axes become one axis each.
constexpr llvm::StringLiteral kFlatPositions = "attn.flat_positions";

/// Queries and keys that are products of axes, "(iy ix)", become one axis each, and index expressions take it apart:
/// `iy` is `i floordiv 14`. The 14 is a number then, which may be another one at another length, where the size of an
/// inner axis would be that of every stride. Nothing changes where the result cannot be written.
void flattenPositions(attn::AttentionOp);
/// The same of the products in an einsum's text.
void flattenPositions(attn::EinsumOp);
/// The same; what has products becomes an einsum of one operand.
void flattenPositions(attn::RearrangeOp);

} // namespace skewer
