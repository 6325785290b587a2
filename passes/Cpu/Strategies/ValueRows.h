// What the ways to compute Σ_j p_ij · table[…] share: rows that are read, as wide as the values, and sums of weights.
#pragma once
#include "passes/Cpu/Strategy.h"
#include "passes/Schedule/Prediction.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace skewer {

/// Rows by runs of offsets (ValueTerm::runs): where they lie, packed or in place.
class ValueRows : public CpuStrategy {
public:
  ValueRows(CpuKernel &, const ValueTerm &);
  void open() override;
  void packValues() override;
  void enterHead() override;

protected:
  /// Buffers; so many floats for sums of weights.
  void planRows(Layout &, int64_t weightFloats);
  /// Where the row of an offset of the run begins.
  mlir::Value rowOf(const OffsetRun &, mlir::Value offset);

  const ValueTerm &term;
  mlir::Value tableMemory, tableBase, weightsMemory;

private:
  bool isPacked() const { return table.floats > 0; }
  // The rows that are read, scaled and as wide as whole vectors, packed once a head; without a buffer they are read
  // where they lie. Elements of the operand count `unit`s from `first` there, each a row of `rowFloats`.
  Buffer table;
  int64_t first = 0, unit = 1, rows = 0, rowFloats = 0;
  Buffer weights;
};

/// Σ of the weights of a row from `low` to `high`, places in the buffer of scores.
mlir::Value sumOfWeights(CpuKernel &, mlir::Value low, mlir::Value high);
/// A vector of weights; 0 in the lanes from `count` on.
mlir::Value firstWeights(CpuKernel &, mlir::Value at, mlir::Value count);
/// accumulators of one row, a few vectors at a time: `body` adds to them.
void addToRow(CpuKernel &, mlir::Value row,
              const std::function<llvm::SmallVector<mlir::Value>(int64_t first, int64_t vectors, mlir::ValueRange)> &);
/// Calls `body` for each row of a group that exists.
void forRows(CpuKernel &, const WeightedRows &, const std::function<void(mlir::Value row, mlir::Value position)> &body);

/// What a strategy for terms of the values says of itself, but for its costs.
class ValueStrategy : public TermStrategy {
public:
  explicit ValueStrategy(ValueKind kind) : kind(kind) {}
  AddOrder order() const override { return AddOrder::Values; }
  bool fits(const TermForm &form, const AttentionShape &) const override {
    const ValueTerm *term = form.as<ValueTerm>();
    return term && term->kind == kind;
  }
  /// Weights are those of keys that there are; sums over an axis of a map are of its bound.
  bool takesLengths() const override { return kind != ValueKind::Axis; }
  void take(const TermForm &form, AttentionShape &shape) const override { shape.valueTerms[form.number].kind = kind; }

protected:
  // Cycles of a vector of a row that is multiplied for one query alone; counted in the loops that are made.
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
