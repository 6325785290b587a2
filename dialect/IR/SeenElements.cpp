// Follows masks and guards back to the tensors whose elements they hide.
#include "dialect/IR/SeenElements.h"
#include "dialect/Subscript/Project.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
constexpr size_t kLargestPredicate = 400; // nodes; a larger predicate counts as "used everywhere"

std::string indexOf(size_t dimension) { return "d" + std::to_string(dimension); }
Expr indexSymbol(size_t dimension) { return Expr::symbol(indexOf(dimension)); }

Domain domainOfIndices(ArrayRef<int64_t> shape) {
  Domain domain;
  for (auto [d, size] : llvm::enumerate(shape))
    if (size != kRuntime)
      domain[indexOf(d)] = {0, size - 1};
  return domain;
}

/// Computes the axes of a dimension's product as functions of the dimension's index.
void unflatten(const Dimension &dimension, const AxisSizes &sizes, const Expr &flat, Substitution &axes) {
  int64_t stride = 1;
  for (size_t k = dimension.axes.size(); k-- > 0;) {
    auto size = sizes.find(dimension.axes[k]);
    int64_t extent = size == sizes.end() ? kRuntime : size->second;
    Expr position = stride == 1 ? flat : floorDiv(flat, Expr(stride));
    axes[dimension.axes[k]] = k > 0 && extent > 0 ? mod(position, Expr(extent)) : position;
    stride *= k > 0 && extent > 0 ? extent : 1;
  }
}
} // namespace

std::optional<Expr> SeenElements::of(mlir::Value value) {
  auto [entry, isNew] = known.try_emplace(value);
  if (!isNew)
    return entry->second;
  Predicate all;
  for (OpOperand &use : value.getUses()) {
    Predicate one = throughUse(use);
    if (!one)
      return std::nullopt;
    all = all && !(*all == *one) ? logicalOr(*all, *one) : *one;
    if (sizeOf(*all) > kLargestPredicate)
      return std::nullopt;
  }
  return known[value] = all;
}

std::optional<Expr> SeenElements::throughUse(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto rows = rowReductionOf(op))
    return throughRows(use, *rows);
  if (auto einsum = dyn_cast<EinsumOp>(op))
    return throughAxes(op, resolve(einsum), use.getOperandNumber());
  if (auto rearrange = dyn_cast<RearrangeOp>(op)) {
    auto resolved = resolve(rearrange.getSpec(), rearrange.getInput(), rearrange.getSizesAttr(), std::nullopt);
    return resolved ? throughAxes(op, *resolved, 0) : std::nullopt;
  }
  if (isa<ReshapeOp, SliceOp, PadOp, ConcatOp>(op))
    return throughMap(use);
  bool sameShape = op->getNumResults() == 1 && shapeOf(op->getResult(0)) == shapeOf(use.get());
  return sameShape && op->hasTrait<OpTrait::Elementwise>() ? of(op->getResult(0)) : std::nullopt;
}

std::optional<Expr> SeenElements::throughRows(OpOperand &use, const RowReduction &rows) {
  auto dimensions = parseDimensions(std::string_view(rows.axes));
  auto mask = rows.mask ? parse(std::string_view(*rows.mask)) : std::nullopt;
  if (!dimensions || !mask || use.get() != rows.input)
    return std::nullopt;
  Einsum spec;
  spec.operands = {*dimensions};
  auto sizes = resolveSizes(spec, {shapeOf(rows.input)}, sizesFrom(rows.sizes));
  if (!sizes)
    return std::nullopt;
  Substitution axes;
  for (size_t d = 0; d < dimensions->size(); ++d)
    unflatten((*dimensions)[d], *sizes, indexSymbol(d), axes);
  return substitute(*mask, axes);
}

/// Finds the used elements of an operand: an element is used if the guard holds at some used element of the result that
/// is made from it.
std::optional<Expr> SeenElements::throughAxes(Operation *op, const ResolvedEinsum &einsum, unsigned operand) {
  if (!einsum.spec.result || operand >= einsum.spec.operands.size())
    return std::nullopt; // an index operand
  Predicate above = of(op->getResult(0));
  if (!above && !einsum.guard)
    return std::nullopt;
  Substitution fromResult, toOperand;
  for (auto [d, dimension] : llvm::enumerate(*einsum.spec.result))
    fromResult[indexOf(d)] = flatIndex(dimension, einsum.sizes);
  Expr seen = above ? substitute(*above, fromResult) : Expr(1);
  if (einsum.guard)
    seen = logicalAnd(seen, *einsum.guard);
  for (auto [d, dimension] : llvm::enumerate(einsum.spec.operands[operand]))
    if (dimension.isProduct())
      unflatten(dimension, einsum.sizes, indexSymbol(d), toOperand);
  std::set<std::string> others = symbolsOf(seen);
  for (const auto &entry : toOperand)
    others.erase(entry.first);
  Domain domain = subscript::domainOf(einsum.sizes);
  addRanges(domain, kernelIndices(op));
  return substitute(projectOut(seen, others, domain), toOperand);
}

/// Handles index maps that take each element to one place at most.
std::optional<Expr> SeenElements::throughMap(OpOperand &use) {
  Operation *op = use.getOwner();
  Predicate above = of(op->getResult(0));
  if (!above)
    return std::nullopt;
  std::vector<int64_t> shape = shapeOf(use.get());
  Substitution places;
  Expr inside = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    places[indexOf(d)] = indexSymbol(d);
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    places.clear();
    for (auto [d, index] : llvm::enumerate(reshapedIndices(shape, shapeOf(reshape.getResult()))))
      places[indexOf(d)] = index;
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    std::vector<int64_t> taken = shapeOf(slice.getResult());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (taken[d] == kRuntime)
        continue; // a run-time dimension is taken whole
      Expr from = indexSymbol(d) - Expr(slice.getOffsets()[d]), stride = slice.getStrides()[d];
      inside = logicalAnd(inside, lessEqual(0, from));
      inside = logicalAnd(inside, lessEqual(from, Expr(slice.getStrides()[d] * (taken[d] - 1))));
      inside = logicalAnd(inside, equal(mod(from, stride), 0));
      places[indexOf(d)] = floorDiv(from, stride);
    }
  } else if (auto pad = dyn_cast<PadOp>(op)) {
    for (size_t d = 0; d < shape.size(); ++d)
      places[indexOf(d)] = indexSymbol(d) + Expr(pad.getLow()[d]);
  } else {
    auto concat = cast<ConcatOp>(op);
    size_t along = concat.getDimension();
    int64_t before = 0;
    for (Value input : concat.getInputs().take_front(use.getOperandNumber()))
      before += shapeOf(input)[along];
    places[indexOf(along)] = indexSymbol(along) + Expr(before);
  }
  return simplify(logicalAnd(inside, substitute(*above, places)), domainOfIndices(shape));
}
