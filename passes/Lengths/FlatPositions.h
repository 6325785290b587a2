// Replaces positions of a map by one number, for maps whose sizes differ between lengths. attn-flatten-positions calls
// it, if attn-fit-lengths has set the attribute.
#pragma once
#include "dialect/IR/Attn.h"
#include "llvm/ADT/StringRef.h"

namespace skewer {

/// An attribute of a function that is compared with itself at other lengths. It requests that products of axes become
/// one axis each.
constexpr llvm::StringLiteral kFlatPositions = "attn.flat_positions";

/// Replaces queries and keys that are products of axes, "(iy ix)", by one axis each, which index expressions divide:
/// `iy` is `i floordiv 14`. The 14 is then a number, which may differ at another length; the size of an inner axis
/// would be part of every stride. Changes nothing if the result cannot be written.
void flattenPositions(attn::AttentionOp);
/// Does the same for the products in an einsum's text.
void flattenPositions(attn::EinsumOp);
/// Does the same for a rearrangement. A rearrangement with products becomes an einsum of one operand.
void flattenPositions(attn::RearrangeOp);

} // namespace skewer
