// Tensors at level 4, and the axes of loops over them: the types that all files of the generic path share.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "dialect/Subscript/Expr.h"
#include "mlir/IR/Operation.h"
#include "passes/Emit/Buffer.h"
#include <map>
#include <optional>

namespace skewer::generic {

/// The number of elements of a vector: one register of AVX2, half of one of AVX-512.
constexpr int64_t kLanes = 8;

/// A tensor at level 4.
struct Storage {
  mlir::Value memory;           // memref<?xT>, flat, row-major, in the phase that is being emitted
  std::optional<Place> place;   // the place of its buffer, if it has one
  std::optional<double> number; // the value of all elements, if they are one known number
  std::vector<Extent> shape;
  mlir::Type element;
  /// Says whether elements may be absent, because a mask or a condition removed them. An absent element is stored as
  /// -0.0, and an element that exists is never -0.0, so a sum that begins at -0.0 is absent if no product was added to
  /// it. A product with an absent element is absent, whatever the other factors are; a product with the number 0 is
  /// not.
  bool mayBeAbsent = false;
  bool finite = false; // a constant without NaN and infinity, so that its product with 0 is 0
};

/// Returns whether absent elements of operand `number` of a product hide the other operands, which may be NaN or
/// infinite.
bool hidesOthers(llvm::ArrayRef<const Storage *> operands, size_t number);
/// Returns how the address of an element moves with an axis: 0, or 1 (consecutive); nothing if no vector can use it.
std::optional<int> step(const Storage &, llvm::ArrayRef<subscript::Expr>, const std::string &axis);

struct Axis {
  std::string name;
  Extent extent;
};
/// Values of axes (and `size_x` for the run-time size of axis x) while a loop's body is emitted.
using Symbols = std::map<std::string, mlir::Value>;
/// A place in a tensor, by the axes of a loop.
using Point = std::vector<subscript::Expr>;

/// Returns the symbol of a run-time size in subscripts that were composed from several maps.
std::string symbolOf(const Extent &);
/// Returns the number of items of a phase that has `each` items for every index of the outer axes, which may have
/// run-time sizes.
SizeExpression itemsOf(llvm::ArrayRef<Axis> outer, int64_t each);
/// Emits an error at the operation; returns false.
bool fail(mlir::Operation *, const llvm::Twine &);

} // namespace skewer::generic
