// Types functions along axes: sums, extrema, softmax. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Reductions : public TyperPart {
public:
  using TyperPart::TyperPart;

  struct AlongAxes {
    Value operand;
    std::vector<std::optional<size_t>> naming; // for each dimension: its naming that has some of the axes
    std::vector<bool> whole;                   // dimensions chosen by their place
    std::set<std::string> names;               // axes chosen by name
  };
  struct WithoutAxes {
    subscript::Einsum spec;
    subscript::AxisSizes given, all;
    Dimensions kept;
    double count = 1; // the number of elements along the axes whose sizes are known
    bool isStatic = true;
  };
  WithoutAxes withoutAxes(const AlongAxes &);
  Value sumAlong(const Node &, const AlongAxes &, WithoutAxes, const Value &tensor);
  Value typeSum(const Node &);
  Value typeMean(const Node &);
  Value typeExtremum(const Node &);
  Value typeCumulativeSum(const Node &);
  void warnOfExtremum(const Node &, const Value &left, const Value &right);
  Value typeSoftmax(const Node &);
  Value typeLogSumExp(const Node &);

private:
  std::optional<AlongAxes> alongAxes(const Node &, llvm::StringRef usage, llvm::StringRef done);
  struct Rows {
    Value tensor;
    size_t axis = 0; // the dimension that the rows run along; the last one of `tensor`
    std::vector<Naming> names;
    std::optional<subscript::Expr> mask;
  };
  std::optional<Rows> rowsOf(const Node &, llvm::StringRef function);
  std::optional<size_t> rowAxis(const Node &, llvm::StringRef function, const Value &);
};

} // namespace skewer::language
