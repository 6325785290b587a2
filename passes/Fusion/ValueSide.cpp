// Follows the weights to the products that are made of them, and changes the axis that a product sums over to the key.
#include "passes/Fusion/ValueSide.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/Views.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Returns the number that a product or quotient multiplies the other operand by.
std::optional<double> multiplierOf(Operation *op, unsigned operand) {
  if (isa<arith::NegFOp>(op))
    return -1;
  if (isa<arith::MulFOp>(op))
    return splatValue(op->getOperand(1 - operand));
  if (isa<arith::DivFOp>(op) && operand == 0)
    if (auto divisor = splatValue(op->getOperand(1)))
      return 1 / *divisor;
  return std::nullopt;
}

/// Follows the weights forward, operation by operation, until a single tensor depends on all that was made of them.
class Follower {
public:
  explicit Follower(const WeightSource &source) : source(source) {
    carriers[source.weights] = {false, uses(source.operation) -
                                           static_cast<int64_t>(source.totals.size() + source.stored.size())};
  }

  OrRefusal<Value> root() {
    if (carriers[source.weights].uses <= 0)
      return Refusal{"the weights are not used"};
    for (Operation *op = source.operation->getNextNode(); op; op = op->getNextNode()) {
      if (llvm::is_contained(source.totals, dyn_cast<EinsumOp>(op)))
        continue;
      SmallVector<unsigned> carried;
      for (OpOperand &operand : op->getOpOperands())
        if (carriers.count(operand.get()) && !llvm::is_contained(source.stored, &operand))
          carried.push_back(operand.getOperandNumber());
      if (carried.empty())
        continue;
      std::optional<bool> isProduct = pass(op, carried);
      if (!isProduct)
        return Refusal{whyNotFollowed(op)};
      for (unsigned number : carried)
        --carriers[op->getOperand(number)].uses;
      carriers.remove_if([](auto &entry) { return entry.second.uses == 0; });
      if (*isProduct && carriers.empty())
        return op->getResult(0);
      carriers[op->getResult(0)] = {*isProduct, uses(op)};
    }
    return Refusal{"the weights do not go into an einsum with the values"};
  }

private:
  struct Carrier {
    bool isProduct = false; // summed with values; otherwise still weights
    int64_t uses = 0;       // by operations that are still to come
  };
  static int64_t uses(Operation *op) { return std::distance(op->use_begin(), op->use_end()); }

  /// Returns whether the result is a product; nothing if the operation is not linear in the tensors that carry weights.
  std::optional<bool> pass(Operation *op, ArrayRef<unsigned> carried) {
    if (op->getNumResults() != 1)
      return std::nullopt;
    bool isProduct = carriers[op->getOperand(carried[0])].isProduct;
    if (isa<arith::AddFOp, arith::SubFOp>(op)) {
      for (unsigned number : carried)
        if (!carriers[op->getOperand(number)].isProduct)
          return std::nullopt;
      return true;
    }
    if (carried.size() != 1)
      return std::nullopt;
    if (mapOf(op))
      return isProduct;
    if (isa<EinsumOp>(op) && !isProduct)
      return true;
    if (multiplierOf(op, carried[0]))
      return isProduct;
    return std::nullopt;
  }

  std::string whyNotFollowed(Operation *op) {
    Value weights = source.weights;
    bool alone = weights.hasOneUse() && llvm::is_contained(op->getOperands(), weights);
    if (!alone && (op->hasTrait<OpTrait::IsTerminator>() || !weights.hasOneUse()))
      return "the weights are used more than once, and not in a sum of products";
    return "the weights do not go into an einsum with the values";
  }

  const WeightSource &source;
  llvm::MapVector<Value, Carrier> carriers;
};

bool dependsOn(Value tensor, Value source) {
  llvm::DenseSet<Operation *> seen;
  std::function<bool(Value)> reaches = [&](Value value) {
    if (value == source)
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(op).second)
      return false;
    return llvm::any_of(op->getOperands(), reaches);
  };
  return reaches(tensor);
}

