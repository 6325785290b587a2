// Finds operands of an attention whose rows stand in memory as numbers of 8 bits, so that a kernel that converts them
// where it copies them reads one byte an element. The division into stages and the GPU's shape of an attention ask it.
#pragma once
#include "dialect/IR/Attn.h"
#include "dialect/Subscript/Expr.h"
#include <optional>

namespace skewer {

/// An operand that is an argument of 8 bits, widened, times numbers that all elements of a row have in common: the
/// scales of a tensor, a head, a row or a block of rows. Element n of the operand is element n of the argument.
struct NarrowRows {
  /// A factor of the rows, and the place of its element in memory, of the symbol kPlace.
  struct Scale {
    mlir::Value tensor;
    subscript::Expr place;
  };
  mlir::Value stored; // the argument
  llvm::SmallVector<Scale> scales;
  int64_t rowElements = 0; // of the operand's last dimension, all of which have one scale
};
/// The name of the place of an element in the operand's memory.
constexpr const char *kPlace = "place";

/// Returns whether numbers of the type are stored in 8 bits.
bool isOfBytes(mlir::Type element);
/// Returns the rows of an operand of the form arith.extf or arith.sitofp of an argument, or attn.einsum of such a
/// widening and of scales; reshapes may follow. Nothing for other operands.
std::optional<NarrowRows> narrowRows(mlir::Value operand);
/// Returns a new value of that form that is equal to the operand and that nothing else reads; null if there is none.
mlir::Value asNarrowRows(mlir::OpBuilder &, mlir::Value operand);

/// Returns whether the operation only says how such rows become an operand of attentions that convert rows where they
/// copy them: of attentions with a schedule for a GPU. It is not computed by itself then.
bool isOfNarrowRows(mlir::Operation *);

} // namespace skewer
