// Implements Reading: computes the operands' indices from a result's index.
#include "codegen/Reference/EinsumNode.h"
#include <algorithm>

namespace skewer::reference {

bool Reading::build(const Spec &spec, const std::map<std::string, int64_t> &known, const std::string &guardText,
                    const IndexSources &sources, std::string &error) {
  names = spec.axes();
  for (const std::string &name : names)
    sizes.push_back(known.at(name));
  auto place = [&](const std::string &name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  for (const SpecDimension &dimension : spec.result) {
    std::vector<size_t> places;
    for (const std::string &axis : dimension.axes)
      places.push_back(place(axis));
    if (dimension.axes.empty() && !dimension.index.names.empty()) {
      error = "the result of an einsum has an index expression";
      return false;
    }
    for (size_t p : places)
      kept = std::max(kept, p + 1);
    result.push_back(std::move(places));
  }
  std::string missing;
  for (const SpecDimensions &dimensions : spec.operands) {
    std::vector<Subscript> subscripts;
    for (const SpecDimension &dimension : dimensions) {
      Subscript subscript;
      subscript.coefficients.assign(names.size(), 0);
      if (!dimension.axes.empty()) {
        int64_t stride = 1;
        for (size_t k = dimension.axes.size(); k-- > 0;) {
          subscript.coefficients[place(dimension.axes[k])] += stride;
          stride *= known.at(dimension.axes[k]);
        }
      } else {
        subscript.mayLeave = true;
        subscript.program = dimension.index;
        if (!subscript.program.bind(names, missing)) {
          error = "'" + missing + "' is no axis";
          return false;
        }
        if (!subscript.program.bindReads(sources, error))
          return false;
        subscript.isLinear = subscript.program.linear(names.size(), subscript.constant, subscript.coefficients);
        if (!subscript.isLinear)
          subscript.coefficients.assign(names.size(), 0);
      }
      for (size_t k = 0; subscript.isLinear && k < names.size(); ++k)
        if (subscript.coefficients[k] != 0)
          subscript.terms.emplace_back(k, subscript.coefficients[k]);
      subscripts.push_back(std::move(subscript));
    }
    operands.push_back(std::move(subscripts));
  }
  if (!guardText.empty()) {
    if (!parseExpression(guardText, guard, error))
      return false;
    if (!guard.bind(names, missing)) {
      error = "'" + missing + "' is no axis";
      return false;
    }
    if (!guard.bindReads(sources, error))
      return false;
  }
  return true;
}

void Reading::axesOf(const int64_t *resultIndex, int64_t *axes) const {
  for (size_t d = 0; d < result.size(); ++d) {
    int64_t rest = resultIndex[d];
    const std::vector<size_t> &places = result[d];
    for (size_t k = places.size(); k-- > 1;) {
      axes[places[k]] = rest % sizes[places[k]];
      rest /= sizes[places[k]];
    }
    if (!places.empty())
      axes[places[0]] = rest;
  }
}

bool Reading::indexOf(size_t operand, const int64_t *axes, int64_t *index) const {
  const std::vector<Subscript> &subscripts = operands[operand];
  for (size_t d = 0; d < subscripts.size(); ++d)
    if (!subscripts[d].evaluate(axes, index[d]))
      return false;
  return true;
}

std::vector<int64_t> Reading::resultShape() const {
  std::vector<int64_t> shape;
  for (const std::vector<size_t> &places : result) {
    shape.push_back(1);
    for (size_t p : places)
      shape.back() *= sizes[p];
  }
  return shape;
}

std::string Reading::printAxes(const int64_t *axes) const {
  std::string text;
  for (size_t k = 0; k < names.size(); ++k)
    text += (k ? ", " : "") + names[k] + " = " + std::to_string(axes[k]);
  return text;
}

} // namespace skewer::reference
