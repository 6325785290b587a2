// The values of the axes at the current head and at pairs of positions, and index expressions over them. The kernel and
// its strategies emit their addresses and predicates with it.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Returns whether `rows` consecutive rows that a table picks are of one page, if the first is a multiple of `rows`.
inline bool isOnePage(const Walk &walk, int64_t rows) { return walk.picked && walk.run % rows == 0; }

class Positions {
public:
  using Values = std::map<std::string, mlir::Value>;
  Positions(VectorBuilder &b, const AttentionShape &shape) : b(b), shape(shape) {}

  /// Begins a phase, in which this function finds the run-time index operands of the kernel.
  void readFrom(FindIndices);
  /// Return the number of queries and of keys: a constant, or a number of the call.
  mlir::Value queries() { return queriesOfCall ? queriesOfCall : b.index(shape.queries); }
  mlir::Value keys() { return keysOfCall ? keysOfCall : b.index(shape.keys); }
  /// Return these numbers where they are numbers of the call, else null.
  mlir::Value queryLength() const { return queriesOfCall; }
  mlir::Value keyLength() const { return keysOfCall; }

  /// Sets the leading axes to those of a head, a flat index.
  void enterHead(mlir::Value head);
  /// Runs `body` at another head.
  void atHead(mlir::Value other, llvm::function_ref<void()> body);
  mlir::Value head() const { return current; }
  /// Returns the number of the copy that belongs to the current leading axes. `enterCopy` is the inverse: it sets the
  /// leading axes to those of a copy, before the copy is prepared.
  mlir::Value copyOf(const std::vector<std::string> &copyAxes);
  void enterCopy(const std::vector<std::string> &copyAxes, mlir::Value copy);

  /// Returns the values of the leading axes and of the axes of a query and a key; a null position has no values.
  Values axesAt(mlir::Value query, mlir::Value key);
  /// Returns the values of the leading axes and of a query on a map of run-time width (KeyBounds::map).
  Values onMapAt(mlir::Value query);
  mlir::Value axisOf(const MapAxis &, mlir::Value position);
  mlir::Value indexOf(const subscript::Expr &, const Values &at);   // index
  mlir::Value predicate(const subscript::Expr &, const Values &at); // i1
  mlir::Value baseOf(const subscript::Expr &);                      // at the current leading axes
  mlir::Value keyPlace(const Walk &, mlir::Value key);              // of the first element of a key's row
  /// Returns the places of `count` consecutive rows of keys; `placeOf` returns the place of one, by its number. With
  /// `onePage` all of them are of one page, so only the first one is looked up.
  llvm::SmallVector<mlir::Value> keyPlaces(const Walk &, int64_t count, bool onePage,
                                           llvm::function_ref<mlir::Value(int64_t)> placeOf);

  Values axes; // of the leading axes
  llvm::SmallVector<mlir::Value> leadingSizes;
  FindIndices indices;                 // the kernel's run-time index operands
  mlir::Value mapWidth, queryMapWidth; // of KeyBounds::map, where there is one

private:
  VectorBuilder &b;
  const AttentionShape &shape;
  IndexEmitter::Read reads;
  mlir::Value current; // head
  mlir::Value queriesOfCall, keysOfCall;
};

} // namespace skewer
