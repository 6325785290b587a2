// Ranges of index operands whose ends depend on lengths: `lengths : i32[b] in 1..N`.
#pragma once
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::attn {

/// The name of the attribute that holds a range's two ends where lengths decide them, [1, "N"]. The entries have the form
/// of `attn.shape`. It stands on a kernel's argument, next to `attn.range`, which holds all values that occur at any length.
/// A lowered module has it too: there it is a dictionary from the names of the plan's inputs to their ends.
constexpr llvm::StringLiteral kRangeEnds = "attn.range_ends";

/// attn_c15: whether the attribute holds two ends, each a number or an expression that parses.
bool areRangeEnds(mlir::Attribute);

/// The location of a kernel's argument whose text declares a range: `operand`, which also says where its ends stand.
mlir::Location withRangeEnds(mlir::Location operand, mlir::Location low, mlir::Location high);
/// Where the text says that end of an argument's range; the argument's own location where nothing says it.
mlir::Location placeOfRangeEnd(mlir::Location argument, bool isHigh);

} // namespace skewer::attn
