// Finds direct weights: walks from a product with values back to what it multiplies.
#include "passes/Fusion/WeightSource.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Fusion/ScoreFunction.h"
#include "passes/Fusion/Views.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

WeightSource skewer::sourceOf(SoftmaxOp op) {
  WeightSource source;
  source.weights = op.getResult();
  source.scores = op.getInput();
  source.operation = op;
  source.axes = op.getAxes().str();
  source.over = op.getOver().str();
  if (op.getMask())
    source.mask = op.getMask()->str();
  source.sizes = op.getSizesAttr();
  return source;
}

/// Returns whether all that depends on a use of the weights is sums over keys. Index maps on the way move weights, and
/// numbers multiply them.
static bool leadsToSums(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto einsum = dyn_cast<EinsumOp>(op); einsum && einsum.getInputs().size() > 1)
    return !resolve(einsum).contracted.empty();
  bool moves = mapOf(op).has_value();
  bool scales = isa<arith::NegFOp>(op) || (isa<arith::MulFOp, arith::DivFOp>(op) && use.getOperandNumber() == 0 &&
                                           splatValue(op->getOperand(1)));
  return (moves || scales) && !op->use_empty() && llvm::all_of(op->getUses(), leadsToSums);
}

SmallVector<OpOperand *> skewer::storedUses(const WeightSource &source) {
  SmallVector<OpOperand *> stored;
  bool multiplied = false;
  if (!getElementTypeOrSelf(source.weights).isF32())
    return stored;
  if (source.direct && source.mask) // the product's condition hides weights that other uses may see
    return stored;
  for (OpOperand &use : source.weights.getUses()) {
    if (llvm::is_contained(source.totals, dyn_cast<EinsumOp>(use.getOwner())))
      continue;
    if (leadsToSums(use))
      multiplied = true;
    else
      stored.push_back(&use);
  }
  if (!multiplied)
    stored.clear();
  return stored;
}

/// Returns the axes that read a tensor, as functions of the names that another operation gives its dimensions. Returns
/// nothing if the tensor is read by more than axes.
static std::optional<Substitution> renaming(const Dimensions &read, const Dimensions &named, Value tensor) {
  if (read.size() != named.size())
    return std::nullopt;
  Substitution renamed;
  for (auto [own, other, extent] : llvm::zip(read, named, shapeOf(tensor))) {
    if (extent == 1 && own.axes.empty()) // a batch of one is "1" in one of them, and may be an axis in the other
      continue;
    if (!own.isProduct() || own.axes.size() != other.axes.size())
      return std::nullopt;
    for (auto [axis, its] : llvm::zip(own.axes, other.axes))
      if (!renamed.insert({axis, Expr::symbol(its)}).second)
        return std::nullopt;
  }
  return renamed;
}

bool skewer::isUnderMask(EinsumOp product, const WeightSource &source) {
  ResolvedEinsum resolved = resolve(product);
  auto weights = llvm::find(product.getInputs(), source.weights);
  auto named = parseEinsum(source.axes);
  auto mask = source.mask ? parse(*source.mask) : std::nullopt;
  if (weights == product.getInputs().end() || !named || !mask || !resolved.guard)
    return false;
  const Dimensions &read = resolved.spec.operands[size_t(weights - product.getInputs().begin())];
  auto renamed = renaming(read, named->operands[0], source.weights);
  return renamed && substitute(*resolved.guard, *renamed) == *mask;
}

/// Returns whether the operation sums the weights over their keys alone, where `guard` holds.
static bool isTotal(Operation *op, Value weights, const Dimensions &named, size_t keyDimension,
                    const std::optional<Expr> &guard) {
  auto einsum = dyn_cast<EinsumOp>(op);
  if (!einsum || einsum.getInputs().size() != 1)
    return false;
  ResolvedEinsum resolved = resolve(einsum);
  const Dimensions &read = resolved.spec.operands[0];
  if (!resolved.spec.result || resolved.guard.has_value() != guard.has_value())
    return false;
  auto renamed = renaming(read, named, weights);
  return renamed && resolved.contracted == read[keyDimension].axes &&
         (!guard || substitute(*resolved.guard, *renamed) == *guard);
}

