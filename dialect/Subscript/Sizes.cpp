// The sizes of an einsum's axes, and the index of each dimension.
#include "dialect/Subscript/Arithmetic.h"
#include "dialect/Subscript/Einsum.h"

namespace skewer::subscript {

namespace {
class SizeSolver {
public:
  SizeSolver(const Einsum &spec, const AxisSizes &given) : sizes(given), spec(spec) {}

  Parsed<AxisSizes> run(const std::vector<std::vector<int64_t>> &shapes) {
    return solve(shapes) ? Parsed<AxisSizes>(std::move(sizes)) : error;
  }

private:
  bool solve(const std::vector<std::vector<int64_t>> &shapes) {
    if (shapes.size() != spec.operands.size())
      return fail(0, "the einsum has " + std::to_string(spec.operands.size()) + " operands, got " +
                         std::to_string(shapes.size()));
    for (size_t k = 0; k < shapes.size(); ++k)
      if (shapes[k].size() != spec.operands[k].size())
        return fail(spec.operands[k].empty() ? 0 : spec.operands[k][0].begin,
                    "operand " + std::to_string(k + 1) + " has " + std::to_string(shapes[k].size()) +
                        " dimensions, the einsum gives it " + std::to_string(spec.operands[k].size()));
    // Lone axes first, then products, repeated while a division finds a new axis. Run-time dimensions go last, because
    // a known size says more than a run-time one.
    for (bool runtime : {false, true})
      for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < shapes.size(); ++k)
          for (size_t d = 0; d < shapes[k].size(); ++d)
            if ((shapes[k][d] == kRuntime) == runtime && !learn(spec.operands[k][d], shapes[k][d], changed))
              return false;
      }
    return complete();
  }
  bool fail(size_t position, std::string message) {
    error = {position, std::move(message)};
    return false;
  }

  bool learn(const Dimension &dimension, int64_t size, bool &changed) {
    if (!dimension.isProduct()) {
      if (dimension.index.isConstant(0) && size != kRuntime && size < 1)
        return fail(dimension.begin, "a dimension of size " + std::to_string(size) + " cannot be read at 0");
      return true; // other code proves over the axes' domain what an index expression may read
    }
    const std::string *unknown = nullptr;
    int64_t product = 1;
    bool runtimeFactor = false;
    for (const std::string &axis : dimension.axes) {
      auto found = sizes.find(axis);
      if (found == sizes.end()) {
        if (unknown)
          return true; // another operand may give the size
        unknown = &axis;
      } else if (found->second == kRuntime) {
        runtimeFactor = true;
      } else if (auto next = checkedMultiply(product, found->second)) {
        product = *next;
      } else {
        return fail(dimension.begin, "the size of this product does not fit 64 bits");
      }
    }
    if (unknown) {
      if (size == kRuntime || runtimeFactor) {
        sizes[*unknown] = kRuntime;
      } else if (product <= 0 || size % product) {
        return fail(dimension.begin, "a dimension of size " + std::to_string(size) + " is not a multiple of " +
                                         std::to_string(product) + ", the size of the other axes");
      } else {
        sizes[*unknown] = size / product;
      }
      changed = true;
      return true;
    }
    if (size == kRuntime)
      return true;
    if (runtimeFactor) {
      // A dimension known at compile time sets an axis that another operand left to run time.
      if (dimension.isAxis()) {
        sizes[dimension.axes[0]] = size;
        changed = true;
      }
      return true;
    }
    if (product == size)
      return true;
    if (dimension.isAxis())
      return fail(dimension.begin, "axis '" + dimension.axes[0] + "' has size " + std::to_string(product) +
                                       " elsewhere, but " + std::to_string(size) + " here");
    return fail(dimension.begin, "the axes of this product make " + std::to_string(product) +
                                     ", but the dimension has size " + std::to_string(size));
  }

  bool complete() {
    for (const std::string &axis : spec.axes())
      if (!sizes.count(axis))
        return fail(positionOf(axis),
                    "axis '" + axis + "' has no size; no operand has it alone, so give it: " + axis + " = …");
    return true;
  }

  size_t positionOf(const std::string &axis) const {
    auto within = [&](const Dimensions &list) -> const Dimension * {
      for (const Dimension &dimension : list) {
        for (const std::string &name : dimension.axes)
          if (name == axis)
            return &dimension;
        if (dimension.axes.empty() && symbolsOf(dimension.index).count(axis))
          return &dimension;
      }
      return nullptr;
    };
    for (const Dimensions &operand : spec.operands)
      if (const Dimension *d = within(operand))
        return d->begin;
    if (spec.result)
      if (const Dimension *d = within(*spec.result))
        return d->begin;
    return 0;
  }

  AxisSizes sizes;
  const Einsum &spec;
  ParseError error;
};
} // namespace

Parsed<AxisSizes> resolveSizes(const Einsum &spec, const std::vector<std::vector<int64_t>> &shapes,
                               const AxisSizes &given) {
  return SizeSolver(spec, given).run(shapes);
}

Expr flatIndex(const Dimension &dimension, const AxisSizes &sizes) {
  if (!dimension.isProduct())
    return dimension.index;
  Expr flat = Expr::symbol(dimension.axes[0]);
  for (size_t k = 1; k < dimension.axes.size(); ++k) {
    const std::string &axis = dimension.axes[k];
    auto size = sizes.find(axis);
    Expr stride = size == sizes.end() || size->second == kRuntime ? Expr::symbol("size_" + axis) : Expr(size->second);
    flat = flat * stride + Expr::symbol(axis);
  }
  return flat;
}

Domain domainOf(const AxisSizes &sizes) {
  Domain domain;
  for (const auto &[axis, size] : sizes)
    if (size != kRuntime)
      domain[axis] = {0, size - 1};
  return domain;
}

} // namespace skewer::subscript
