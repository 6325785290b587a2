// Reductions that are no sums: include this to use attn.extremum.
#pragma once
#include "dialect/IR/Attn.h"

#define GET_OP_CLASSES
#include "dialect/IR/Reductions.h.inc"

namespace skewer::attn {
/// The text of an extremum with its operand's shape.
ResolvedEinsum resolve(ExtremumOp);
} // namespace skewer::attn