std::optional<WeightSource> skewer::directSourceOf(EinsumOp product) {
  if (product.getInputs().size() != 2)
    return std::nullopt;
  ResolvedEinsum resolved = resolve(product);
  if (!resolved.spec.result || resolved.contracted.empty())
    return std::nullopt;
  std::set<std::string> kept = axesOf(*resolved.spec.result);
  for (unsigned number : {0u, 1u}) {
    Value weights = product.getInputs()[number];
    const Dimensions &named = resolved.spec.operands[number];
    std::set<std::string> inValues = axesOf(resolved.spec.operands[1 - number]);
    if (!weights.getDefiningOp() || weights.getDefiningOp<SoftmaxOp>() || weights == product.getInputs()[1 - number] ||
        !llvm::all_of(named, [](const Dimension &dimension) { return dimension.isProduct(); }))
      continue;
    // One dimension is summed over; one, if there are several, is the query's; and heads or batch rows have values of
    // their own.
    std::optional<size_t> key, query;
    bool several = false, heads = false;
    std::vector<int64_t> shape = shapeOf(weights);
    for (auto [k, dimension] : llvm::enumerate(named)) {
      bool summed = llvm::none_of(dimension.axes, [&](auto &axis) { return kept.count(axis); });
      bool shared = llvm::any_of(dimension.axes, [&](auto &axis) { return inValues.count(axis); });
      if (summed && !dimension.axes.empty()) {
        several |= key.has_value();
        key = k;
      } else if (!shared && !dimension.axes.empty()) {
        query = query && shape[k] == 1 ? *query : k; // one with several rows, if there is one
      } else {
        heads |= shared;
      }
    }
    if (!key || several || !heads)
      continue;
    std::vector<Expr> at;
    Domain domain;
    for (size_t k = 0; k < named.size(); ++k) {
      std::string name = "w" + std::to_string(k);
      at.push_back(Expr::symbol(name));
      // A single query or key still has an axis, which would be left out if its range had a single value.
      bool single = shape[k] == 1 && (k == query || k == *key);
      if (shape[k] != kRuntime && !single)
        domain[name] = {0, shape[k] - 1};
    }
    std::string queryAxis = "w" + std::to_string(query.value_or(named.size())), keyAxis = "w" + std::to_string(*key);
    if (!query)
      domain[queryAxis] = {0, 0};
    auto made = weights.getDefiningOp<EinsumOp>();
    if (made && !resolved.guard && !made.getGuard() && !resolve(made).contracted.empty())
      continue; // two products in a row
    if (!holdsContent({weights, at}, queryAxis, keyAxis, domain))
      continue;
    WeightSource source;
    source.weights = source.scores = weights;
    source.operation = weights.getDefiningOp();
    Einsum axes, over;
    axes.operands = {named};
    over.operands = {{named[*key]}};
    source.axes = print(axes);
    source.over = print(over);
    if (resolved.guard)
      source.mask = print(*resolved.guard);
    source.direct = true;
    for (Operation *user : weights.getUsers())
      if (user != product && isTotal(user, weights, named, *key, resolved.guard))
        source.totals.push_back(cast<EinsumOp>(user));
    AxisSizes sizes;
    for (const Dimension &dimension : named)
      for (const std::string &axis : dimension.axes)
        if (dimension.axes.size() > 1 && resolved.sizes.at(axis) != kRuntime)
          sizes[axis] = resolved.sizes.at(axis);
    if (!sizes.empty())
      source.sizes = sizesTo(product.getContext(), sizes);
    return source;
  }
  return std::nullopt;
}

bool skewer::becomesWeights(EinsumOp product, const WeightSource &source) {
  auto elements = [](Value tensor) {
    double count = 1;
    for (int64_t size : shapeOf(tensor))
      count *= size == kRuntime ? 1 : double(size);
    return count;
  };
  if (elements(product.getResult()) < elements(source.weights))
    return false; // a gate, or another number per row
  SmallVector<Value> left{source.weights};
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value tensor = left.pop_back_val();
    if (tensor == product.getResult())
      return true;
    Operation *made = tensor.getDefiningOp();
    if (!made || !seen.insert(tensor).second)
      continue;
    auto einsum = dyn_cast<EinsumOp>(made);
    if (!einsum || resolve(einsum).contracted.empty())
      left.append(made->operand_begin(), made->operand_end());
  }
  return false;
}
