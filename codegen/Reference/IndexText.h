// The reference's own parser of index expressions and einsum texts. It shares nothing with the compiler, so that a
// mistake in the compiler's parser does not hide itself. It uses neither MLIR nor LLVM.
#pragma once
#include "codegen/Reference/OrError.h"
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace skewer::reference {

/// The values of a run-time index operand, row-major.
struct IndexSource {
  std::vector<int64_t> shape, values;
};
using IndexSources = std::map<std::string, std::shared_ptr<const IndexSource>>;
using AxisSizes = std::map<std::string, int64_t>;

/// An integer function of axes and of index operands, as a pool of nodes.
struct Expression {
  enum class Operation {
    Constant,
    Axis,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Minimum,
    Maximum,
    Absolute,
    Less,
    LessEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Not,
    Select,
    Read, // `value` is an index in `elements`
    Table // operands[0]: the row; value: an index in `tables`
  };
  struct Node {
    Operation operation;
    // Constant: the value. Axis: an index in `names`; after `bind`, an index in the array given to `evaluate`.
    int64_t value = 0;
    int operands[3] = {-1, -1, -1};
  };
  struct Element { // seg[b, i]
    std::string name;
    std::vector<int> subscripts;
    std::shared_ptr<const IndexSource> source; // after `bindReads`
  };
  std::vector<Node> nodes;
  std::vector<Element> elements;
  std::vector<std::vector<int64_t>> tables;
  std::vector<std::string> names;
  int root = -1;

  bool empty() const { return root < 0; }
  /// Replaces indices in `names` by indices in `axes`. Returns an error if a name is not among them.
  std::optional<Error> bind(const std::vector<std::string> &axes);
  /// Finds the operands that are read. Returns an error if there is no operand of that name and rank.
  std::optional<Error> bindReads(const IndexSources &);
  /// Returns false on a divisor that is not positive, on overflow or on a read outside an operand. Parts that a select,
  /// an `and` or an `or` does not need are not evaluated.
  bool evaluate(const int64_t *axes, int64_t &result) const { return evaluate(root, axes, result); }
  /// Reads a bound expression as constant + Σ coefficients[axis]·axis. Returns false if it is not of that form.
  bool linear(size_t axes, int64_t &constant, std::vector<int64_t> &coefficients) const {
    return linear(root, axes, constant, coefficients);
  }

private:
  bool evaluate(int node, const int64_t *axes, int64_t &result) const;
  bool linear(int node, size_t axes, int64_t &constant, std::vector<int64_t> &coefficients) const;
};

OrError<Expression> parseExpression(std::string_view text);

/// A dimension of an operand: a row-major product of axes, or an index expression. The literal 1 is the constant 0.
struct SpecDimension {
  std::vector<std::string> axes;
  Expression index; // used if `axes` is empty
};
using SpecDimensions = std::vector<SpecDimension>;
struct Spec {
  std::vector<SpecDimensions> operands;
  SpecDimensions result;
  bool hasResult = false;
  /// Returns all axes: first the result's, then the others in order of appearance.
  std::vector<std::string> axes() const;
};
/// Parses a spec. `compact`: reads "bhid,bhjd->bhij" as single letters; a plain list of dimensions is never read like
/// this.
OrError<Spec> parseSpec(std::string_view text, bool compact = true);

/// Returns the axes' sizes: those in `known`, and those that the operands' shapes give.
OrError<AxisSizes> solveSizes(const Spec &, const std::vector<std::vector<int64_t>> &shapes, AxisSizes known);

} // namespace skewer::reference
