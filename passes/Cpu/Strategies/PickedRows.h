// The base classes of strategies that compute q_i·R[row(i, j)] and k_j·R[row(i, j)]: the table, packed once a call, the
// query or key vectors, and the products of both.
#pragma once
#include "passes/Cpu/Schedule/Prediction.h"
#include "passes/Cpu/Strategy.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace skewer {

class PickedRows : public CpuStrategy {
public:
  PickedRows(CpuKernel &, const RowTerm &);
  double variance() const override { return term.scale * term.scale * double(term.depth); }
  PackedTable *packedTable() override { return &table; }
  ContentUse contentUse() const override { return ownVectors ? ContentUse::None : ContentUse::Queries; }
  void open() override;

protected:
  Summation summation() const { return compensated ? kCompensated : Summation{chunk}; }
  int64_t steps() const { return engine.stepsOf(term.depth); } // of a vector and a row of the table
  int64_t stride() const { return CpuEngine::panelStride(steps(), lanes); }
  /// Returns the first row of the first panel that holds a picked row.
  int64_t firstRow() const { return term.firstRow / lanes * lanes; }
  /// Returns the number of rows, one float each in the products, from `firstRow` to the last picked row.
  int64_t picked() const { return term.endRow - firstRow(); }
  /// Returns the values of the key axes for a vector of keys. Index operands are read at these values, but not behind a
  /// run-time length.
  Positions::Values lanesFrom(mlir::Value key);
  /// Returns the rows that the lanes pick, counted from `firstRow`, never outside the picked rows. Sets `guard` if the
  /// term has one.
  mlir::Value pickedRows(const Positions::Values &at, Positions::Values lanesAt, mlir::Value &guard);
  /// Adds `x` to a row's line of biases in `lines`. Keys that the line hides stay hidden.
  void addToLineAt(mlir::Value lines, mlir::Value x, mlir::Value at);

  /// Returns how many rows the table has in this call; null if that is known at compile time.
  mlir::Value rowLength() { return term.rowLength ? positions.baseOf(*term.rowLength) : mlir::Value(); }

  const RowTerm &term;
  subscript::Expr row; // the row that positions pick, over all axes or over those of a map
  std::optional<subscript::Expr> rowGuard;
  PackedTable table; // its items are panels or rows
  double factor = 1; // table entries are multiplied by this if the engine packs floats
  // The query or key vectors: those that the content has packed, from this depth on, or vectors packed for the term.
  int64_t vectorOffset = 0;
  bool ownVectors = true;
  Buffer vectors;
  int64_t chunk = 1; // steps of the depth that have a sum of their own
  bool compensated = false;
  Buffer products;
  int64_t productStride = 0;
  mlir::Value tableMemory, vectorsMemory, productsMemory;
};

/// The query side. The table is packed as panels of `lanes` rows × depth.
class QueryRows : public PickedRows {
public:
  QueryRows(CpuKernel &, const RowTerm &);
  void packQueries(const RowBlock &) override;

protected:
  void packItem(mlir::Value target, mlir::Value copy, mlir::Value item) override;
  /// Reserves the buffers; `productRows` is the number of queries whose products are held at once.
  void planRows(Layout &, int64_t productRows);
  /// Stores the products of a group's queries with table rows, panel by panel, from `target` on in `products`.
  void rowLogits(mlir::Value group, mlir::Value firstPanel, mlir::Value endPanel, mlir::Value target);
  /// Returns the logits of picked rows for a vector of keys, from products that begin at `at`.
  mlir::Value pick(mlir::Value at, mlir::Value rows, mlir::Value guard);
  mlir::Value firstPanel() { return b.index(term.firstRow / lanes); }
  mlir::Value endPanel();
};

/// The key side. The table is packed as rows of steps; products have the keys in their lanes.
class KeyRows : public PickedRows {
public:
  KeyRows(CpuKernel &, const RowTerm &);
  PackedKeys packedKeys() const override { return {&term.vector, term.depth}; }
  void packKeys() override;
  ContentUse contentUse() const override { return ownVectors ? ContentUse::None : ContentUse::KeyPanels; }
  void open() override;

protected:
  void packItem(mlir::Value target, mlir::Value copy, mlir::Value item) override;
  void copyRow(mlir::Value target, mlir::Value to, mlir::Value row);
  /// Reserves the buffers; `productRows` is the number of rows whose products are held at once.
  void planKeys(Layout &, int64_t productRows);
  /// Stores products[row - first][key]: packed rows [first, end), in whole groups, times the keys of a tile.
  void keyProducts(mlir::Value first, mlir::Value end, mlir::Value vector, int64_t vectors);
  /// Returns the products that a vector of keys picks, `v` vectors behind the first key of the tile.
  mlir::Value pick(const Positions::Values &at, mlir::Value key, int64_t v);

  int64_t rowsTogether = 0; // rows of the table that are multiplied at once
};

/// The base class of strategies for picked rows: all that such a strategy says about itself, except its costs. A
/// strategy that finds the row for each pair of positions also computes terms of the other kinds.
class RowStrategy : public TermStrategy {
public:
  RowStrategy(RowKind kind, bool keySide) : kind(kind), keySide(keySide) {}
  AddOrder order() const override { return AddOrder::Rows; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override;
  /// Tables are packed whole, and panels of keys up to the last key. But lines of an axis of a map are as long as its
  /// bound.
  bool takesLengths() const override { return kind != RowKind::Axis; }
  void take(const TermForm &form, AttentionShape &shape) const override { shape.rows[form.number].kind = kind; }
  TermWork work(const TermForm &form, const AttentionShape &, const TileSizes &, const Target &) const override;

protected:
  /// The number of products of vectors and rows, and the other cycles: for lines, selects and gathers.
  struct Counted {
    double products = 0, otherCycles = 0;
  };
  virtual Counted count(const RowTerm &, const AttentionShape &, const TileSizes &, const Target &) const = 0;
  /// Returns the number of table rows that pairs of positions may pick.
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
