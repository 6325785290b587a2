// The base classes of strategies that compute q_i·R[±(j - i) + c]: a table in panels, packed once a call in the order
// of key - query.
#pragma once
#include "passes/Cpu/Schedule/Prediction.h"
#include "passes/Cpu/Strategy.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace skewer {

class OffsetTable : public CpuStrategy {
public:
  OffsetTable(CpuKernel &, const RowTerm &, const CpuEngine &);
  PackedTable *packedTable() override { return &table; }
  void packItem(mlir::Value target, mlir::Value copy, mlir::Value panel) override;
  ContentUse contentUse() const override { return ownQueries ? ContentUse::None : ContentUse::Queries; }

protected:
  /// Returns where the panels of a copy lie.
  virtual PanelTarget panelsOf(mlir::Value target, mlir::Value copy);
  int64_t steps() const { return engine.stepsOf(term.depth); } // of a row and a column
  int64_t stride() const { return CpuEngine::panelStride(steps(), lanes); }
  /// Returns the column of (query axis 0, key axis 0): columns count key - query.
  mlir::Value firstColumn();
  /// Returns how many rows the table has if that is known only at run time; else null.
  mlir::Value rowLength();

  const RowTerm &term;
  PackedTable table;       // its items are panels
  int64_t constant = 0;    // column of (query axis 0, key axis 0)
  double factor = 1;       // table entries are multiplied by this
  bool ownQueries = false; // the content's packed queries do not serve, so the term packs its own
  int64_t apart = 0;       // columns from a panel to the next one; 0: the lanes, so that panels share none
  int64_t columnsApart() const { return apart ? apart : lanes; }
};

/// Returns the term if its row is linear in positions; of whole positions, or of one axis of a map. Else returns null.
inline const RowTerm *linearTerm(const TermForm &form, const AttentionShape &shape, bool isWhole) {
  const RowTerm *term = form.as<RowTerm>();
  bool fits = term && term->kind == RowKind::Linear && term->linear.isWhole(shape.queries, shape.keys) == isWhole;
  return fits ? term : nullptr;
}

/// Computes the logits of the columns that a group of rows can reach, `logitsStride` floats for each row. An engine
/// whose sums go through memory takes several groups together, which reach a few more columns.
class OffsetLogits : public OffsetTable {
public:
  OffsetLogits(CpuKernel &kernel, const RowTerm &term);
  void plan(Layout &) override;
  void open() override;
  void packQueries(const RowBlock &) override;

protected:
  bool isWhole() const { return term.linear.isWhole(shape.queries, shape.keys); }
  /// Returns the first panel of columns that a group reaches in a block of keys.
  mlir::Value startOf(mlir::Value group, mlir::Value firstRow, mlir::Value lowKey);
  /// Computes the logits of the groups from `group` on that are taken together.
  void computeLogits(mlir::Value group, mlir::Value firstRow, mlir::Value lowKey, mlir::Value highKey);

  Buffer queries, logits; // in the worker's workspace; queries: rows × depth
  int64_t logitsStride = 0, margin = 0;
  int64_t together = 1; // groups
  mlir::Value tableMemory, logitsMemory, queriesMemory;

private:
  mlir::Value firstRowOf(mlir::Value group, mlir::Value firstRow);
  /// Returns the last existing row of the groups that are taken together with one.
  mlir::Value lastRow(mlir::Value group, mlir::Value firstRow);
  Summation summation() const;
  std::pair<mlir::Value, mlir::Value> axisRange(const MapAxis &, mlir::Value first, mlir::Value last);
};

std::unique_ptr<TermStrategy> makeBand();
std::unique_ptr<TermStrategy> makeAxisLogits();
std::unique_ptr<TermStrategy> makeStridedAdd();

} // namespace skewer
