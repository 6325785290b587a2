// The positions of a score space, and the values of index expressions at them. PlotData.cpp and PlotUnfused.cpp
// evaluate with it.
#pragma once
#include "dialect/IR/Attn.h"
#include "tools/skewer/PlotData.h"

namespace skewer::driver {

class PlotSpace {
public:
  /// Creates the space at `head`, the index of the last leading axis; the other leading axes are at 0.
  PlotSpace(attn::ScoreSpace, const KernelPlan &signature, const Operands &, int64_t head);

  /// Returns the values of the leading axes, the query and the key position.
  subscript::Assignment at(int64_t query, int64_t key) const;
  /// Returns the drawn index of a leading axis.
  int64_t leadingAt(const std::string &axis) const;
  std::optional<int64_t> valueOf(const subscript::Expr &, const subscript::Assignment &) const;
  bool holds(const std::optional<subscript::Expr> &predicate, const subscript::Assignment &) const;
  bool mentionsPositions(const subscript::Expr &) const;
  /// Returns the dimensions of an operand that are read through an index expression of positions.
  std::vector<size_t> rowDimensions(const subscript::Einsum &, size_t operand) const;
  /// Returns the rows that are read from an operand, for pairs where the mask and the guard hold. Nothing if no
  /// dimension depends on positions.
  std::optional<SkewDiagram> skewOf(const attn::ResolvedEinsum &, size_t operand, const std::vector<int64_t> &shape,
                                    const std::string &name, const std::optional<subscript::Expr> &mask) const;
  SkewDiagram diagramOf(const std::string &title, const std::string &what, const subscript::Expr &row,
                        const std::optional<subscript::Expr> &guard, const std::optional<subscript::Expr> &mask) const;

  attn::ScoreSpace space;
  PlotAxis queries, keys;
  std::string origin; // "b = 0, h = 3"

private:
  /// Returns an element that an index expression reads at run time: from a kernel's argument, by name.
  std::optional<int64_t> read(const std::string &name, const std::vector<int64_t> &subscripts) const;
  const KernelPlan &signature;
  const Operands &operands;
  int64_t head;
};

/// Returns an error if the space has no such head. A head count known only at run time counts as 1, so that only head 0
/// exists.
llvm::Error checkHead(const attn::ScoreSpace &, int64_t head);

/// Returns the weights of a softmax, or the numbers of another tensor, at index `head` of the dimension before the last
/// two: at the positions of the two axes if given, else at evenly spaced ones.
llvm::Expected<HeatMap> heatMapOf(mlir::func::FuncOp, mlir::Value tensor, const Operands &, int64_t head,
                                  const std::string &title, const std::string &caption,
                                  const PlotAxis *vertical = nullptr, const PlotAxis *horizontal = nullptr);

} // namespace skewer::driver
