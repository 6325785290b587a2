// What the ways to compute q_i·R[row(i, j)] and k_j·R[row(i, j)] share: the table, packed once a call, the vectors that
// meet it, and products of both.
#pragma once
#include "passes/Cpu/Strategy.h"
#include "passes/Schedule/Prediction.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace skewer {

class PickedRows : public CpuStrategy {
public:
  PickedRows(CpuKernel &, const RowTerm &);
  double variance() const override { return term.scale * term.scale * double(term.depth); }
  int64_t packItems() const override { return copies * items; }
  std::optional<llvm::SmallVector<unsigned>> packedArguments() const override;
  void pack(mlir::Value low, mlir::Value high, int64_t first) override;
  void open() override;

protected:
  virtual void packItem(mlir::Value target, mlir::Value copy, mlir::Value item) = 0;
  Summation summation() const { return compensated ? CpuKernel::kCompensated : Summation{chunk}; }
  /// The first row of the first panel that holds a picked one.
  int64_t firstRow() const { return term.firstRow / lanes * lanes; }
  /// Floats from `firstRow` to behind the last picked one.
  int64_t picked() const { return term.endRow - firstRow(); }
  /// The key axes' values for a vector of keys; index operands are read there, and not behind a run-time length.
  Positions::Values lanesFrom(mlir::Value key);
  /// The rows that lanes pick, counted from `firstRow`; never outside.
  mlir::Value pickedRows(const Positions::Values &at, Positions::Values lanesAt, mlir::Value &guard);
  /// Adds to a row's line of biases in `lines`; where it says that a key is masked it goes on to say so.
  void addToLineAt(mlir::Value lines, mlir::Value x, mlir::Value at);

  /// How many rows the table has in this call; null where that is known.
  mlir::Value rowLength() { return term.rowLength ? baseOf(*term.rowLength) : mlir::Value(); }

  const RowTerm &term;
  subscript::Expr row; // as a strategy finds it: over all axes, or over those of a map
  std::optional<subscript::Expr> rowGuard;
  // The table in the shared workspace, one copy for each tuple of RowTerm::tableAxes.
  Buffer table;
  int64_t copies = 1, copyFloats = 0, items = 0; // items: panels or rows of a copy
  double factor = 1;                             // table entries are multiplied by this
  // The query's or key's vectors: the content's packed ones from this depth on, else packed for the term.
  int64_t vectorOffset = 0;
  bool ownVectors = true;
  Buffer vectors;
  int64_t chunk = 1; // steps of the depth that are summed up by themselves
  bool compensated = false;
  Buffer products;
  int64_t productStride = 0;
  mlir::Value tableMemory, vectorsMemory, productsMemory;
};

/// Query side. The table is packed as panels of `lanes` rows × depth.
class QueryRows : public PickedRows {
public:
  QueryRows(CpuKernel &, const RowTerm &);
  void packQueries(const RowBlock &) override;

protected:
  void packItem(mlir::Value target, mlir::Value copy, mlir::Value item) override;
  /// Buffers; `productRows`: of queries whose products are held at once.
  void planRows(Layout &, int64_t productRows);
  /// Products of a group's queries with table rows, panel by panel, at `target` in the term's products.
  void rowLogits(mlir::Value group, mlir::Value firstPanel, mlir::Value endPanel, mlir::Value target);
  /// The logits of picked rows for a vector of keys, from products that begin at `at`.
  mlir::Value pick(mlir::Value at, mlir::Value rows, mlir::Value guard);
  mlir::Value firstPanel() { return b.index(term.firstRow / lanes); }
  mlir::Value endPanel();
};

/// Key side. The table is packed as rows × depth, with the scale in them; products have the keys in their lanes.
class KeyRows : public PickedRows {
public:
  KeyRows(CpuKernel &, const RowTerm &);
  PackedKeys packedKeys() const override { return {&term.vector, term.depth}; }
  void packKeys() override;
  bool readsKeyPanels() const override { return !ownVectors; }
  void open() override;

protected:
  void packItem(mlir::Value target, mlir::Value copy, mlir::Value item) override;
  void copyRow(mlir::Value target, mlir::Value to, mlir::Value row);
  /// Buffers; `productRows`: rows whose products are held at once.
  void planKeys(Layout &, int64_t productRows);
  /// products[row - first][key]: packed rows [first, end), in whole groups, times a tile's keys.
  void keyProducts(mlir::Value first, mlir::Value end, mlir::Value vector, int64_t vectors);
  /// The products that a vector of keys picks, of keys that stand `v` vectors behind the tile's first.
  mlir::Value pick(const Positions::Values &at, mlir::Value key, int64_t v);
};

/// What a strategy for picked rows says of itself, but for its costs. One that finds the row for each pair of positions
/// computes terms of the other kinds too.
class RowStrategy : public TermStrategy {
public:
  RowStrategy(RowKind kind, bool keySide) : kind(kind), keySide(keySide) {}
  AddOrder order() const override { return AddOrder::Rows; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override;
  /// Tables are packed whole, and panels of keys as far as there are keys; lines of an axis of a map are of its bound.
  bool takesLengths() const override { return kind != RowKind::Axis; }
  void take(const TermForm &form, AttentionShape &shape) const override { shape.rows[form.number].kind = kind; }
  TermWork work(const TermForm &form, const AttentionShape &, const TileSizes &, const Target &) const override;

protected:
  /// Products of vectors and rows, and cycles besides them: those of lines, of selecting and of gathering.
  struct Counted {
    double products = 0, otherCycles = 0;
  };
  virtual Counted count(const RowTerm &, const AttentionShape &, const TileSizes &, const Target &) const = 0;
  /// Rows of the table that some pair of positions picks.
  static int64_t rowsPicked(const RowTerm &term) { return term.endRow - term.firstRow; }

private:
  RowKind kind;
  bool keySide;
};

std::unique_ptr<TermStrategy> makeOffsetLines();
std::unique_ptr<TermStrategy> makeAxisLines();
std::unique_ptr<TermStrategy> makeGatheredRows();
std::unique_ptr<TermStrategy> makeKeyDiagonals();
std::unique_ptr<TermStrategy> makeKeyLines();
std::unique_ptr<TermStrategy> makeGatheredKeys();

} // namespace skewer
