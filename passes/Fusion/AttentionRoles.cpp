// Finds which dimensions of the weights are queries, keys and leading axes, and the indices of score, values and result
// over them. First step of AttentionCandidate::form.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/AttentionCandidate.h"
#include "passes/Fusion/Factorise.h"
#include "passes/Fusion/QueryDimensions.h"
#include <numeric>

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

/// The product of the weights with the values, and the roles found for the dimensions of the weights.
struct AttentionCandidate::WeightDimensions {
  ResolvedEinsum resolved;
  Dimensions weights, named; // named by the product and by the softmax
  std::vector<int64_t> shape;
  std::vector<size_t> queries; // dimensions that are queries
  std::vector<bool> isLeading; // for each dimension
  std::map<size_t, int64_t> groups; // leading dimensions whose last axes are queries, and how many queries they are
};

std::optional<Refusal> AttentionCandidate::findRoles() {
  WeightDimensions of{resolve(product), {}, {}, {}, {}, {}, {}};
  for (auto step : {&AttentionCandidate::readProduct, &AttentionCandidate::assignRoles})
    if (auto refusal = (this->*step)(of))
      return refusal;
  separateHeads(of);
  joinGroups(of);
  for (auto step : {&AttentionCandidate::indexScore, &AttentionCandidate::indexValues, &AttentionCandidate::readMask})
    if (auto refusal = (this->*step)(of))
      return refusal;
  return std::nullopt;
}

std::optional<Refusal> AttentionCandidate::readProduct(WeightDimensions &of) {
  // The condition of a product with direct weights may be the mask of the attention. Any other condition is that of a
  // term of the values.
  bool hasOwnGuard = of.resolved.guard && !(source.direct && isUnderMask(product, source));
  if (product.getInputs().size() != 2 || !of.resolved.spec.result || hasOwnGuard)
    return Refusal{"the product with the weights is not of two operands without a guard"};
  weightOperand = product.getInputs()[0] == source.weights ? 0 : 1;
  if (product.getInputs()[1 - weightOperand] == source.weights)
    return Refusal{"the weights are multiplied by themselves"};
  of.weights = of.resolved.spec.operands[weightOperand];
  auto over = parseDimensions(source.over);
  auto named = parseDimensions(source.axes);
  if (!over || over->empty() || !named || named->size() != of.weights.size())
    return Refusal{"the softmax is not over one dimension"};
  std::vector<std::string> keyAxes;
  for (const Dimension &dimension : *over)
    keyAxes.insert(keyAxes.end(), dimension.axes.begin(), dimension.axes.end());
  keyDimension = named->size();
  for (size_t k = 0; k < named->size(); ++k)
    if ((*named)[k].axes == keyAxes)
      keyDimension = k;
  if (keyDimension == named->size())
    return Refusal{"the softmax is not over one whole dimension"};
  of.named = std::move(*named);
  of.shape = shapeOf(source.weights);
  of.isLeading.resize(of.weights.size());
  return std::nullopt;
}

/// Assigns a role to each dimension. All axes of a dimension must have the same role.
std::optional<Refusal> AttentionCandidate::assignRoles(WeightDimensions &of) {
  std::set<std::string> inValues, kept = axesOf(*of.resolved.spec.result);
  for (const Expr &subscript : of.resolved.subscripts[1 - weightOperand])
    inValues.merge(symbolsOf(subscript));
  for (auto [k, dimension] : llvm::enumerate(of.weights)) {
    if (!dimension.isProduct())
      return Refusal{"the weights are read through an index expression"};
    bool allInValues = true, someInValues = false, allKept = true, noneKept = true;
    for (const std::string &axis : dimension.axes) {
      allInValues &= inValues.count(axis) > 0;
      someInValues |= inValues.count(axis) > 0;
      allKept &= kept.count(axis) > 0;
      noneKept &= !kept.count(axis);
    }
    if (k == keyDimension) {
      if (!noneKept || !allInValues)
        return Refusal{"the product does not sum over the dimension that the softmax is over"};
    } else if (!allKept) {
      return Refusal{"a dimension of the weights is neither a query, nor a key, nor common to weights and values"};
    } else if (someInValues) { // a group of heads may share values: "(g r)" with values by g
      of.isLeading[k] = true;
    } else {
      of.queries.push_back(k);
    }
  }
  return std::nullopt;
}

