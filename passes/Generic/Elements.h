// Emits elements of tensors that are in memory, or that are computed when they are read: arithmetic and index maps at
// one point, or at the lanes of a vector. All stages of the generic path read their operands through it.
#pragma once
#include "passes/Generic/Tensors.h"

namespace skewer::generic {

/// Returns whether an operation of one element is absent where its first operand is: a scale of it, a conversion, or a
/// function that is 0 at 0.
bool keepsAbsence(mlir::Operation *);

class Elements {
public:
  Elements(mlir::ImplicitLocOpBuilder &b, KernelPlan &plan, PhaseCode &code, Tensors &tensors)
      : b(b), plan(plan), code(code), tensors(tensors) {}

  /// Returns an element of a tensor, as f32; with a `vectorAxis`, `code.lanes` elements along that axis. Null after a
  /// diagnostic.
  mlir::Value element(mlir::Value tensor, const Point &, const Symbols &, const std::string &vectorAxis);
  /// Returns an element of the result of an operation that is not in memory.
  mlir::Value produce(mlir::Operation *, const Point &, const Symbols &, const std::string &vectorAxis);
  /// Returns the value of the arithmetic that a stage applies to its result `made`, at one point, or at the lanes of a
  /// vector along an axis. Null after a failure.
  mlir::Value finished(const Stage &, const Point &, const Symbols &, const std::string &vectorAxis, mlir::Value made);
  /// Returns whether `element` can return vectors along an axis.
  bool vectorises(mlir::Value tensor, const Point &, const std::string &axis);
  bool vectorises(mlir::Operation *, const Point &, const std::string &axis);
  /// Sets target[at + d] = scale × element `first` + d of the tensor, for the row that begins at element `first`
  /// (OperandRows.cpp).
  void computeRow(mlir::Value tensor, mlir::Value first, mlir::Value target, mlir::Value at, double scale,
                  int64_t lanes);
  /// Returns the tensor in memory whose rows, each times a number of its own, are the rows of a tensor that is
  /// computed: keys of 8 bits with a scale. The elements in memory have few bits, so that sums of them stay far from
  /// the end of f32. Nothing if there is no such tensor.
  mlir::Value scaledFrom(mlir::Value tensor);
  /// Returns the number of the row that begins at element `first` of a tensor with `scaledFrom`.
  mlir::Value rowScale(mlir::Value tensor, mlir::Value first);
  /// Sets the domain to the ranges of the axes of an operation.
  void setDomain(const std::map<std::string, Extent> &);

  /// Elements with the value that was computed for each: one that several operations read is computed once.
  using Computed = std::vector<std::tuple<mlir::Value, Point, mlir::Value>>;

  subscript::Domain domain; // the ranges of the axes of the loops
  Computed computed;        // elements that can be reused, see `element`

private:
  /// The elements that a walk has met. One that several operations read is walked once: a chain of operations that each
  /// read the previous one twice would otherwise take 2^n steps.
  using Visited = std::vector<std::pair<mlir::Value, Point>>;
  /// Adds an element to those visited; returns whether it was not among them.
  static bool isFirstVisit(Visited &, mlir::Value tensor, const Point &);
  bool vectorises(mlir::Value tensor, const Point &, const std::string &axis, Visited &);
  bool vectorises(mlir::Operation *, const Point &, const std::string &axis, Visited &);
  /// An index map, or a product of index maps, at a point of its result: the points of its operands, the condition that
  /// they are inside, and the value outside.
  struct Moved {
    std::vector<std::pair<mlir::Value, Point>> reads;
    subscript::Expr inside = 1;
    double padding = 0;
  };
  /// Returns this form of an operation; nothing if the operation is neither, or has no map.
  std::optional<Moved> moved(mlir::Operation *, const Point &);
  /// Returns the axes of dimensions at a point; nothing for a product of axes with a run-time size.
  std::optional<subscript::Substitution> axesAt(const subscript::Dimensions &, const subscript::AxisSizes &,
                                                const Point &);
  static constexpr const char *kRowElement = "row element"; // the symbol of the place in a row
  /// Returns an element of a row of a tensor: a symbol for each index, of which the last one is `kRowElement`.
  Point rowPoint(const Storage &) const;
  /// Returns the values of the other symbols for the row that begins at element `first`.
  Symbols rowSymbols(const Storage &, mlir::Value first);
  /// Adds their ranges to the domain.
  void setRowDomain(const Storage &);
  /// The operands of a product: the only one whose elements differ along a row, which is in memory, and the others.
  struct ScaledRows {
    std::pair<mlir::Value, Point> rows;
    std::vector<std::pair<mlir::Value, Point>> scales;
  };
  /// Adds the operands of a tensor to those found. Returns false if several differ along a row, or one that does is
  /// not in memory.
  bool takeApart(mlir::Value tensor, const Point &, ScaledRows &);
  /// Returns the operands of a tensor that is computed, if `scaledFrom` has a tensor for it.
  std::optional<ScaledRows> scaledRows(mlir::Value tensor);
  /// Returns whether the elements of a row may differ.
  bool differsAlongRow(mlir::Value tensor, const Point &, Visited &);
  std::optional<subscript::Expr> positionAt(attn::PositionOp, const Point &);
  mlir::Value arithmetic(mlir::Operation *, const Point &, const Symbols &, const std::string &vectorAxis);
  /// Returns the result of an operation of one element, with the mark where it is absent.
  mlir::Value marked(mlir::Operation *, mlir::ValueRange operands, mlir::Value result);
  /// Returns whether a tensor is computed from positions when it is read. `precise` returns an element of it in f64,
  /// for products and sums of positions.
  bool dependsOnPosition(mlir::Value tensor);
  mlir::Value precise(mlir::Value tensor, const Point &, const Symbols &, const std::string &vectorAxis);
  mlir::Value precise(mlir::Value tensor, const Point &, const Symbols &, const std::string &vectorAxis, Computed &);
  // Reads at any known distances, for vectors whose lanes are known at compile time (`pinned`; OperandRows.cpp).
  std::optional<llvm::SmallVector<int64_t>> lanePattern(const Storage &, const Point &, const std::string &axis);
  mlir::Value loadPattern(const Storage &, mlir::Value place, llvm::ArrayRef<int64_t> pattern);

  mlir::ImplicitLocOpBuilder &b;
  KernelPlan &plan;
  PhaseCode &code;
  Tensors &tensors;
  bool pinned = false; // the domain of the vector axis is exactly the lanes
};

} // namespace skewer::generic
