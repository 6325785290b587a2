// Ranges of index operands whose ends depend on lengths: `lengths : i32[b] in 1..N`.
#pragma once
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::attn {

/// The name of the attribute that holds the two ends of a range that depends on lengths, [1, "N"]. The entries have the
/// form of `attn.shape`. A kernel's argument has it next to `attn.range`, which holds the union of the range over all
/// lengths. A lowered module has it too: there it is a dictionary from the names of the plan's inputs to their ends.
constexpr llvm::StringLiteral kRangeEnds = "attn.range_ends";

/// attn_c15: returns whether the attribute holds two ends, each a number or an expression that parses.
bool areRangeEnds(mlir::Attribute);

/// Returns the location of a kernel's argument with a declared range: `operand` together with the places of its two
/// ends.
mlir::Location withRangeEnds(mlir::Location operand, mlir::Location low, mlir::Location high);
/// Returns the place of that end in the text; the argument's own location if the text's place is unknown.
mlir::Location placeOfRangeEnd(mlir::Location argument, bool isHigh);

} // namespace skewer::attn
