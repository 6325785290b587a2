// Finds the cut through the arithmetic: walks backwards from the scores, operation by operation, until sums are left.
#include "passes/Fusion/ScoreFunction.h"
#include "dialect/IR/ElementFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Fusion/ScoreContents.h"
#include <cmath>

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// gelu by its polynomial and tanh has 12 operations; the limit keeps the search short.
static constexpr int kMostSteps = 64;
// A content and a second sum: a decay, a gate, a bias behind the function.
static constexpr size_t kUsualSums = 2;
// The limit if brackets of the program are computed for each query and key: a difference of times, one of gates, a
// mask.
static constexpr size_t kMostSums = 6;
// The most indices of an axis whose sum is written out: the coordinates of a point. More would exceed kMostSums.
static constexpr int64_t kShortAxis = 4;
// Summands behind a function. Published layers have up to 7 terms.
static constexpr size_t kMostParts = 16;

static bool isSame(const ElementOf &a, const ElementOf &b) { return a.tensor == b.tensor && a.at == b.at; }

/// One step backwards from an element, through one operation or a chain of index maps.
struct ScoreFunction::Step {
  std::optional<double> number; // the element is this number
  Operation *arithmetic = nullptr;
  /// The operands of the arithmetic; or the single source of an index map, which is multiplied by `scale`; or the
  /// operands of a sum of products, which is multiplied by `scale`: `factors` of each product, one after the other.
  std::vector<ElementOf> operands;
  size_t factors = 0;
  double scale = 1;
  Expr guard = 1;
  bool isLeaf() const { return !number && operands.empty(); }
  bool isMap() const { return !arithmetic && factors == 0 && operands.size() == 1; }

  /// Returns the step from an element; where `mask` hides it, its value does not matter.
  static Step of(const ElementOf &element, const Domain &domain, const std::optional<Expr> &mask) {
    Step step;
    step.number = splatValue(element.tensor);
    Operation *op = element.tensor.getDefiningOp();
    if (step.number || !op)
      return step;
    if (isArithmeticOnNumbers(op)) {
      step.arithmetic = op;
      for (Value operand : op->getOperands())
        step.operands.push_back({operand, element.at});
      return step;
    }
    ExpansionOptions options = optionsOfScores();
    options.arithmetic = options.scaledOperands = false;
    std::vector<Summand> summands = Expansion(domain, mask, options).expand(element.tensor, element.at);
    if (summands.size() != 1 || summands[0].value || summands[0].application)
      return step;
    Summand &summand = summands[0];
    step.guard = summand.guard;
    if (!summand.contracted.empty()) {
      step.writeOut(summand);
      return step;
    }
    // A tensor that is repeated along a run-time size is an einsum with ones.
    llvm::erase_if(summand.factors, [&](const Factor &factor) {
      auto one = splatValue(factor.operand);
      step.scale *= one.value_or(1);
      return one.has_value();
    });
    if (summand.factors.size() != 1 || summand.factors[0].operand == element.tensor)
      return step;
    step.scale *= summand.scale;
    step.operands.push_back({summand.factors[0].operand, summand.factors[0].subscripts});
    return step;
  }

private:
  /// Takes the products of a sum over one short axis, such as the squares of the coordinates of a distance. Their
  /// factors must be computed: vectors in memory are for products of queries and keys.
  void writeOut(const Summand &summand) {
    if (summand.contracted.size() != 1 || !std::isfinite(summand.scale))
      return;
    const auto &[axis, size] = *summand.contracted.begin();
    bool isShort = size > 0 && size <= kShortAxis;
    if (!isShort || summand.factors.empty() || !llvm::all_of(summand.factors, [](const Factor &factor) {
          return !factor.inverse && isArithmeticOnNumbers(factor.operand.getDefiningOp());
        }))
      return;
    factors = summand.factors.size(), scale = summand.scale;
    for (int64_t index = 0; index < size; ++index)
      for (const Factor &factor : summand.factors) {
        ElementOf element{factor.operand, factor.subscripts};
        for (Expr &subscript : element.at)
          subscript = substitute(subscript, {{axis, Expr(index)}});
        operands.push_back(std::move(element));
      }
  }
};

namespace skewer {
class ScoreFunctionFinder {
public:
  ScoreFunctionFinder(ScoreContents contents, const Domain &domain, const std::optional<Expr> &mask)
      : contents(std::move(contents)), domain(domain), mask(mask) {}

