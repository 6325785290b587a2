// The judge's own reading of index expressions and einsum texts: nothing here is shared with the compiler. Plain C++.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace skewer::reference {

/// The values of a run-time index operand, row-major.
struct IndexSource {
  std::vector<int64_t> shape, values;
};
using IndexSources = std::map<std::string, std::shared_ptr<const IndexSource>>;

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
    Read, // value: a place in `elements`
    Table // operands[0]: the row; value: a place in `tables`
  };
  struct Node {
    Operation operation;
    int64_t value = 0; // Constant: the value; Axis: a place in `names`, after `bind` in the array given to `evaluate`
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
  /// Replaces places in `names` by places in `axes`. False if a name is not among them; `missing` is that name.
  bool bind(const std::vector<std::string> &axes, std::string &missing);
  /// Finds the operands that are read. False, with a reason, where there is none of that name and rank.
  bool bindReads(const IndexSources &, std::string &error);
  /// False on a divisor that is not positive, on overflow or on a read outside an operand. What a select, an `and` or
  /// an `or` does not need is not looked at.
  bool evaluate(const int64_t *axes, int64_t &result) const { return evaluate(root, axes, result); }
  /// constant + Σ coefficients[axis]·axis, of a bound expression. False if it is not of that form.
  bool linear(size_t axes, int64_t &constant, std::vector<int64_t> &coefficients) const {
    return linear(root, axes, constant, coefficients);
  }

private:
  bool evaluate(int node, const int64_t *axes, int64_t &result) const;
  bool linear(int node, size_t axes, int64_t &constant, std::vector<int64_t> &coefficients) const;
};

/// Reads an expression; false, with a reason, where the text is not one.
bool parseExpression(std::string_view text, Expression &, std::string &error);

/// A dimension of an operand: a row-major product of axes, or an index expression. The literal 1 is the constant 0.
struct SpecDimension {
  std::vector<std::string> axes;
  Expression index; // used where `axes` is empty
};
using SpecDimensions = std::vector<SpecDimension>;
struct Spec {
  std::vector<SpecDimensions> operands;
  SpecDimensions result;
  bool hasResult = false;
  /// All axes: those of the result first, then the others in order of appearance.
  std::vector<std::string> axes() const;
};
/// `compact`: "bhid,bhjd->bhij" is letters; a plain list of dimensions is never read so.
bool parseSpec(std::string_view text, Spec &, std::string &error, bool compact = true);

/// Finds the axes' sizes from the operands' shapes and what `sizes` already holds.
bool solveSizes(const Spec &, const std::vector<std::vector<int64_t>> &shapes, std::map<std::string, int64_t> &sizes,
                std::string &error);

} // namespace skewer::reference
