// Replaces products of axes by one axis, in attentions and in einsums.
#include "passes/Lengths/FlatPositions.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Fusion/Reindex.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// The axes that replace products, and the expressions for the old axes.
class Flattening {
public:
  explicit Flattening(AxisSizes sizes) : sizes(std::move(sizes)) {}

  /// Adds a product; returns false if one of its axes is part of another product, or of run-time size.
  bool flatten(const std::vector<std::string> &axes, const std::string &name) {
    int64_t inner = 1;
    for (const std::string &axis : llvm::reverse(axes)) {
      auto size = sizes.find(axis);
      if (size == sizes.end() || size->second == kRuntime || parts.count(axis))
        return false;
      inner *= size->second;
    }
    total[name] = inner;
    for (const std::string &axis : axes) {
      inner /= sizes.at(axis);
      Expr place = floorDiv(Expr::symbol(name), Expr(inner));
      parts[axis] = &axis == &axes.front() ? place : mod(place, Expr(sizes.at(axis)));
    }
    names[axes] = name;
    return true;
  }

  /// Returns the sizes of the axes after the replacement.
  AxisSizes after() const {
    AxisSizes all;
    for (const auto &[axis, size] : sizes)
      if (!parts.count(axis))
        all[axis] = size;
    all.insert(total.begin(), total.end());
    return all;
  }
  const Substitution &moved() const { return parts; }
  Expr moved(const Expr &e) const { return simplify(substitute(e, parts), domainOf(after())); }

  /// Renames whole products; returns false if a part of one is alone, or together with other axes.
  bool rename(Dimensions &dimensions) const {
    for (Dimension &dimension : dimensions) {
      if (auto found = names.find(dimension.axes); found != names.end())
        dimension = {{found->second}, Expr::symbol(found->second)};
      else if (llvm::any_of(dimension.axes, [&](const std::string &axis) { return parts.count(axis) != 0; }))
        return false;
    }
    return true;
  }
  /// Returns an operand's dimensions: whole products by their names, and dimensions with parts of products as
  /// expressions.
  Dimensions read(Dimensions dimensions, ArrayRef<Expr> subscripts) const {
    for (auto [dimension, subscript] : llvm::zip(dimensions, subscripts)) {
      bool touched = llvm::any_of(symbolsOf(subscript), [&](const std::string &s) { return parts.count(s) != 0; });
      if (!touched && dimension.axes.size() < 2)
        continue;
      auto found = names.find(dimension.axes);
      dimension = found != names.end() ? Dimension{{found->second}, Expr::symbol(found->second)}
                                       : Dimension{{}, moved(subscript)};
    }
    return dimensions;
  }

private:
  AxisSizes sizes, total;
  Substitution parts;
  std::map<std::vector<std::string>, std::string> names;
};

} // namespace

void skewer::flattenPositions(AttentionOp attention) {
  auto view = viewOf(attention);
  Reindexing change{view->space};
  Flattening flat(view->space.sizes);
  for (auto [axes, name] : {std::pair(&change.space.query, kQueryAxis), std::pair(&change.space.key, kKeyAxis)}) {
    if (axes->size() < 2)
      continue;
    if (!flat.flatten(*axes, name))
      return;
    for (const std::string &axis : *axes)
      change.names[axis] = axis == axes->front() ? std::vector{name} : std::vector<std::string>();
    change.merged[name] = std::exchange(*axes, {name});
  }
  Dimensions result = view->value ? view->value->spec.result.value_or(Dimensions()) : Dimensions();
  if (change.merged.empty() || !flat.rename(result))
    return;
  change.space.sizes = flat.after();
  change.moved = flat.moved();
  change.mask = flat.moved(view->mask.value_or(1));
  reindex(attention, change);
}

void skewer::flattenPositions(EinsumOp einsum) {
  ResolvedEinsum resolved = resolve(einsum);
  if (!resolved.spec.result)
    return;
  Flattening flat(resolved.sizes);
  bool any = false;
  std::set<std::string> kept;
  auto flattenAll = [&](const Dimensions &dimensions) {
    for (const Dimension &dimension : dimensions) {
      bool isKept = llvm::any_of(dimension.axes, [&](const std::string &axis) { return kept.count(axis) != 0; });
      if (dimension.axes.size() > 1)
        any |= isKept || flat.flatten(dimension.axes, dimension.axes.front());
    }
  };
  flattenAll(*resolved.spec.result);
  kept = axesOf(*resolved.spec.result); // an operand's product of these axes is read at their sum
  llvm::for_each(resolved.spec.operands, flattenAll);
  Einsum spec;
  spec.result = resolved.spec.result;
  if (!any || !flat.rename(*spec.result))
    return;
  for (auto [operand, subscripts] : llvm::zip(resolved.spec.operands, resolved.subscripts))
    spec.operands.push_back(flat.read(operand, subscripts));
  AxisSizes given = flat.after();
  for (auto size = given.begin(); size != given.end();)
    size = size->second == kRuntime ? given.erase(size) : std::next(size);
  einsum.setSpec(print(spec));
  if (einsum.getGuard())
    einsum.setGuard(print(flat.moved(*resolved.guard)));
  einsum.setSizesAttr(sizesTo(einsum.getContext(), given));
}

void skewer::flattenPositions(RearrangeOp rearrange) {
  OpBuilder builder(rearrange);
  auto resolved = resolve(rearrange.getSpec(), rearrange->getOperands(), rearrange.getSizesAttr(), {});
  bool hasProduct = resolved && llvm::any_of(resolved->spec.operands[0], [](const Dimension &dimension) {
    return dimension.axes.size() > 1;
  });
  if (resolved && resolved->spec.result)
    hasProduct |= llvm::any_of(*resolved->spec.result, [](const Dimension &d) { return d.axes.size() > 1; });
  if (!hasProduct)
    return;
  auto einsum = EinsumOp::create(builder, rearrange.getLoc(), rearrange.getResult().getType(),
                                 rearrange.getSpecAttr(), rearrange.getSizesAttr(), StringAttr(),
                                 rearrange->getOperand(0));
  rearrange.getResult().replaceAllUsesWith(einsum.getResult());
  rearrange.erase();
  flattenPositions(einsum);
}
