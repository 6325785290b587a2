// Implements Reading: computes the operands' indices from a result's index.
#include "codegen/Reference/EinsumNode.h"
#include <algorithm>

namespace skewer::reference {

size_t Reading::placeOf(const std::string &axis) const {
  return static_cast<size_t>(std::find(names.begin(), names.end(), axis) - names.begin());
}

OrError<Subscript> Reading::subscriptOf(const SpecDimension &dimension, const IndexSources &sources) const {
  Subscript subscript;
  subscript.coefficients.assign(names.size(), 0);
  if (!dimension.axes.empty()) {
    int64_t stride = 1;
    for (size_t k = dimension.axes.size(); k-- > 0;) {
      size_t place = placeOf(dimension.axes[k]);
      subscript.coefficients[place] += stride;
      stride *= sizes[place];
    }
  } else {
    subscript.mayLeave = true;
    subscript.program = dimension.index;
    if (auto error = subscript.program.bind(names))
      return *error;
    if (auto error = subscript.program.bindReads(sources))
      return *error;
    subscript.isLinear = subscript.program.linear(names.size(), subscript.constant, subscript.coefficients);
    if (!subscript.isLinear)
      subscript.coefficients.assign(names.size(), 0);
  }
  for (size_t k = 0; subscript.isLinear && k < names.size(); ++k)
    if (subscript.coefficients[k] != 0)
      subscript.terms.emplace_back(k, subscript.coefficients[k]);
  return subscript;
}

OrError<Reading> Reading::of(const Spec &spec, const AxisSizes &known, const std::string &guardText,
                             const IndexSources &sources) {
  Reading reading;
  reading.names = spec.axes();
  for (const std::string &name : reading.names)
    reading.sizes.push_back(known.at(name));
  for (const SpecDimension &dimension : spec.result) {
    std::vector<size_t> places;
    for (const std::string &axis : dimension.axes)
      places.push_back(reading.placeOf(axis));
    if (dimension.axes.empty() && !dimension.index.names.empty())
      return Error{"the result of an einsum has an index expression"};
    for (size_t p : places)
      reading.kept = std::max(reading.kept, p + 1);
    reading.result.push_back(std::move(places));
  }
  for (const SpecDimensions &dimensions : spec.operands) {
    std::vector<Subscript> &subscripts = reading.operands.emplace_back();
    for (const SpecDimension &dimension : dimensions) {
      auto subscript = reading.subscriptOf(dimension, sources);
      if (!subscript)
        return Error{subscript.reason};
      subscripts.push_back(std::move(*subscript));
    }
  }
  if (guardText.empty())
    return reading;
  auto guard = parseExpression(guardText);
  if (!guard)
    return Error{guard.reason};
  if (auto error = guard->bind(reading.names))
    return *error;
  if (auto error = guard->bindReads(sources))
    return *error;
  reading.guard = std::move(*guard);
  return reading;
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