bool divide(const WeightedSummand &whole, Value weights, WeightUses &uses) {
  if (!dependsOn(whole.tensor, weights)) {
    if (whole.scale != 1 && whole.scale != -1)
      return false;
    uses.others.push_back(whole);
    return true;
  }
  Operation *op = whole.tensor.getDefiningOp();
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    WeightedSummand left = whole, right = whole;
    left.tensor = op->getOperand(0), right.tensor = op->getOperand(1);
    if (isa<arith::SubFOp>(op)) {
      right.scale = -right.scale;
      right.factor = {};
    }
    return divide(left, weights, uses) && divide(right, weights, uses);
  }
  for (unsigned number = 0; number < op->getNumOperands(); ++number)
    if (isa<arith::NegFOp, arith::MulFOp, arith::DivFOp>(op) && dependsOn(op->getOperand(number), weights))
      if (auto by = multiplierOf(op, number)) {
        WeightedSummand inner{op->getOperand(number), whole.scale * *by, {}};
        if (isa<arith::MulFOp>(op) && whole.scale == 1)
          inner.factor = op->getOperand(1 - number);
        return divide(inner, weights, uses);
      }
  uses.products.push_back(whole);
  return true;
}
} // namespace

OrRefusal<WeightUses> skewer::findWeightUses(const WeightSource &source) {
  WeightUses uses;
  auto root = Follower(source).root();
  if (!root)
    return root.refusal();
  uses.root = *root;
  if (!divide({uses.root, 1, {}}, source.weights, uses))
    return Refusal{"a tensor that is not made of the weights is scaled together with their products"};
  return uses;
}

std::vector<EinsumOp> skewer::productsWithValues(const WeightUses &uses, Value weights) {
  auto readsPlainly = [](EinsumOp einsum) {
    auto spec = parseEinsum(std::string_view(einsum.getSpec()));
    if (!spec || !spec->result || einsum.getGuard())
      return false;
    // Heads that share values are read at (h // 2); the summed axes may still be read plainly.
    std::set<std::string> kept = axesOf(*spec->result);
    auto isPlain = [&](const Dimension &dimension) {
      return dimension.isProduct() ||
             llvm::all_of(symbolsOf(dimension.index), [&](const std::string &axis) { return kept.count(axis); });
    };
    return llvm::all_of(spec->operands, [&](const Dimensions &operand) { return llvm::all_of(operand, isPlain); });
  };
  // An operand that batch rows share is more likely a table, and does not tell the number of rows.
  auto rank = [&](EinsumOp einsum) {
    int64_t most = 0;
    for (Value operand : einsum.getInputs())
      if (operand != weights)
        most = std::max(most, cast<RankedTensorType>(operand.getType()).getRank());
    return most;
  };
  auto order = [&](EinsumOp einsum) { return std::make_pair(!readsPlainly(einsum), -rank(einsum)); };
  std::vector<EinsumOp> products;
  for (const WeightedSummand &one : uses.products)
    if (auto einsum = one.tensor.getDefiningOp<EinsumOp>(); einsum && llvm::is_contained(einsum.getInputs(), weights))
      products.insert(llvm::upper_bound(products, einsum, [&](EinsumOp a, EinsumOp b) { return order(a) < order(b); }),
                      einsum);
  return products;
}

void skewer::replaceSum(OpBuilder &builder, const WeightUses &uses, Value output, Value factor) {
  Location location = uses.root.getLoc();
  if (factor)
    output = arith::MulFOp::create(builder, location, output, factor);
  for (const WeightedSummand &other : uses.others)
    output = other.scale > 0 ? arith::AddFOp::create(builder, location, output, other.tensor).getResult()
                             : arith::SubFOp::create(builder, location, output, other.tensor).getResult();
  Value root = uses.root;
  root.replaceAllUsesWith(output);
  root.getDefiningOp()->erase();
}

