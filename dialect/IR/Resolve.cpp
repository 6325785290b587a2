// Resolves the texts of operations: from text to subscripts with sizes.
#include "dialect/IR/Term.h"
#include "mlir/IR/Builders.h"
#include <algorithm>

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

AxisSizes skewer::attn::sizesFrom(DictionaryAttr attribute) {
  AxisSizes sizes;
  if (attribute)
    for (NamedAttribute entry : attribute)
      if (auto size = dyn_cast<IntegerAttr>(entry.getValue()))
        if (size.getType().isSignlessInteger(64) || size.getType().isIndex())
          sizes[entry.getName().str()] = size.getInt();
  return sizes;
}

DictionaryAttr skewer::attn::sizesTo(MLIRContext *context, const AxisSizes &sizes) {
  if (sizes.empty())
    return {};
  Builder builder(context);
  SmallVector<NamedAttribute> entries;
  for (const auto &[axis, size] : sizes)
    entries.push_back(builder.getNamedAttr(axis, builder.getI64IntegerAttr(size)));
  return builder.getDictionaryAttr(entries);
}

std::vector<int64_t> skewer::attn::shapeOf(Type type) {
  std::vector<int64_t> shape;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (int64_t size : tensor.getShape())
      shape.push_back(ShapedType::isDynamic(size) ? kRuntime : size);
  return shape;
}
std::vector<int64_t> skewer::attn::shapeOf(Value value) { return shapeOf(value.getType()); }

std::optional<ResolvedEinsum> skewer::attn::resolve(StringRef text, ValueRange operands, DictionaryAttr sizes,
                                                    std::optional<StringRef> guard,
                                                    const IndexOperands &indices) {
  ResolvedEinsum resolved;
  auto spec = parseEinsum(std::string_view(text));
  if (!spec)
    return std::nullopt;
  std::vector<std::vector<int64_t>> shapes;
  for (Value operand : operands)
    shapes.push_back(shapeOf(operand));
  AxisSizes given = sizesFrom(sizes);
  addSizesOfReads(*spec, indices, given);
  auto all = resolveSizes(*spec, shapes, given);
  if (!all)
    return std::nullopt;
  resolved.sizes = std::move(*all);
  for (const Dimensions &dimensions : spec->operands) {
    std::vector<Expr> subscripts;
    for (const Dimension &dimension : dimensions)
      subscripts.push_back(flatIndex(dimension, resolved.sizes));
    resolved.subscripts.push_back(std::move(subscripts));
  }
  resolved.contracted = spec->contracted();
  if (guard) {
    auto predicate = parse(std::string_view(*guard));
    if (!predicate)
      return std::nullopt;
    resolved.guard = *predicate;
  }
  resolved.spec = std::move(*spec);
  return resolved;
}

ResolvedEinsum skewer::attn::resolve(EinsumOp op) {
  auto resolved = resolve(op.getSpec(), op.getInputs(), op.getSizesAttr(), op.getGuard(), indicesOf(op));
  return resolved ? std::move(*resolved) : ResolvedEinsum();
}

std::optional<RowReduction> skewer::attn::rowReductionOf(Operation *op) {
  auto describe = [](auto o) {
    return RowReduction{o.getAxes(), o.getOver(), o.getMask(), o.getSizesAttr(), o.getInput()};
  };
  if (auto softmax = dyn_cast<SoftmaxOp>(op))
    return describe(softmax);
  if (auto logSumExp = dyn_cast<LogSumExpOp>(op))
    return describe(logSumExp);
  return std::nullopt;
}

// Returns 0 if a size is not known at compile time; the verifier of attentions refuses that.
static int64_t productOf(const std::vector<std::string> &axes, const AxisSizes &sizes) {
  int64_t product = 1;
  for (const std::string &axis : axes) {
    auto size = sizes.find(axis);
    if (size == sizes.end() || size->second <= 0 || __builtin_mul_overflow(product, size->second, &product))
      return 0;
  }
  return product;
}
int64_t ScoreSpace::queries() const { return productOf(query, sizes); }
int64_t ScoreSpace::keys() const { return productOf(key, sizes); }

ScoreSpace skewer::attn::scoreSpace(AttentionOp op) {
  ScoreSpace space;
  auto dimensions = parseDimensions(std::string_view(op.getSpace()));
  auto spec = parseEinsum(std::string_view(op.getValueSpec()));
  if (!dimensions || dimensions->size() < 2 || !spec || spec->operands.size() != 1 || !spec->result)
    return space;
  // The result's type gives the sizes of the query axes; the values' type gives the sizes of the key axes.
  Einsum both;
  both.operands = {spec->operands[0], *spec->result};
  auto sizes = resolveSizes(both, {shapeOf(op.getValue()), shapeOf(op.getResult())}, sizesFrom(op.getSizesAttr()));
  if (!sizes)
    return space;
  space.sizes = std::move(*sizes);
  addRanges(space.elements, kernelIndices(op));
  size_t rank = dimensions->size();
  for (size_t d = 0; d < rank; ++d) {
    auto &group = d + 2 < rank ? space.leading : d + 2 == rank ? space.query : space.key;
    group.insert(group.end(), (*dimensions)[d].axes.begin(), (*dimensions)[d].axes.end());
  }
  auto known = [&](const std::string &axis) {
    for (const auto *group : {&space.leading, &space.query, &space.key})
      for (const std::string &other : *group)
        if (other == axis)
          return true;
    return false;
  };
  for (const std::string &axis : spec->axes())
    if (!known(axis))
      space.value.push_back(axis);
  return space;
}

ResolvedEinsum skewer::attn::resolve(TermOp op) {
  auto attention = dyn_cast_or_null<AttentionOp>(op->getParentOp());
  return attention ? resolve(op, scoreSpace(attention)) : ResolvedEinsum();
}

ResolvedEinsum skewer::attn::resolve(TermOp op, const ScoreSpace &space) {
  AxisSizes known = sizesFrom(op.getSizesAttr());
  std::set<std::string> axes;
  SmallVector<const std::vector<std::string> *> groups = {&space.leading, &space.query, &space.key};
  if (op.isValueSide())
    groups.push_back(&space.value);
  for (const auto *group : groups)
    for (const std::string &axis : *group) {
      axes.insert(axis);
      auto size = space.sizes.find(axis);
      if (size != space.sizes.end())
        known[axis] = size->second;
    }
  auto resolved = resolve(op.getSubscripts(), op.getInputs(), sizesTo(op.getContext(), known), op.getGuard());
  if (!resolved)
    return {};
  // Without an arrow, all axes except those of the score, or of the values, are contracted.
  resolved->contracted.clear();
  for (const std::string &axis : resolved->spec.axes())
    if (!axes.count(axis))
      resolved->contracted.push_back(axis);
  return std::move(*resolved);
}
