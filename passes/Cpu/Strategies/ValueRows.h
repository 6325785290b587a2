// The base classes and helpers of strategies that compute Σ_j p_ij · table[…]: rows of a table, as wide as the values,
// and sums of weights.
#pragma once
#include "passes/Cpu/Strategy.h"
#include "passes/Cpu/Schedule/Prediction.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace skewer {

/// A term of the values, which adds weights × rows to the sums of its queries.
class WeightedTerm : public CpuStrategy {
public:
  WeightedTerm(CpuKernel &kernel, const ValueTerm &term) : CpuStrategy(kernel), term(term) {}

protected:
  /// Returns the sum of the weights of a row from `low` to `high`, which are places in the buffer of scores.
  mlir::Value sumOfWeights(mlir::Value low, mlir::Value high);
  /// Returns a vector of weights; lanes from `count` on have HiddenKeys::noWeight.
  mlir::Value firstWeights(mlir::Value at, mlir::Value count);
  /// Adds to the accumulators of one row, a few vectors at a time, the sums that the function returns. The function
  /// gets zeros as initial sums.
  void
  addToRow(mlir::Value row,
           const std::function<llvm::SmallVector<mlir::Value>(int64_t first, int64_t vectors, mlir::ValueRange)> &);
  /// Calls `body` for each existing row of a group.
  void forRows(const WeightedRows &, const std::function<void(mlir::Value row, mlir::Value position)> &body);

  const ValueTerm &term;
};

/// Rows that runs of offsets pick (ValueTerm::runs), packed or in place.
class ValueRows : public WeightedTerm {
public:
  ValueRows(CpuKernel &, const ValueTerm &);
  void open() override;
  void packValues() override;
  void enterHead() override;

protected:
  /// Reserves the buffers, with `weightFloats` floats for sums of weights.
  void planRows(Layout &, int64_t weightFloats);
  /// Returns where the row of an offset of the run begins.
  mlir::Value rowOf(const OffsetRun &, mlir::Value offset);

  mlir::Value tableMemory, tableBase, weightsMemory;

private:
  bool isPacked() const { return table.floats > 0; }
  // The rows, scaled and as wide as whole vectors, packed once a head; without a buffer they are read in place. Row n
  // begins at element first + n * unit of the operand, and at float n * rowFloats of the buffer.
  Buffer table;
  int64_t first = 0, unit = 1, rows = 0, rowFloats = 0;
  Buffer weights;
};

/// The base class of strategies for terms of the values: all that such a strategy says about itself, except its costs.
class ValueStrategy : public TermStrategy {
public:
  explicit ValueStrategy(ValueKind kind) : kind(kind) {}
  AddOrder order() const override { return AddOrder::Values; }
  bool fits(const TermForm &form, const AttentionShape &) const override {
    const ValueTerm *term = form.as<ValueTerm>();
    return term && term->kind == kind;
  }
  /// Only existing keys have weights. But sums over an axis of a map are as long as its bound.
  bool takesLengths() const override { return kind != ValueKind::Axis; }
  void take(const TermForm &form, AttentionShape &shape) const override { shape.valueTerms[form.number].kind = kind; }

protected:
  // Cycles to multiply a vector of a row for a single query; counted in the emitted loops.
  static constexpr double kRowCycles = 1.5;
  static double widthVectors(const AttentionShape &shape, const TileSizes &tile) {
    return double(llvm::divideCeil(shape.width, tile.lanes));
  }

private:
  ValueKind kind;
};

std::unique_ptr<TermStrategy> makeKeyValues();
std::unique_ptr<TermStrategy> makeDiagonals();
std::unique_ptr<TermStrategy> makeAxisSums();
std::unique_ptr<TermStrategy> makeValuePairs();

} // namespace skewer
