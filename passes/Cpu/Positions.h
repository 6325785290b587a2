// The axes' values where code is emitted: of the head that is computed, and of pairs of positions.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Whether so many rows that a table picks, the first of which is a multiple of their number, are of one page.
inline bool isOnePage(const Walk &walk, int64_t rows) { return walk.picked && walk.run % rows == 0; }

class Positions {
public:
  using Values = std::map<std::string, mlir::Value>;
  Positions(VectorBuilder &b, const AttentionShape &shape) : b(b), shape(shape) {}

  /// Begins a phase, in which the kernel's run-time index operands are found so.
  void readFrom(FindIndices);
  /// The leading axes at a flat index.
  void enterHead(mlir::Value index);
  /// The number of the copy that belongs to the current leading axes; and back, at the start of a copy's preparation.
  mlir::Value copyOf(const std::vector<std::string> &copyAxes);
  void enterCopy(const std::vector<std::string> &copyAxes, mlir::Value copy);

  /// The leading axes', and of a query and a key (null: not theirs).
  Values axesAt(mlir::Value query, mlir::Value key);
  /// The leading axes', and of a query on a map of run-time width (KeyBounds::map).
  Values onMapAt(mlir::Value query);
  mlir::Value axisOf(const MapAxis &, mlir::Value position);
  mlir::Value indexOf(const subscript::Expr &, const Values &at);   // index
  mlir::Value predicate(const subscript::Expr &, const Values &at); // i1
  mlir::Value baseOf(const subscript::Expr &);                      // at the current leading axes
  mlir::Value keyPlace(const Walk &, mlir::Value key);              // of the first element of a key's row
  /// The places of `count` rows of keys that follow each other, each by `placeOf` its number; with `onePage` they are
  /// of one page, and a single one is looked up.
  llvm::SmallVector<mlir::Value> keyPlaces(const Walk &, int64_t count, bool onePage,
                                           llvm::function_ref<mlir::Value(int64_t)> placeOf);

  Values axes; // of the leading axes
  llvm::SmallVector<mlir::Value> leadingSizes;
  FindIndices indices; // the kernel's run-time index operands
  mlir::Value mapWidth, queryMapWidth; // of KeyBounds::map, where there is one

private:
  VectorBuilder &b;
  const AttentionShape &shape;
  IndexEmitter::Read reads;
};

} // namespace skewer
