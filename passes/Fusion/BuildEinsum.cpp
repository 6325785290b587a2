// Writing summands as einsums.
#include "passes/Fusion/BuildEinsum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/Factorise.h"
#include "passes/Fusion/Views.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

void skewer::restoreSingles(Dimensions &dimensions, const std::vector<int64_t> &extents,
                            std::vector<std::string> axes) {
  for (const Dimension &dimension : dimensions)
    llvm::erase_if(axes, [&](const std::string &axis) { return llvm::is_contained(dimension.axes, axis); });
  for (size_t place = dimensions.size(); place-- > 0 && !axes.empty();) {
    Dimension &dimension = dimensions[place];
    if (dimension.isProduct() || !dimension.index.isConstant(0) || place >= extents.size() || extents[place] != 1)
      continue;
    dimension = Dimension();
    dimension.axes = {axes.back()};
    axes.pop_back();
  }
  // The other axes join the last dimension that may take them in front: a run-time size must be the first of its
  // product.
  for (size_t place = dimensions.size(); place-- > 0;) {
    Dimension &dimension = dimensions[place];
    bool isRuntime = place >= extents.size() || extents[place] == kRuntime;
    if (!dimension.isProduct() || isRuntime)
      continue;
    dimension.axes.insert(dimension.axes.begin(), axes.begin(), axes.end());
    return;
  }
  for (Dimension &dimension : dimensions)
    if (dimension.isProduct()) {
      dimension.axes.insert(dimension.axes.end(), axes.begin(), axes.end());
      return;
    }
}

std::vector<std::string> skewer::untoldAxes(const Einsum &spec) {
  std::vector<std::string> untold = spec.axes();
  for (const Dimensions &operand : spec.operands)
    for (const Dimension &dimension : operand)
      if (dimension.isAxis())
        llvm::erase(untold, dimension.axes.front());
  return untold;
}

AxisSizes skewer::untoldSizes(const Einsum &spec, const AxisSizes &all) {
  AxisSizes sizes;
  for (const std::string &axis : untoldAxes(spec))
    if (all.at(axis) != kRuntime)
      sizes[axis] = all.at(axis);
  return sizes;
}

namespace {
void eachExpression(Summand &summand, llvm::function_ref<void(Expr &)> visit) {
  for (Factor &factor : summand.factors)
    for (Expr &subscript : factor.subscripts)
      visit(subscript);
  visit(summand.guard);
}

/// Returns the result's dimensions, each an axis or a product of axes. Adds the sizes of the axes, and the names as
/// functions of the axes.
Dimensions namedResult(const std::vector<std::string> &names, const std::vector<int64_t> &shape,
                       const std::vector<Expr> &expressions, AxisSizes &sizes, Substitution &substitution) {
  Dimensions result;
  for (size_t k = 0; k < names.size(); ++k) {
    Dimension dimension;
    std::vector<int64_t> factors = {shape[k]};
    if (shape[k] != kRuntime)
      factors = factorsOf(names[k], shape[k], expressions);
    dimension.axes = axisNames(names[k], factors.size());
    for (size_t n = 0; n < factors.size(); ++n)
      sizes[dimension.axes[n]] = factors[n];
    substitution[names[k]] = flatIndex(dimension, sizes);
    result.push_back(std::move(dimension));
  }
  return result;
}

/// Returns names for the contracted axes, in order of appearance. Adds their sizes.
Substitution nameContracted(const Summand &summand, AxisSizes &all) {
  Substitution contracted;
  for (const Factor &factor : summand.factors)
    for (const Expr &subscript : factor.subscripts)
      for (const std::string &symbol : symbolsOf(subscript)) {
        if (!summand.contracted.count(symbol) || contracted.count(symbol))
          continue;
        std::string name = numbered(kDepthAxis, contracted.size());
        while (all.count(name))
          name += "_";
        all[name] = summand.contracted.at(symbol);
        contracted[symbol] = Expr::symbol(name);
      }
  return contracted;
}
} // namespace