  /// Takes the guards of elements that make the whole 0 where the guards do not hold: they become guards of the whole.
  void takeGuards(const ElementOf &element) {
    ScoreFunction::Step step = ScoreFunction::Step::of(element, domain, mask);
    zeros.push_back(element);
    if (step.isMap() && std::isfinite(step.scale)) {
      inside = logicalAnd(inside, step.guard);
      return takeGuards(step.operands[0]);
    }
    if (step.isLeaf())
      inside = logicalAnd(inside, step.guard);
    // Products with elements that a condition sets to 0 are 0.
    if (isa_and_nonnull<arith::NegFOp, arith::MulFOp, arith::DivFOp>(step.arithmetic))
      takeGuards(step.operands[0]);
    if (isa_and_nonnull<arith::MulFOp>(step.arithmetic))
      takeGuards(step.operands[1]);
  }

  /// Finds a cut with at most `most` sums; of cuts with more than two sums it takes the first. With `keepsSums`, an
  /// element that already is a sum is taken apart last, so that a decay stays a sum next to the argument of a function.
  std::optional<std::vector<ElementOf>> cut(const ElementOf &root, bool keepsSums = false, size_t most = kUsualSums) {
    std::vector<ElementOf> front{root};
    std::optional<std::vector<ElementOf>> several;
    for (int count = 0; count < kMostSteps && !(several && most > kUsualSums); ++count) {
      if (front.size() == 1 && isSum(front[0]) && (!needsContent || contents.holds(front[0])))
        return front;
      if (!several && isOfSums(front, most))
        several = front;
      std::optional<size_t> last = lastOf(front, keepsSums);
      if (!last)
        break;
      ScoreFunction::Step step = stepOf(front[*last]);
      front.erase(front.begin() + static_cast<ptrdiff_t>(*last));
      for (const ElementOf &operand : step.operands)
        if (!splatValue(operand.tensor) &&
            llvm::none_of(front, [&](const ElementOf &known) { return isSame(known, operand); }))
          front.push_back(operand);
    }
    if (several) {
      auto content = llvm::find_if(*several, [&](const ElementOf &element) { return contents.hasKeyProduct(element); });
      if (content != several->end())
        std::rotate(several->begin(), content, content + 1);
    }
    return several;
  }

  /// Returns whether each element is a sum whose terms are no larger than the scores, except for tables of offsets.
  bool areSmall(const std::vector<ElementOf> &front) {
    return llvm::all_of(front, [&](const ElementOf &element) { return contents.isSmall(element, true); });
  }
  /// Returns whether the scores are a sum of terms as they are.
  bool isPlain(const ElementOf &root) { return contents.isSum(root) && contents.isSmall(root, true); }
  /// From now on a tensor that is computed for each query and key is no term, and scores of positions alone may be a
  /// function too.
  void keepNothing(const ElementOf &root) {
    strict = true;
    needsContent = contents.holds(root);
  }

  /// The last resort: keeps arithmetic on offsets alone as one table, such as a power whose base depends on the head.
  std::optional<std::vector<ElementOf>> cutAtTables(const ElementOf &root) {
    contents.tables = true;
    return cut(root);
  }

  /// Collects the summands of an element that is a sum as it is written; stops soon after kMostParts.
  void flatten(const ScaledElement &element, std::vector<ScaledElement> &parts) {
    if (parts.size() > kMostParts)
      return;
    ScoreFunction::Step step = stepOf(element);
    auto below = [&](unsigned operand, double factor) {
      flatten({step.operands[operand], element.scale * factor}, parts);
    };
    if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(step.arithmetic)) {
      // A bracket of the program without a product is one summand.
      bool holds[2] = {contents.holds(step.operands[0]), contents.holds(step.operands[1])};
      for (unsigned operand : {0u, 1u}) {
        double sign = operand && isa<arith::SubFOp>(step.arithmetic) ? -1 : 1;
        if (holds[operand])
          below(operand, sign);
        else
          parts.push_back({step.operands[operand], element.scale * sign});
      }
      return;
    }
    if (step.isMap() && std::isfinite(step.scale))
      return below(0, step.scale);
    if (isa_and_nonnull<arith::NegFOp>(step.arithmetic))
      return below(0, -1);
    for (unsigned operand : {0u, 1u})
      if (auto number = isa_and_nonnull<arith::MulFOp>(step.arithmetic) ? splatValue(step.operands[1 - operand].tensor)
                                                                        : std::optional<double>();
          number && std::isfinite(*number))
        return below(operand, *number);
    parts.push_back(element);
  }
  /// Handles f(sum) + other terms: puts the summand that is not itself a sum to the front.
  std::optional<std::vector<ScaledElement>> curvedFirst(const ElementOf &root) {
    std::vector<ScaledElement> parts;
    flatten({root, 1}, parts);
    auto isBeside = [&](const ScaledElement &part) { return isFlat(part) && !contents.hasKeyProduct(part); };
    auto first = llvm::find_if_not(parts, isBeside);
    if (parts.size() < 2 || parts.size() > kMostParts || first == parts.end() ||
        !std::all_of(first + 1, parts.end(), isBeside))
      return std::nullopt;
    std::rotate(parts.begin(), first, first + 1);
    auto isBracket = [&](const ScaledElement &part) { return contents.isBracket(part); };
    if (parts.size() > 2 && std::any_of(parts.begin() + 1, parts.end(), isBracket))
      return std::nullopt;
    return parts;
  }

