// Finds the dimensions of a score that make up the query's position, from how score and mask read them.
// attn-form-attention uses it if the values do not separate heads from queries.
#pragma once
#include "passes/Fusion/ValueSide.h"

namespace skewer {

/// If a head has at least so many rows of queries, it need not be computed together with the other heads of its group.
constexpr int64_t kRowsOfHead = 16;

/// Separates query dimensions from head dimensions by the score's bias terms and the mask, for values that all heads
/// share.
class QueryDimensions {
public:
  /// `named` are the score's dimensions with the names that its softmax gives them.
  QueryDimensions(const WeightSource &, const WeightUses &, const subscript::Dimensions &named,
                  const std::vector<int64_t> &shape, size_t keyDimension);

  /// Returns whether an index expression or a comparison relates the dimension to the key: `j - i`, and
  /// `14*jy + jx <= 14*iy + ix` for both iy and ix. In `j - i <= 8*h` h is only a bound, and no position.
  bool isPosition(size_t dimension) const { return positions.count(dimension) > 0; }
  /// Returns whether an operand that the key indexes has a part for each index of the dimension, but no row for each
  /// query of the dimension `last`: keys of each head, `table[h, j - i]`.
  bool hasTables(size_t dimension, size_t last) const;
  /// Returns whether each operand that the key indexes, the values too, is the same for every `count` neighbouring
  /// indices of the dimension: `k[h floordiv 4]` for a count of 4.
  bool isSharedBy(size_t dimension, int64_t count) const;

private:
  struct Sum;
  void addOperand(const std::vector<subscript::Expr> &subscripts);
  void addProduct(attn::EinsumOp, mlir::Value weights);
  void visit(const subscript::Expr &);
  void compare(const std::vector<std::pair<subscript::Expr, int64_t>> &parts);
  void add(Sum &, const subscript::Expr &, int64_t factor);
  void close(const Sum &);
  /// Returns the score's dimensions, without the key dimension, whose index the expression depends on outside of
  /// run-time reads.
  std::set<size_t> dimensionsIn(const subscript::Expr &) const;
  bool namesKey(const subscript::Expr &) const;
  subscript::Substitution axesOf(const subscript::Dimensions &, const subscript::AxisSizes &) const;

  subscript::Domain domain;
  std::vector<int64_t> shape;
  size_t keyDimension;
  std::set<size_t> positions;
  struct KeyOperand {
    std::set<size_t> all, apart; // dimensions in its subscripts; in those without the key
    std::vector<subscript::Expr> subscripts;
  };
  std::vector<KeyOperand> keyOperands;
};

} // namespace skewer
