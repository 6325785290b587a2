// Which dimensions of a score the query's position is made of, by how score and mask read them.
#pragma once
#include "passes/Fusion/ValueSide.h"

namespace skewer {

/// Rows of queries that a head must have so that the others of its group need not be computed with it.
constexpr int64_t kRowsOfHead = 16;

/// Where values do not tell heads from queries, what is added to the score and the mask do.
class QueryDimensions {
public:
  /// `named`: the score's dimensions as its softmax names them.
  QueryDimensions(const WeightSource &, const WeightUses &, const subscript::Dimensions &named,
                  const std::vector<int64_t> &shape, size_t keyDimension);

  /// Whether an index expression or a comparison holds the dimension against the key: `j - i`, `14*jy + jx <= 14*iy +
  /// ix` for both iy and ix. In `j - i <= 8*h` h only says how far.
  bool isPosition(size_t dimension) const { return positions.count(dimension) > 0; }
  /// Whether an operand that is read by the key has a part for each index of the dimension, and no row for each query
  /// of the dimension `last`: keys of each head, `table[h, j - i]`.
  bool hasTables(size_t dimension, size_t last) const;

private:
  struct Sum;
  void addOperand(const std::vector<subscript::Expr> &subscripts);
  void addProduct(attn::EinsumOp, mlir::Value weights);
  void visit(const subscript::Expr &);
  void compare(const std::vector<std::pair<subscript::Expr, int64_t>> &parts);
  void add(Sum &, const subscript::Expr &, int64_t factor);
  void close(const Sum &);
  /// The score's dimensions, less that of the keys, whose index the expression depends on otherwise than by what it
  /// reads at run time.
  std::set<size_t> dimensionsIn(const subscript::Expr &) const;
  bool namesKey(const subscript::Expr &) const;
  subscript::Substitution axesOf(const subscript::Dimensions &, const subscript::AxisSizes &) const;

  subscript::Domain domain;
  std::vector<int64_t> shape;
  size_t keyDimension;
  std::set<size_t> positions;
  struct KeyOperand {
    std::set<size_t> all, apart; // dimensions it is read by; those in subscripts without the key
  };
  std::vector<KeyOperand> keyOperands;
};

} // namespace skewer