  Expr inside = 1;

private:
  /// Returns the step. An element with a guard that is not taken from the whole counts as a leaf.
  ScoreFunction::Step stepOf(const ElementOf &element) const {
    ScoreFunction::Step step = ScoreFunction::Step::of(element, domain, mask);
    bool zero = llvm::any_of(zeros, [&](const ElementOf &known) { return isSame(known, element); });
    return step.guard.isConstant(1) || zero ? step : ScoreFunction::Step();
  }
  static bool isBehind(const ElementOf &a, const ElementOf &b) {
    Operation *first = a.tensor.getDefiningOp(), *second = b.tensor.getDefiningOp();
    return first != second && second->isBeforeInBlock(first);
  }
  /// Returns the element to take apart next: the last computed, since it may depend on the others.
  std::optional<size_t> lastOf(const std::vector<ElementOf> &front, bool keepsSums) {
    std::optional<size_t> last;
    for (auto [number, element] : llvm::enumerate(front))
      if (!stepOf(element).isLeaf() && (!last || isBehind(element, front[*last])) && !(keepsSums && isFlat(element)))
        last = number;
    return last || !keepsSums ? last : lastOf(front, false);
  }
  bool isSum(const ElementOf &element) {
    return contents.isSum(element) && (!strict || contents.isSmall(element, true));
  }
  bool isFlat(const ElementOf &element) { return contents.isSum(element) && contents.isSmall(element); }
  bool isOfSums(const std::vector<ElementOf> &front, size_t most) {
    auto contained = llvm::count_if(front, [&](auto &e) { return contents.hasKeyProduct(e); });
    return front.size() >= kUsualSums && front.size() <= most && contained <= 1 && (contained == 1 || !needsContent) &&
           llvm::all_of(front, [&](auto &e) { return isFlat(e); });
  }
  bool strict = false, needsContent = true;

  ScoreContents contents;
  Domain domain;
  std::optional<Expr> mask;
  std::vector<ElementOf> zeros;
};
} // namespace skewer

bool skewer::holdsContent(const ElementOf &element, const std::string &queryAxis, const std::string &keyAxis,
                          const Domain &domain) {
  return ScoreContents(queryAxis, keyAxis, domain, std::nullopt).holds(element);
}

std::optional<ScoreFunction> ScoreFunction::find(const ElementOf &root, const std::string &queryAxis,
                                                 const std::string &keyAxis, const Domain &domain,
                                                 const std::optional<Expr> &mask, bool takesGuards) {
  ScoreContents contents(queryAxis, keyAxis, domain, mask);
  for (const Expr &index : root.at)
    contents.axes.merge(symbolsOf(index));
  ScoreFunctionFinder finder(std::move(contents), domain, mask);
  if (takesGuards)
    finder.takeGuards(root);
  ScoreFunction function;
  function.inside = finder.inside;
  function.root = root;
  function.domain = domain;
  function.mask = mask;
  if (function.search(finder))
    return function;
  return std::nullopt;
}

bool ScoreFunction::take(ScoreFunctionFinder &finder, std::optional<std::vector<ElementOf>> cut, bool small) {
  if (!cut || (small && !finder.areSmall(*cut)))
    return false;
  sums.clear();
  for (const ElementOf &element : *cut)
    sums.push_back({{element, 1}});
  return true;
}

bool ScoreFunction::takeCurved(ScoreFunctionFinder &finder, bool small) {
  auto parts = finder.curvedFirst(root);
  auto cut = parts ? finder.cut((*parts)[0]) : std::nullopt;
  if (!cut || cut->size() != 1 || (small && !finder.areSmall(*cut)))
    return false;
  curved = (*parts)[0];
  sums = {{{(*cut)[0], 1}}, {parts->begin() + 1, parts->end()}};
  return true;
}

