// Reductions other than sums: include this to use attn.extremum.
#pragma once
#include "dialect/IR/Attn.h"

#define GET_OP_CLASSES
#include "dialect/IR/Reductions.h.inc"

namespace skewer::attn {
/// Resolves the text of an extremum with its operand's shape.
ResolvedEinsum resolve(ExtremumOp);
} // namespace skewer::attn