namespace {
/// key = sign*summed + slope*query + constant.
struct KeyOfSummed {
  int64_t sign = 1, slope = 0, constant = 0;
};

/// Guesses the form from a few points at which the weights of query i itself are read; the caller proves it.
std::optional<KeyOfSummed> guess(const Expr &key, const std::vector<Expr> &others, const std::vector<Expr> &wanted,
                                 const Expr &guard, const std::string &summed, int64_t extent, int64_t queries,
                                 const std::set<std::string> &symbols) {
  Assignment at;
  for (const std::string &symbol : symbols)
    at[symbol] = 0;
  auto keyAt = [&](int64_t i, int64_t r) -> std::optional<int64_t> {
    at[kQueryAxis] = i, at[summed] = r;
    auto present = evaluate(guard, at);
    if (!present || !*present)
      return std::nullopt;
    for (auto [read, own] : llvm::zip(others, wanted))
      if (evaluate(read, at) != evaluate(own, at))
        return std::nullopt;
    return evaluate(key, at);
  };
  struct Point {
    int64_t i, r, key;
  };
  std::vector<Point> line; // two neighbours of one query, one of another
  for (int64_t i : {queries / 2, queries / 2 + 1 < queries ? queries / 2 + 1 : queries / 2 - 1}) {
    if (i < 0)
      break;
    std::optional<Point> before;
    for (int64_t r = 0; r < extent; ++r) {
      auto found = keyAt(i, r);
      if (!found) {
        before.reset();
        continue;
      }
      Point here{i, r, *found};
      if (line.size() == 2) {
        line.push_back(here);
        break;
      }
      if (before) {
        line = {*before, here};
        break;
      }
      before = here;
    }
  }
  if (line.size() < 2)
    return std::nullopt;
  KeyOfSummed result;
  result.sign = line[1].key - line[0].key;
  if (result.sign != 1 && result.sign != -1)
    return std::nullopt;
  if (line.size() == 3) {
    int64_t step = line[2].i - line[0].i;
    result.slope = (line[2].key - line[0].key - result.sign * (line[2].r - line[0].r)) * step; // step is 1 or -1
  } else if (queries > 1) {
    return std::nullopt;
  }
  result.constant = line[0].key - result.sign * line[0].r - result.slope * line[0].i;
  return result;
}

/// Returns whether the predicate is false at every point.
bool isNever(const Expr &predicate, const Domain &domain) {
  Expr simple = simplify(predicate, domain);
  if (simple.isConstant())
    return simple.value() == 0;
  return proveWithin(simple, {0, 0}, domain).outcome == Proof::Proven;
}

/// The axes that a product of the weights sums over, as functions of the key.
struct SummedInKeys {
  Substitution axes;
  Expr inside = 1; // where the key belongs to a point of the summed axes
};

/// Returns the axes of a sum over one axis that reads keys at sign*axis + slope*query + constant; nothing if a point is
/// read that belongs to no key.
std::optional<SummedInKeys> alongOneAxis(const Summand &product, const Factor &read, const std::string &axis,
                                         const WeightIndices &indices, const AxisSizes &sizes, const Domain &domain) {
  int64_t extent = product.contracted.at(axis), queries = indices.sizes.at(kQueryAxis),
          count = indices.sizes.at(kKeyAxis);
  std::vector<Expr> others, wanted;
  for (size_t k = 0; k < read.subscripts.size(); ++k)
    if (k != indices.keyDimension) {
      others.push_back(read.subscripts[k]);
      wanted.push_back(indices.at[k]);
    }
  std::set<std::string> symbols;
  for (const auto &entry : sizes)
    symbols.insert(entry.first);
  auto form =
      guess(read.subscripts[indices.keyDimension], others, wanted, product.guard, axis, extent, queries, symbols);
  if (!form)
    return std::nullopt;
  SummedInKeys result;
  // summed = sign*(key - slope*query - constant)
  Expr query = Expr(form->slope) * Expr::symbol(kQueryAxis);
  Expr offset = Expr::symbol(kKeyAxis) - query - Expr(form->constant);
  result.axes[axis] = form->sign > 0 ? offset : -offset;
  auto range = bound(Expr(form->sign) * Expr::symbol(axis) + query + Expr(form->constant), domain);
  if (!range)
    return std::nullopt;
  for (subscript::Range outside :
       {subscript::Range{range->range.low, -1}, subscript::Range{count, range->range.high}}) {
    if (outside.low > outside.high)
      continue;
    Domain beside = domain;
    beside[kKeyAxis] = outside;
    if (!isNever(substitute(product.guard, result.axes), beside))
      return std::nullopt;
  }
  result.inside = logicalAnd(lessEqual(Expr(0), result.axes[axis]), lessEqual(result.axes[axis], Expr(extent - 1)));
  return result;
}

std::optional<SummedInKeys> summedInKeys(const Summand &product, const Factor &read,
                                         const std::set<std::string> &summed, const WeightIndices &indices,
                                         const AxisSizes &sizes, const Domain &domain) {
  std::vector<std::string> axes =
      dimensionFor(read.subscripts[indices.keyDimension], sizes, indices.sizes.at(kKeyAxis)).axes;
  if (!axes.empty() && std::set<std::string>(axes.begin(), axes.end()) == summed) {
    auto parts = splitProduct(Expr::symbol(kKeyAxis), axes, sizes);
    if (!parts)
      return std::nullopt;
    SummedInKeys result;
    for (auto [axis, part] : llvm::zip(axes, *parts))
      result.axes[axis] = simplify(part, domain);
    return result;
  }
  if (summed.size() == 1)
    return alongOneAxis(product, read, *summed.begin(), indices, sizes, domain);
  // A single key is read at the constant 0.
  return summed.empty() && indices.sizes.at(kKeyAxis) == 1 ? std::optional(SummedInKeys()) : std::nullopt;
}
} // namespace