/// Separates heads from queries. If all heads share the values, every other dimension looks like a query dimension:
/// only those stay that score and mask read as part of the query's position, and the last one.
void AttentionCandidate::separateHeads(WeightDimensions &of) {
  if (of.queries.size() < 2)
    return;
  QueryDimensions found(source, uses, of.named, of.shape, keyDimension);
  int64_t rows = 1;
  auto isQuery = [&](size_t k) { return k == of.queries.back() || (of.shape[k] != kRuntime && found.isPosition(k)); };
  for (size_t k : of.queries)
    if (isQuery(k) && of.shape[k] != kRuntime)
      rows *= of.shape[k];
  // Heads with few queries are better computed together, unless their operands have a table for each head. The choice
  // must be the same at all lengths of a layer.
  bool isApart = product->getParentOfType<func::FuncOp>()->hasAttr(kWholePositions);
  std::set<size_t> left;
  for (size_t k : llvm::reverse(of.queries))
    if (isQuery(k)) {
      left.insert(k);
    } else if (of.shape[k] == kRuntime || isApart || rows >= kRowsOfHead ||
               found.hasTables(k, of.queries.back())) {
      of.isLeading[k] = true;
    } else {
      rows *= of.shape[k];
      left.insert(k);
    }
  of.queries.assign(left.begin(), left.end());
}

/// Returns how many neighbouring indices of the axis read the same values: 4 for `v[h floordiv 4]`.
static int64_t sharingOf(const std::string &axis, int64_t size, const std::vector<Expr> &ofValues) {
  std::set<int64_t> divisors;
  for (const Expr &subscript : ofValues)
    divisors.merge(divisorsOf(subscript, axis));
  int64_t count = 0;
  for (int64_t divisor : divisors)
    count = std::gcd(count, divisor);
  return count > 1 && size % count == 0 ? count : 1;
}

/// Makes the heads of a group that shares keys and values rows of one tile, "(g r)" and `h floordiv r` as well as
/// "g r", if there is one query: the shared keys and values are then read once.
void AttentionCandidate::joinGroups(WeightDimensions &of) {
  if (llvm::any_of(of.queries, [&](size_t k) { return of.shape[k] != 1; }))
    return;
  const std::vector<Expr> &ofValues = of.resolved.subscripts[1 - weightOperand];
  std::set<std::string> inValues;
  for (const Expr &subscript : ofValues)
    inValues.merge(symbolsOf(subscript));
  for (auto [k, dimension] : llvm::enumerate(of.weights)) {
    if (!of.isLeading[k] || of.shape[k] == kRuntime)
      continue;
    int64_t rows = 1;
    for (const std::string &axis : llvm::reverse(dimension.axes)) {
      if (inValues.count(axis))
        break;
      rows *= of.resolved.sizes.at(axis);
    }
    if (rows <= 1) {
      const std::string &inner = dimension.axes.back();
      int64_t count = sharingOf(inner, of.resolved.sizes.at(inner), ofValues);
      if (count > 1 && QueryDimensions(source, uses, of.named, of.shape, keyDimension).isSharedBy(k, count))
        rows = count;
    }
    if (rows > 1)
      of.groups[k] = rows;
  }
}

