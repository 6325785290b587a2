// Replaces products of axes by one axis, in attentions and in einsums.
#include "passes/Lengths/FlatPositions.h"
#include "dialect/IR/Term.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Analysis/AxisProducts.h"

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
  Expr moved(const Expr &e) const { return simplify(substitute(e, parts), domainOf(after())); }
  std::string moved(StringRef text) const {
    auto parsed = parse(std::string_view(text));
    return parsed ? print(moved(*parsed)) : text.str();
  }

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
  /// Returns an operand's dimensions: a whole product by its name, and a dimension with a part of one as an expression.
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

  /// If an operand has the axes of a product as separate dimensions, returns a view with one dimension for each
  /// product.
  Value joined(OpBuilder &builder, Value operand, Dimensions &dimensions, SmallVector<Expr> &subscripts) const {
    SmallVector<int64_t> shape;
    Dimensions before = dimensions, after, read;
    SmallVector<Expr> left;
    auto type = cast<RankedTensorType>(operand.getType());
    for (size_t d = 0; d < before.size(); ++d) {
      size_t count = 0;
      std::string name;
      for (const auto &[axes, whole] : names)
        if (isWhole(ArrayRef(before).drop_front(d), type.getShape().drop_front(d), axes))
          count = axes.size(), name = whole;
      if (!count) {
        std::string own = "d" + std::to_string(d);
        read.push_back({{own}, Expr::symbol(own)});
        after.push_back(before[d]);
        left.push_back(subscripts[d]);
        shape.push_back(type.getDimSize(d));
        continue;
      }
      for (size_t k = 0; k < count; ++k)
        read.push_back({{}, parts.at(before[d + k].axes[0])});
      Dimension whole;
      for (size_t k = 0; k < count; ++k)
        whole.axes.push_back(before[d + k].axes[0]);
      after.push_back(whole);
      left.push_back(Expr::symbol(whole.axes[0]));
      shape.push_back(total.at(name));
      d += count - 1;
    }
    if (after.size() == before.size())
      return operand;
    Einsum spec;
    spec.operands = {read};
    spec.result.emplace();
    AxisSizes sizesOfView;
    for (size_t d = 0, from = 0; d < after.size(); from += std::max<size_t>(after[d++].axes.size(), 1)) {
      auto found = names.find(after[d].axes);
      bool isProduct = found != names.end();
      spec.result->push_back(isProduct ? Dimension{{found->second}, Expr::symbol(found->second)} : read[from]);
      if (isProduct)
        sizesOfView[found->second] = total.at(found->second);
    }
    dimensions = after;
    subscripts = left;
    return EinsumOp::create(builder, operand.getLoc(), RankedTensorType::get(shape, type.getElementType()),
                            builder.getStringAttr(print(spec)), sizesTo(builder.getContext(), sizesOfView),
                            StringAttr(), operand);
  }

private:
  /// Returns whether the first dimensions are exactly these axes, each of them whole.
  bool isWhole(ArrayRef<Dimension> dimensions, ArrayRef<int64_t> shape, const std::vector<std::string> &axes) const {
    for (auto [k, axis] : llvm::enumerate(axes))
      if (k >= dimensions.size() || dimensions[k].axes != std::vector{axis} || shape[k] != sizes.at(axis))
        return false;
    return true;
  }

  AxisSizes sizes, total;
  Substitution parts;
  std::map<std::vector<std::string>, std::string> names;
};

/// Makes the operand read as flattened; `dimensions` becomes its new subscripts.
void flattenOperand(const Flattening &flat, OpOperand &operand, Dimensions &dimensions, ArrayRef<Expr> subscripts) {
  Operation *reader = operand.getOwner();
  OpBuilder builder(isa<TermOp>(reader) ? reader->getParentOp() : reader);
  SmallVector<Expr> own(subscripts);
  operand.set(flat.joined(builder, operand.get(), dimensions, own));
  dimensions = flat.read(dimensions, own);
}
} // namespace

void skewer::flattenPositions(AttentionOp attention) {
  auto view = viewOf(attention);
  const ScoreSpace &space = view->space;
  if (space.query.size() < 2 && space.key.size() < 2)
    return;
  Flattening flat(space.sizes);
  std::string query = space.query.size() > 1 ? kQueryAxis : space.query[0];
  std::string key = space.key.size() > 1 ? kKeyAxis : space.key[0];
  if ((space.query.size() > 1 && !flat.flatten(space.query, query)) ||
      (space.key.size() > 1 && !flat.flatten(space.key, key)))
    return;
  auto valueSpec = parseEinsum(std::string_view(attention.getValueSpec()));
  auto spaceOf = parseDimensions(std::string_view(attention.getSpace()));
  if (!valueSpec || !valueSpec->result || !spaceOf || !flat.rename(*valueSpec->result) || !flat.rename(*spaceOf))
    return;
  if (!view->value || view->sharesValues)
    return;
  MLIRContext *context = attention.getContext();
  const ResolvedEinsum &values = *view->value;
  valueSpec->operands = {values.spec.operands[0]};
  flattenOperand(flat, attention.getValueMutable(), valueSpec->operands[0], values.subscripts[0]);
  auto text = [&](const std::string &s) { return StringAttr::get(context, s); };
  auto flatten = [&](const Term &said) {
    TermOp term = said.op;
    Einsum spec;
    spec.operands = said.einsum.spec.operands;
    for (size_t k = 0; k < spec.operands.size(); ++k)
      flattenOperand(flat, term.getInputsMutable()[k], spec.operands[k], said.einsum.subscripts[k]);
    term.setSubscripts(print(spec));
    if (term.getGuard())
      term.setGuard(flat.moved(*term.getGuard()));
    if (term.getValue())
      term.setValue(flat.moved(*term.getValue()));
    if (term.getArguments()) {
      SmallVector<Attribute> arguments;
      for (Attribute argument : term.getArgumentsAttr()) {
        StringRef written = cast<StringAttr>(argument).getValue();
        arguments.push_back(written.starts_with("#") ? argument : text(flat.moved(written)));
      }
      term.setArgumentsAttr(ArrayAttr::get(context, arguments));
    }
  };
  llvm::for_each(view->score, flatten);
  llvm::for_each(view->values, flatten);
  if (attention.getMask())
    attention.setMask(flat.moved(*attention.getMask()));
  AxisSizes given = flat.after();
  for (const auto *axes : {&space.leading, &space.value})
    for (const std::string &axis : *axes)
      given.erase(axis);
  attention.setSpace(print(*spaceOf));
  attention.setValueSpec(print(*valueSpec));
  attention.setSizesAttr(sizesTo(context, given));
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
  kept = axesOf(*resolved.spec.result); // an operand's product of these is read at their sum
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
    einsum.setGuard(flat.moved(*einsum.getGuard()));
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
