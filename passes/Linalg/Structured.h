// One linalg.generic on tensors whose operands are read through index expressions.
//
// An operand whose dimensions are plain loops is an input with an indexing map; any other is read in the body by
// `tensor.extract`. Sums are in f32 where tensors are narrower.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Emit/EmitIndex.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer {

/// The loops of one linalg.generic: one for each dimension of the result, `d0`, `d1`, …, then those that are summed
/// over, which have the names of their axes.
struct LoopNest {
  /// For a result of these dimensions. `extents` are the values of run-time sizes, by axis.
  LoopNest(const subscript::Dimensions &result, const std::vector<std::string> &summed,
           const subscript::AxisSizes &sizes, const std::map<std::string, mlir::Value> &extents);
  /// For a result of this type, read at d0, d1, …; its run-time sizes are those of `like`, a value of that shape.
  LoopNest(mlir::OpBuilder &, mlir::Location, mlir::RankedTensorType, mlir::Value like);

  /// An expression of axes as one of the loops' symbols.
  subscript::Expr over(const subscript::Expr &) const;
  std::vector<subscript::Expr> over(const std::vector<subscript::Expr> &) const;
  subscript::Domain domain() const;
  unsigned loops() const { return static_cast<unsigned>(symbols.size()); }

  std::vector<std::string> symbols;
  llvm::SmallVector<int64_t> sizes;       // of each loop
  llvm::SmallVector<mlir::Value> extents; // where it is of run time; else null
  unsigned parallel = 0;                  // loops of the result's dimensions
  subscript::Substitution axes;
};

/// A tensor and where it is read, over the axes of the nest.
struct Reading {
  mlir::Value tensor;
  std::vector<subscript::Expr> subscripts;
};

/// The value of one point: the elements that were read, widened; what has been summed so far; index expressions.
using PointBody = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::ValueRange elements,
                                                 mlir::Value before, IndexEmitter &)>;

class Structured {
public:
  /// `indices`: the run-time index operands that expressions may read.
  Structured(mlir::ImplicitLocOpBuilder &builder, attn::IndexOperands indices)
      : b(builder), indices(std::move(indices)) {}

  /// A tensor of `element` over the nest's result dimensions. It begins as `start` everywhere, and `body` makes each
  /// next value from the one before. Without `start` the body does not look at it. With `mayLeave` subscripts are only
  /// known to be inside where the body uses the element: they are clamped.
  mlir::Value make(const LoopNest &, mlir::Type element, std::optional<double> start, llvm::ArrayRef<Reading>,
                   bool mayLeave, PointBody body);
  /// The same, on top of the values that a tensor has.
  mlir::Value addTo(mlir::Value tensor, const LoopNest &, llvm::ArrayRef<Reading>, bool mayLeave, PointBody body);

  /// The tensor with elements of another type of floating-point numbers.
  mlir::Value convert(mlir::Value tensor, mlir::Type element);
  /// Why something could not be emitted; empty: nothing went wrong.
  std::string failure;

private:
  /// The operands of a linalg.generic: tensors with maps, and of each reading which of them it is, or -1.
  struct Inputs {
    llvm::SmallVector<mlir::Value> tensors;
    llvm::SmallVector<mlir::AffineMap> maps;
    llvm::SmallVector<int64_t> argumentOf;
    std::vector<std::vector<subscript::Expr>> subscripts; // of each reading, over the loops
  };
  Inputs inputsOf(const LoopNest &, llvm::ArrayRef<Reading>);
  void fill(mlir::Block &, const LoopNest &, const Inputs &, llvm::ArrayRef<Reading>, bool mayLeave, PointBody body);
  mlir::Value build(const LoopNest &, mlir::Value start, llvm::ArrayRef<Reading>, bool mayLeave, PointBody body);
  mlir::Value extract(mlir::ImplicitLocOpBuilder &, IndexEmitter &, const Reading &,
                      const std::vector<subscript::Expr> &subscripts, bool mayLeave);
  mlir::ImplicitLocOpBuilder &b;
  attn::IndexOperands indices;
};

/// f32 for what is narrower, else the type itself.
mlir::Type sumType(mlir::Type element);
mlir::Value castReal(mlir::ImplicitLocOpBuilder &, mlir::Value, mlir::Type);
mlir::Value realConstant(mlir::ImplicitLocOpBuilder &, mlir::Type, double);

} // namespace skewer