Value skewer::buildEinsum(OpBuilder &builder, const Summand &original, const std::vector<std::string> &names,
                          RankedTensorType type) {
  if (original.scale != 1 || original.value || original.factors.empty())
    return {};
  Summand summand = original;
  std::vector<Expr> expressions;
  bool printable = true;
  eachExpression(summand, [&](Expr &e) {
    expressions.push_back(e);
    printable &= hasText(e);
  });
  if (!printable)
    return {};

  AxisSizes all;
  Substitution substitution;
  Einsum spec;
  spec.result = namedResult(names, shapeOf(type), expressions, all, substitution);
  Domain domain = domainOf(all);
  for (const auto &[axis, size] : summand.contracted)
    if (size != kRuntime)
      domain[axis] = {0, size - 1};
  summand.guard = simplify(substitute(summand.guard, substitution), domain);
  bool never = summand.guard.isConstant(0);
  std::optional<Expr> guard = summand.guard.isConstant() && !never ? std::nullopt : std::optional<Expr>(summand.guard);
  if (never) // all padding: the indices do not matter, but must be valid
    eachExpression(summand, [&](Expr &e) { e = Expr(0); });
  for (Factor &factor : summand.factors)
    for (Expr &subscript : factor.subscripts)
      subscript = simplify(substitute(subscript, substitution), domain, guard);
  Substitution contracted = nameContracted(summand, all);
  // Law: the einsum sums as many products as the summand. An axis that indexes no operand would be lost.
  for (const auto &[axis, size] : summand.contracted)
    if (size != 1 && !never && !contracted.count(axis))
      return {};

  std::set<std::string> plain; // axes that are a dimension of an operand, which tells their size
  SmallVector<Value> operands;
  for (const Factor &factor : summand.factors) {
    Dimensions dimensions;
    std::vector<int64_t> extents = shapeOf(factor.operand);
    for (auto [subscript, extent] : llvm::zip(factor.subscripts, extents)) {
      dimensions.push_back(dimensionFor(substitute(subscript, contracted), all, extent));
      if (dimensions.back().isAxis())
        plain.insert(dimensions.back().axes[0]);
    }
    spec.operands.push_back(std::move(dimensions));
    operands.push_back(factor.operand);
  }
  AxisSizes given, told;
  IndexOperands indices = kernelIndices(builder.getInsertionBlock()->getParentOp());
  addSizesOfReads(spec, indices, told);
  for (const auto &[axis, size] : all) {
    if (plain.count(axis) || (size == kRuntime && told.count(axis)))
      continue;
    if (size == kRuntime)
      return {};
    given[axis] = size;
  }
  auto text = [&](const std::string &s) { return builder.getStringAttr(s); };
  auto specText = text(print(spec));
  auto sizesAttr = sizesTo(builder.getContext(), given);
  auto guardText = guard ? text(print(*guard)) : StringAttr();
  if (!resolve(specText.getValue(), operands, sizesAttr,
               guard ? std::optional<StringRef>(guardText.getValue()) : std::nullopt, indices))
    return {};
  auto einsum = EinsumOp::create(builder, summand.location, type, specText, sizesAttr, guardText, operands);
  bindIndices(einsum);
  return einsum;
}

std::vector<Operation *> skewer::scoreOperations(func::FuncOp function) {
  llvm::SetVector<Operation *> found;
  // Operands of an einsum are followed through index maps only.
  std::function<void(Value, bool)> follow = [&](Value value, bool mapsOnly) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return;
    auto einsum = dyn_cast<EinsumOp>(op);
    bool map = isa<IndexMapOpInterface>(op) || (einsum && isView(einsum));
    bool arithmetic = isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp>(op);
    if (!map && (mapsOnly || (!arithmetic && !einsum)))
      return;
    if (!found.insert(op))
      return;
    for (Value operand : op->getOperands())
      follow(operand, mapsOnly || (einsum && !map));
  };
  bool any = false;
  function.walk([&](Operation *op) {
    auto rows = rowReductionOf(op);
    any |= rows.has_value();
    if (rows)
      follow(rows->input, false);
  });
  if (!any)
    function.walk([&](func::ReturnOp op) {
      for (Value value : op.getOperands())
        follow(value, false);
    });
  std::vector<Operation *> ordered;
  function.walk([&](Operation *op) {
    if (found.contains(op))
      ordered.push_back(op);
  });
  return ordered;
}

void skewer::eraseDead(func::FuncOp function) {
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<Operation *> dead;
    function.walk([&](Operation *op) {
      if (op != function.getOperation() && op->getNumResults() > 0 && op->use_empty() && isMemoryEffectFree(op))
        dead.push_back(op);
    });
    for (Operation *op : dead)
      op->erase(), changed = true;
  }
}

Value skewer::numberLike(OpBuilder &builder, Location location, Value tensor, double number) {
  auto type = cast<RankedTensorType>(tensor.getType());
  FloatAttr value = builder.getFloatAttr(type.getElementType(), number);
  if (type.hasStaticShape())
    return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(type, value.getValue()));
  SmallVector<Value> runTime;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      runTime.push_back(tensor::DimOp::create(builder, location, tensor, d));
  Value one = arith::ConstantOp::create(builder, location, value);
  return tensor::SplatOp::create(builder, location, one, type, runTime);
}
