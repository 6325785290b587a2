// The cut through the arithmetic: backwards from the scores, operation by operation, until what is left are sums.
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

// gelu by its polynomial and tanh is 12 operations; what is larger is not looked at for ever.
static constexpr int kMostSteps = 64;
// A content, and what meets it: a decay, a gate, a bias behind the function.
static constexpr size_t kMostSums = 2;
// Summands behind a function: published layers have up to 7 terms.
static constexpr size_t kMostParts = 16;

static bool isSame(const ElementOf &a, const ElementOf &b) { return a.tensor == b.tensor && a.at == b.at; }

/// One operation backwards.
struct ScoreFunction::Step {
  std::optional<double> number; // it is this
  Operation *arithmetic = nullptr;
  std::vector<ElementOf> operands; // of the arithmetic; or the one that is moved to it, times `scale`
  double scale = 1;
  Expr guard = 1;
  bool isLeaf() const { return !number && operands.empty(); }

  static Step of(const ElementOf &element, const Domain &domain) {
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
    std::vector<Summand> summands = Expansion(domain, std::nullopt, options).expand(element.tensor, element.at);
    if (summands.size() != 1 || summands[0].value || summands[0].application)
      return step;
    Summand &summand = summands[0];
    step.guard = summand.guard;
    if (!summand.contracted.empty())
      return step;
    // What is repeated along a run-time size is an einsum with ones.
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
};

namespace skewer {
class ScoreFunctionFinder {
public:
  ScoreFunctionFinder(ScoreContents contents, const Domain &domain) : contents(std::move(contents)), domain(domain) {}

  /// Elements that are 0 where guards below them do not hold: those guards are of the whole.
  void takeGuards(const ElementOf &element) {
    ScoreFunction::Step step = ScoreFunction::Step::of(element, domain);
    zeros.push_back(element);
    if (!step.arithmetic && step.operands.size() == 1 && std::isfinite(step.scale)) {
      inside = logicalAnd(inside, step.guard);
      return takeGuards(step.operands[0]);
    }
    if (step.isLeaf())
      inside = logicalAnd(inside, step.guard);
    // What a condition took away takes no part in products.
    if (isa_and_nonnull<arith::NegFOp, arith::MulFOp, arith::DivFOp>(step.arithmetic))
      takeGuards(step.operands[0]);
    if (isa_and_nonnull<arith::MulFOp>(step.arithmetic))
      takeGuards(step.operands[1]);
  }