OrRefusal<Summand> skewer::asValueTerm(Summand product, Value weights, const WeightIndices &indices) {
  const Refusal refusal{"the weights are read in a way that is no sum over keys"};
  auto isWeights = [&](const Factor &factor) { return factor.operand == weights; };
  if (llvm::count_if(product.factors, isWeights) != 1)
    return refusal;
  auto place = llvm::find_if(product.factors, isWeights);
  Factor read = *place;
  product.factors.erase(place);

  Domain domain = domainOf(indices.sizes);
  AxisSizes sizes = indices.sizes;
  for (const auto &[axis, size] : product.contracted) {
    if (size == kRuntime)
      return refusal;
    domain[axis] = {0, size - 1};
    sizes[axis] = size;
  }
  std::set<std::string> summed;
  for (const Expr &subscript : read.subscripts)
    for (const std::string &symbol : symbolsOf(subscript))
      if (product.contracted.count(symbol))
        summed.insert(symbol);
  auto inKeys = summedInKeys(product, read, summed, indices, sizes, domain);
  if (!inKeys)
    return refusal;
  const Substitution &keys = inKeys->axes;
  for (auto axis = product.contracted.begin(); axis != product.contracted.end();)
    axis = axis->second == 1 && !summed.count(axis->first) ? product.contracted.erase(axis) : std::next(axis);
  for (const std::string &axis : summed) {
    if (!keys.count(axis))
      return refusal;
    product.contracted.erase(axis);
    domain.erase(axis);
  }

  product.guard = simplify(logicalAnd(substitute(product.guard, keys), inKeys->inside), domain);
  std::optional<Expr> guard;
  if (!product.guard.isConstant())
    guard = product.guard;
  for (size_t k = 0; k < read.subscripts.size(); ++k)
    if (simplify(substitute(read.subscripts[k], keys), domain, guard) != simplify(indices.at[k], domain))
      return refusal;
  for (Factor &factor : product.factors)
    for (Expr &subscript : factor.subscripts)
      subscript = simplify(substitute(subscript, keys), domain, guard);
  if (product.value)
    product.value = simplify(substitute(*product.value, keys), domain, guard);
  for (const std::string &symbol : symbolsOf(product.guard))
    if (product.contracted.count(symbol))
      return refusal;
  return product;
}

Expr skewer::canonicalGuard(const Expr &guard, const std::vector<std::string> &query,
                            const std::vector<std::string> &key, const Domain &domain) {
  if (guard.isConstant() || query.size() != 1 || key.size() != 1)
    return guard;
  auto interval = asOffsetInterval(guard, query[0], key[0], domain);
  if (!interval)
    return guard;
  Expr i = Expr::symbol(query[0]), j = Expr::symbol(key[0]);
  if (interval->low == -interval->high && interval->high > 0)
    return lessEqual(abs(j - i), Expr(interval->high));
  std::optional<Expr> result;
  if (interval->low != INT64_MIN)
    result = interval->low == 0 ? lessEqual(i, j) : lessEqual(i + Expr(interval->low), j);
  if (interval->high != INT64_MAX) {
    Expr below = interval->high == 0 ? lessEqual(j, i) : lessEqual(j, i + Expr(interval->high));
    result = result ? logicalAnd(*result, below) : below;
  }
  return result.value_or(Expr(1));
}