/// Searches the cuts in order of preference, first those without tensors in memory as large as the scores: a bracket of
/// the program that depends on query and key is then part of the function.
bool ScoreFunction::search(ScoreFunctionFinder &finder) {
  auto cut = finder.cut(root);
  if (take(finder, cut, true) || (!cut && takeCurved(finder, true)) || take(finder, finder.cut(root, true), true))
    return true;
  if (!finder.isPlain(root)) {
    ScoreFunctionFinder within = finder;
    within.keepNothing(root);
    ScoreFunctionFinder atTables = within;
    if (take(within, within.cut(root, true), true) || takeCurved(within, true) ||
        take(atTables, atTables.cutAtTables(root), true) || take(within, within.cut(root, true, kMostSums), true))
      return true;
  }
  return take(finder, cut, false) || takeCurved(finder, false) || take(finder, finder.cut(root, true), false) ||
         take(finder, finder.cutAtTables(root), false);
}

bool ScoreFunction::isIdentity() const {
  ElementOf element = root;
  while (sums.size() == 1 && !isSame(element, sums[0][0])) {
    Step step = Step::of(element, domain, mask);
    if (!step.isMap() || step.scale != 1)
      return false;
    element = step.operands[0];
  }
  return sums.size() == 1;
}

/// Clones the operation, or emits the function that it names, on single numbers.
static Value clonedOn(OpBuilder &builder, Operation *op, IRMapping &operands) {
  if (auto apply = dyn_cast<ApplyOp>(op)) {
    SmallVector<Value> arguments;
    for (Value input : apply.getInputs())
      arguments.push_back(operands.lookup(input));
    return findElementFunction(op->getContext(), apply.getFunction())->emit(builder, op->getLoc(), arguments);
  }
  Operation *one = builder.clone(*op, operands);
  one->getResult(0).setType(getElementTypeOrSelf(one->getResult(0).getType()));
  return one->getResult(0);
}

/// Returns the sum of products of `factors` elements each; of one element if `factors` is 0.
static Value sumOfProducts(OpBuilder &builder, Location location, size_t factors, ArrayRef<ElementOf> elements,
                           llvm::function_ref<Value(const ElementOf &)> emitted) {
  Value sum;
  for (size_t first = 0; first < elements.size(); first += std::max<size_t>(factors, 1)) {
    Value product = emitted(elements[first]);
    for (size_t factor = 1; factor < factors; ++factor)
      product = arith::MulFOp::create(builder, location, product, emitted(elements[first + factor]));
    sum = sum ? arith::AddFOp::create(builder, location, sum, product) : product;
  }
  return sum;
}

void ScoreFunction::emit(OpBuilder &builder, Region &region) const {
  OpBuilder::InsertionGuard before(builder);
  Location location = root.tensor.getLoc();
  SmallVector<Type> types(sums.size(), builder.getF32Type());
  SmallVector<Location> locations;
  for (const auto &sum : sums)
    locations.push_back(sum[0].tensor.getLoc());
  Block *block = builder.createBlock(&region, region.end(), types, locations);
  std::vector<std::pair<ElementOf, Value>> made;
  for (auto [sum, argument] : llvm::zip(sums, block->getArguments()))
    if (sum.size() == 1)
      made.push_back({sum[0], argument});
  auto constant = [&](double number) -> Value {
    return arith::ConstantOp::create(builder, location, builder.getF32FloatAttr(static_cast<float>(number)));
  };
  std::function<Value(const ElementOf &)> emitted = [&](const ElementOf &element) -> Value {
    for (const auto &[known, value] : made)
      if (isSame(known, element))
        return value;
    Step step = Step::of(element, domain, mask);
    Value value;
    if (step.number) {
      value = constant(*step.number);
    } else if (step.arithmetic) {
      IRMapping operands;
      for (const ElementOf &operand : step.operands)
        operands.map(operand.tensor, emitted(operand));
      value = clonedOn(builder, step.arithmetic, operands);
    } else {
      value = sumOfProducts(builder, element.tensor.getLoc(), step.factors, step.operands, emitted);
      if (step.scale != 1)
        value = arith::MulFOp::create(builder, element.tensor.getLoc(), value, constant(step.scale));
    }
    made.push_back({element, value});
    return value;
  };
  Value result = emitted(curved ? *curved : root);
  if (curved) {
    if (curved->scale != 1)
      result = arith::MulFOp::create(builder, location, result, constant(curved->scale));
    result = arith::AddFOp::create(builder, location, result, block->getArgument(1));
  }
  YieldOp::create(builder, location, result);
}