  /// `keepsSums`: what is a sum already is taken apart last; so a decay stays one beside what is behind a function.
  std::optional<std::vector<ElementOf>> cut(const ElementOf &root, bool keepsSums = false) {
    std::vector<ElementOf> front{root};
    std::optional<std::vector<ElementOf>> two;
    for (int count = 0; count < kMostSteps; ++count) {
      if (front.size() == 1 && contents.holds(front[0]) && contents.isSum(front[0]))
        return front;
      if (!two && isOfSums(front))
        two = front;
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
    if (two && contents.hasKeyProduct((*two)[1]))
      std::swap((*two)[0], (*two)[1]);
    return two;
  }

  /// Where all else fails, what arithmetic makes of offsets alone is not taken apart: a power whose base a head has.
  std::optional<std::vector<ElementOf>> cutAtTables(const ElementOf &root) {
    contents.tables = true;
    return cut(root);
  }

  /// The summands of an element that is a sum as it is written; not many more than are of use.
  void flatten(const ScaledElement &element, std::vector<ScaledElement> &parts) const {
    if (parts.size() > kMostParts)
      return;
    ScoreFunction::Step step = stepOf(element);
    auto below = [&](unsigned operand, double factor) {
      flatten({step.operands[operand], element.scale * factor}, parts);
    };
    if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(step.arithmetic)) {
      below(0, 1);
      return below(1, isa<arith::SubFOp>(step.arithmetic) ? -1 : 1);
    }
    if (!step.arithmetic && step.operands.size() == 1 && std::isfinite(step.scale))
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
  /// f(sum) + other terms: the summand that is no sum itself goes to the front.
  std::optional<std::vector<ScaledElement>> curvedFirst(const ElementOf &root) {
    std::vector<ScaledElement> parts;
    flatten({root, 1}, parts);
    auto isBeside = [&](const ScaledElement &part) { return isFlat(part) && !contents.hasKeyProduct(part); };
    auto first = llvm::find_if_not(parts, isBeside);
    if (parts.size() < 2 || parts.size() > kMostParts || first == parts.end() ||
        !std::all_of(first + 1, parts.end(), isBeside))
      return std::nullopt;
    std::rotate(parts.begin(), first, first + 1);
    return parts;
  }

  Expr inside = 1;

private:
  /// Guards are taken away from the whole, or else are none of the function's business.
  ScoreFunction::Step stepOf(const ElementOf &element) const {
    ScoreFunction::Step step = ScoreFunction::Step::of(element, domain);
    bool zero = llvm::any_of(zeros, [&](const ElementOf &known) { return isSame(known, element); });
    return step.guard.isConstant(1) || zero ? step : ScoreFunction::Step();
  }
  static bool isBehind(const ElementOf &a, const ElementOf &b) {
    Operation *first = a.tensor.getDefiningOp(), *second = b.tensor.getDefiningOp();
    return first != second && second->isBeforeInBlock(first);
  }
  /// Which of them is taken apart next; the last to be computed, since it may be made of the others.
  std::optional<size_t> lastOf(const std::vector<ElementOf> &front, bool keepsSums) {
    std::optional<size_t> last;
    for (auto [number, element] : llvm::enumerate(front))
      if (!stepOf(element).isLeaf() && (!last || isBehind(element, front[*last])) && !(keepsSums && isFlat(element)))
        last = number;
    return last || !keepsSums ? last : lastOf(front, false);
  }
  bool isFlat(const ElementOf &element) { return contents.isSum(element) && contents.isSmall(element); }
  bool isOfSums(const std::vector<ElementOf> &front) {
    return front.size() == kMostSums &&
           llvm::count_if(front, [&](auto &e) { return contents.hasKeyProduct(e); }) == 1 &&
           llvm::all_of(front, [&](auto &e) { return isFlat(e); });
  }

  ScoreContents contents;
  Domain domain;
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
  ScoreFunctionFinder finder(ScoreContents(queryAxis, keyAxis, domain, mask), domain);
  if (takesGuards)
    finder.takeGuards(root);
  ScoreFunction function;
  function.inside = finder.inside;
  function.root = root;
  function.domain = domain;
  auto cut = finder.cut(root);
  if (!cut)
    if (auto parts = finder.curvedFirst(root)) {
      cut = finder.cut((*parts)[0]);
      if (!cut || cut->size() != 1)
        return std::nullopt;
      function.curved = (*parts)[0];
      function.sums = {{{(*cut)[0], 1}}, {parts->begin() + 1, parts->end()}};
      return function;
    }
  if (!cut)
    cut = finder.cut(root, true);
  if (!cut)
    cut = finder.cutAtTables(root);
  if (!cut)
    return std::nullopt;
  for (const ElementOf &element : *cut)
    function.sums.push_back({{element, 1}});
  return function;
}

bool ScoreFunction::isIdentity() const {
  ElementOf element = root;
  while (sums.size() == 1 && !isSame(element, sums[0][0])) {
    Step step = Step::of(element, domain);
    if (step.arithmetic || step.operands.size() != 1 || step.scale != 1)
      return false;
    element = step.operands[0];
  }
  return sums.size() == 1;
}

/// The operation, or what a function that it names is made of, on single numbers.
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
    Step step = Step::of(element, domain);
    Value value;
    if (step.number) {
      value = constant(*step.number);
    } else if (step.arithmetic) {
      IRMapping operands;
      for (const ElementOf &operand : step.operands)
        operands.map(operand.tensor, emitted(operand));
      value = clonedOn(builder, step.arithmetic, operands);
    } else {
      value = emitted(step.operands[0]);
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