/// Sets the score's indices over leading axes, one query position and one key position. The weights of a single query
/// (a decoding step) may lack a query dimension: then no index names its position, of which there is one.
std::optional<Refusal> AttentionCandidate::indexScore(WeightDimensions &of) {
  at.assign(of.weights.size(), Expr());
  int64_t queryCount = 1;
  auto isRuntime = [&](size_t k) { return of.shape[k] == kRuntime; };
  if (isRuntime(keyDimension) || llvm::any_of(of.queries, isRuntime))
    return Refusal{"the number of queries or keys is known at run time only"};
  AxisSizes querySizes;
  std::vector<std::string> queryNames;
  std::map<size_t, int64_t> queries = of.groups;
  for (size_t k : of.queries)
    queries[k] = of.shape[k];
  for (auto [k, size] : queries) {
    queryCount *= size;
    queryNames.push_back("q" + std::to_string(k));
    querySizes[queryNames.back()] = size;
  }
  std::vector<size_t> dimensions;
  for (size_t k = 0; k < of.isLeading.size(); ++k)
    if (of.isLeading[k])
      dimensions.push_back(k);
  leading = leadingNames(dimensions.size(), !dimensions.empty() && of.shape[dimensions.front()] == kRuntime);
  for (auto [k, name] : llvm::zip(dimensions, leading)) {
    auto group = of.groups.find(k);
    int64_t rows = group == of.groups.end() ? 1 : group->second;
    sizes[name] = of.shape[k] == kRuntime ? kRuntime : of.shape[k] / rows;
    at[k] = rows == 1 ? Expr::symbol(name) : Expr(rows) * Expr::symbol(name);
  }
  query = {kQueryAxis}, key = {kKeyAxis};
  sizes[kQueryAxis] = queryCount, sizes[kKeyAxis] = of.shape[keyDimension];
  at[keyDimension] = Expr::symbol(kKeyAxis);
  auto queryParts = splitProduct(Expr::symbol(kQueryAxis), queryNames, querySizes);
  for (auto [entry, part] : llvm::zip(queries, *queryParts))
    at[entry.first] = simplify(at[entry.first] + part, domainOf(sizes));
  return std::nullopt;
}

/// Sets the indices of values and result over the same axes.
std::optional<Refusal> AttentionCandidate::indexValues(WeightDimensions &of) {
  const ResolvedEinsum &resolved = of.resolved;
  auto known = axesAt(of.weights, at, resolved.sizes);
  if (!known)
    return Refusal{"an axis of the weights has no size at compile time"};
  Substitution &axes = *known;
  std::set<std::string> kept = axesOf(*resolved.spec.result);
  value.location = product.getLoc();
  for (const std::string &axis : resolved.spec.axes())
    if (!axes.count(axis)) {
      if (!kept.count(axis))
        return Refusal{"the product sums over an axis that the weights lack"};
      std::string name = numbered(kWidthAxis, valueAxes.size());
      axes[axis] = Expr::symbol(name);
      valueAxes.push_back(name);
      sizes[name] = value.contracted[name] = resolved.sizes.at(axis);
    }
  Factor values{product.getInputs()[1 - weightOperand], {}};
  for (const Expr &subscript : resolved.subscripts[1 - weightOperand])
    values.subscripts.push_back(simplify(substitute(subscript, axes), domainOf(sizes)));
  value.factors = {values};
  for (const Dimension &dimension : *resolved.spec.result)
    resultIndices.push_back(simplify(substitute(flatIndex(dimension, resolved.sizes), axes), domainOf(sizes)));
  return std::nullopt;
}

std::optional<Refusal> AttentionCandidate::readMask(WeightDimensions &of) {
  if (!source.mask)
    return std::nullopt;
  auto predicate = parse(*source.mask);
  Einsum spec;
  spec.operands = {of.named};
  auto namedSizes = resolveSizes(spec, {of.shape}, sizesFrom(source.sizes));
  if (!predicate || !namedSizes)
    return Refusal{"the mask is not a predicate of the score's axes"};
  Substitution axes;
  for (auto [index, dimension] : llvm::zip(at, of.named))
    if (auto parts = splitProduct(index, dimension.axes, *namedSizes))
      for (auto [axis, part] : llvm::zip(dimension.axes, *parts))
        axes[axis] = part;
  mask = simplify(substitute(*predicate, axes), domainOf(sizes));
  if (mask->isConstant() && mask->value() != 0)
    mask.reset();
  return std::nullopt;
}
