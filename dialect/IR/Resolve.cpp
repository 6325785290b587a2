// From the text that operations carry to subscripts with sizes.
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

AxisSizes skewer::attn::sizesFrom(DictionaryAttr attribute) {
  AxisSizes sizes;
  if (attribute)
    for (NamedAttribute entry : attribute)
      if (auto size = dyn_cast<IntegerAttr>(entry.getValue()))
        sizes[entry.getName().str()] = size.getInt();
  return sizes;
}

DictionaryAttr skewer::attn::sizesTo(MLIRContext *context, const AxisSizes &sizes) {
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
                                                    std::optional<StringRef> guard, ParseError *error) {
  ParseError ignored;
  ParseError &why = error ? *error : ignored;
  ResolvedEinsum resolved;
  auto spec = parseEinsum(std::string_view(text), &why);
  if (!spec)
    return std::nullopt;
  std::vector<std::vector<int64_t>> shapes;
  for (Value operand : operands)
    shapes.push_back(shapeOf(operand));
  auto all = resolveSizes(*spec, shapes, sizesFrom(sizes), &why);
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
    auto predicate = parse(std::string_view(*guard), &why);
    if (!predicate)
      return std::nullopt;
    resolved.guard = *predicate;
  }
  resolved.spec = std::move(*spec);
  return resolved;
}

ResolvedEinsum skewer::attn::resolve(EinsumOp op) {
  auto resolved = resolve(op.getSpec(), op.getInputs(), op.getSizesAttr(), op.getGuard());
  return resolved ? std::move(*resolved) : ResolvedEinsum();
}

int64_t ScoreSpace::queries() const {
  int64_t product = 1;
  for (const std::string &axis : query)
    product *= sizes.at(axis);
  return product;
}
int64_t ScoreSpace::keys() const {
  int64_t product = 1;
  for (const std::string &axis : key)
    product *= sizes.at(axis);
  return product;
}

ScoreSpace skewer::attn::scoreSpace(AttentionOp op) {
  ScoreSpace space;
  auto dimensions = parseDimensions(std::string_view(op.getSpace()));
  auto value = resolve(op.getValueSpec(), op.getValue(), op.getSizesAttr(), std::nullopt);
  if (!dimensions || dimensions->size() < 2 || !value)
    return space;
  space.sizes = value->sizes;
  for (const auto &[axis, size] : sizesFrom(op.getSizesAttr()))
    space.sizes[axis] = size;
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
  for (const std::string &axis : value->spec.axes())
    if (!known(axis))
      space.value.push_back(axis);
  return space;
}

ResolvedEinsum skewer::attn::resolve(TermOp op) {
  auto attention = cast<AttentionOp>(op->getParentOp());
  ScoreSpace space = scoreSpace(attention);
  AxisSizes given;
  for (const auto *group : {&space.leading, &space.query, &space.key})
    for (const std::string &axis : *group)
      if (space.sizes.at(axis) != kRuntime)
        given[axis] = space.sizes.at(axis);
  auto resolved =
      resolve(op.getSubscripts(), op.getInputs(), sizesTo(op.getContext(), given), op.getGuard());
  if (!resolved)
    return {};
  // Without an arrow everything but the score's axes is contracted.
  std::vector<std::string> contracted;
  for (const std::string &axis : resolved->spec.axes())
    if (!given.count(axis) && std::find(space.leading.begin(), space.leading.end(), axis) == space.leading.end())
      contracted.push_back(axis);
  resolved->contracted = std::move(contracted);
  return std::move(*resolved);
}
