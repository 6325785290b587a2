// The places of a score, and what index expressions give there.
#pragma once
#include "dialect/IR/Attn.h"
#include "tools/skewer/PlotData.h"

namespace skewer::driver {

class PlotSpace {
public:
  /// `head`: of the last leading axis; the others are at 0.
  PlotSpace(attn::ScoreSpace, const KernelPlan &signature, const Operands &, int64_t head);

  /// Leading axes, a query and a key position.
  subscript::Assignment at(int64_t query, int64_t key) const;
  /// The index of a leading axis that is drawn.
  int64_t leadingAt(const std::string &axis) const;
  std::optional<int64_t> valueOf(const subscript::Expr &, const subscript::Assignment &) const;
  bool holds(const std::optional<subscript::Expr> &predicate, const subscript::Assignment &) const;
  bool mentionsPositions(const subscript::Expr &) const;
  /// Dimensions of an operand that are read through an index expression of positions.
  std::vector<size_t> rowDimensions(const subscript::Einsum &, size_t operand) const;
  /// The rows that an operand is read at, where the mask and the guard hold; nothing where no dimension is of
  /// positions.
  std::optional<SkewDiagram> skewOf(const attn::ResolvedEinsum &, size_t operand, const std::vector<int64_t> &shape,
                                    const std::string &name, const std::optional<subscript::Expr> &mask) const;
  SkewDiagram diagramOf(const std::string &title, const std::string &what, const subscript::Expr &row,
                        const std::optional<subscript::Expr> &guard, const std::optional<subscript::Expr> &mask) const;

  attn::ScoreSpace space;
  PlotAxis queries, keys;
  std::string origin; // "b = 0, h = 3"

private:
  /// What an index expression reads at run time: a kernel's argument, by name.
  std::optional<int64_t> read(const std::string &name, const std::vector<int64_t> &subscripts) const;
  const KernelPlan &signature;
  const Operands &operands;
  int64_t head;
};

/// An error where the space has no such head: sizes known at run time only have one, 0.
llvm::Error checkHead(const attn::ScoreSpace &, int64_t head);

/// A softmax's weights, or another tensor's numbers, at `head` of the dimension before the last two; at the positions
/// of two axes, or at even distances.
llvm::Expected<HeatMap> heatMapOf(mlir::func::FuncOp, mlir::Value tensor, const Operands &, int64_t head,
                                  const std::string &title, const std::string &caption,
                                  const PlotAxis *vertical = nullptr, const PlotAxis *horizontal = nullptr);

} // namespace skewer::driver
