// Builds one linalg.generic on tensors, whose operands are read through index expressions. The conversions of the pass
// attn-to-linalg call it.
//
// An operand whose subscripts are plain loops is an input with an indexing map; `tensor.extract` reads any other
// operand in the body. Sums are in f32 if tensors are narrower.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Emit/EmitIndex.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer {

/// The loops of one linalg.generic: one for each dimension of the result, `d0`, `d1`, …, then the loops of a sum, which
/// are named by their axes.
struct LoopNest {
  /// The loops for a result of these dimensions. `extents`: values of run-time sizes, by axis.
  LoopNest(const subscript::Dimensions &result, const std::vector<std::string> &summed,
           const subscript::AxisSizes &sizes, const std::map<std::string, mlir::Value> &extents);
  /// The loops for a result of this type, read at d0, d1, …. Its run-time sizes are those of `like`, a value of that
  /// shape.
  LoopNest(mlir::OpBuilder &, mlir::Location, mlir::RankedTensorType, mlir::Value like);

  /// Rewrites an expression over the axes as an expression over the loops' symbols.
  subscript::Expr over(const subscript::Expr &) const;
  std::vector<subscript::Expr> over(const std::vector<subscript::Expr> &) const;
  subscript::Domain domain() const;
  unsigned loops() const { return static_cast<unsigned>(symbols.size()); }

  std::vector<std::string> symbols;
  llvm::SmallVector<int64_t> sizes;       // of each loop
  llvm::SmallVector<mlir::Value> extents; // of each loop with a run-time size; else null
  unsigned parallel = 0;                  // number of loops of the result's dimensions
  subscript::Substitution axes;
};

/// A tensor and the subscripts at which it is read, over the axes of the nest.
struct Reading {
  mlir::Value tensor;
  std::vector<subscript::Expr> subscripts;
};

/// Returns the value of one point. It gets the elements that were read, widened, the value so far, and the emitter of
/// index expressions.
using PointBody = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::ValueRange elements,
                                                 mlir::Value before, IndexEmitter &)>;

class Structured {
public:
  /// `indices`: the run-time index operands that expressions may read.
  Structured(mlir::ImplicitLocOpBuilder &builder, attn::IndexOperands indices)
      : b(builder), indices(std::move(indices)) {}

  /// Makes a tensor of `element` over the nest's result dimensions. Each value begins as `start`, and `body` computes
  /// the next value from the one before. Without `start`, the body does not use the value before. With `mayLeave`,
  /// subscripts are known to be inside only where the body uses the element, so they are clamped.
  mlir::Value make(const LoopNest &, mlir::Type element, std::optional<double> start, llvm::ArrayRef<Reading>,
                   bool mayLeave, PointBody body);
  /// Does the same, but begins with the values of `tensor`.
  mlir::Value addTo(mlir::Value tensor, const LoopNest &, llvm::ArrayRef<Reading>, bool mayLeave, PointBody body);

  /// Returns the tensor with elements of another floating-point type.
  mlir::Value convert(mlir::Value tensor, mlir::Type element);
  /// Why something could not be emitted; empty if nothing failed.
  std::string failure;

private:
  /// The operands of a linalg.generic: tensors with maps, and for each reading the number of its tensor, or -1.
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

/// Returns f32 for a narrower type, else the type itself.
mlir::Type sumType(mlir::Type element);
mlir::Value castReal(mlir::ImplicitLocOpBuilder &, mlir::Value, mlir::Type);
mlir::Value realConstant(mlir::ImplicitLocOpBuilder &, mlir::Type, double);

} // namespace skewer
