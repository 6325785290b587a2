// Counts useful FLOPs from the classes of terms, and the pairs that a mask leaves visible.
#include "codegen/Compiler/Flops.h"
#include "dialect/Subscript/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer {
namespace {

using Sizes = std::map<std::string, int64_t>;

double product(const std::vector<std::string> &axes, const AxisSizes &sizes) {
  double result = 1;
  for (const std::string &axis : axes) {
    auto size = sizes.find(axis);
    if (size != sizes.end() && size->second != kRuntime)
      result *= static_cast<double>(size->second);
  }
  return result;
}

/// Returns the value of a dimension of run-time size: from the argument that has it, or the only such size.
double runTimeSize(Value operand, size_t dimension, func::FuncOp function, const Sizes &sizes) {
  if (auto argument = dyn_cast<BlockArgument>(operand))
    if (auto shape = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "attn.shape"))
      if (dimension < shape.size())
        if (auto name = dyn_cast<StringAttr>(shape[dimension])) {
          auto size = sizes.find(name.str());
          if (size != sizes.end())
            return static_cast<double>(size->second);
        }
  return sizes.size() == 1 ? static_cast<double>(sizes.begin()->second) : 1;
}

/// Sets the sizes of axes that stand alone in a dimension of run-time size.
void fillRunTime(const Dimensions &dimensions, Value operand, func::FuncOp function, const Sizes &sizes,
                 AxisSizes &axes) {
  std::vector<int64_t> shape = shapeOf(operand);
  for (size_t k = 0; k < dimensions.size() && k < shape.size(); ++k)
    if (shape[k] == kRuntime && dimensions[k].isAxis())
      axes[dimensions[k].axes.front()] = static_cast<int64_t>(runTimeSize(operand, k, function, sizes));
}

bool hasIndexExpression(const Einsum &spec) {
  for (const Dimensions &operand : spec.operands)
    for (const Dimension &dimension : operand)
      if (!dimension.isProduct() && !dimension.index.isConstant())
        return true;
  return false;
}

} // namespace

/// Returns the conjuncts of a predicate that depend only on the axes; sets `left` if there are others.
static Expr ofPositions(const Expr &predicate, const std::vector<std::string> &axes, bool &left) {
  if (predicate.kind() == Kind::And) {
    Expr all = 1;
    for (const Expr &operand : predicate.operands())
      all = logicalAnd(all, ofPositions(operand, axes, left));
    return all;
  }
  std::set<std::string> symbols = symbolsOf(predicate);
  if (readsOf(predicate).empty() &&
      llvm::all_of(symbols, [&](const std::string &symbol) { return llvm::is_contained(axes, symbol); }))
    return predicate;
  left = true;
  return 1;
}

/// Counts the pairs at which a predicate holds, one by one. Parts that depend on more than positions and heads count as
/// true. Returns the number of all pairs if they are too many to count; the mean over heads if heads see different
/// keys.
static VisiblePairs countPairs(const Expr &whole, const ScoreSpace &space) {
  double all = static_cast<double>(space.queries()) * static_cast<double>(space.keys()), heads = 1;
  std::vector<std::string> axes = space.query;
  axes.insert(axes.end(), space.key.begin(), space.key.end());
  std::vector<std::string> known = axes;
  llvm::copy_if(space.leading, std::back_inserter(known),
                [&](const std::string &axis) { return space.sizes.at(axis) != kRuntime; });
  bool isMore = false;
  Expr predicate = ofPositions(whole, known, isMore);
  std::set<std::string> named = symbolsOf(predicate);
  for (const std::string &axis : space.leading)
    if (named.count(axis)) {
      axes.push_back(axis);
      heads *= static_cast<double>(space.sizes.at(axis));
    }
  std::string note = isMore ? "the mask depends on run-time values or the batch row, so this is an upper bound" : "";
  if (predicate.isConstant(1))
    return {all, note};
  if (all * heads > 1 << 24)
    return {all, "the mask has too many pairs to count them: at most so much"};
  Program program(axes);
  size_t holds = program.add(predicate);
  std::vector<int64_t> at(axes.size(), 0);
  double pairs = 0;
  for (size_t place = 0; place < axes.size();) {
    program.run(at);
    pairs += program.value(holds).value_or(1) != 0;
    for (place = 0; place < axes.size() && ++at[place] == space.sizes.at(axes[place]); ++place)
      at[place] = 0;
  }
  return {pairs / heads, note};
}

VisiblePairs visiblePairs(AttentionOp attention) {
  auto view = viewOf(attention);
  const ScoreSpace &space = view->space;
  double queries = static_cast<double>(space.queries()), keys = static_cast<double>(space.keys());
  const std::optional<Expr> &predicate = view->mask;
  if (!predicate)
    return {queries * keys, ""};
  auto interval = space.query.size() == 1 && space.key.size() == 1
                      ? asOffsetInterval(*predicate, space.query.front(), space.key.front(), domainOf(space.sizes))
                      : std::nullopt;
  if (!interval)
    return countPairs(*predicate, space);
  if (interval->low <= -(space.queries() - 1) && interval->high == 0 && space.queries() == space.keys())
    return {queries * keys / 2, ""};
  double pairs = 0;
  for (int64_t i = 0; i < space.queries(); ++i) {
    int64_t first = interval->low <= -i ? 0 : interval->low + i;
    int64_t last = interval->high >= space.keys() - 1 - i ? space.keys() - 1 : interval->high + i;
    pairs += static_cast<double>(std::max<int64_t>(0, last - first + 1));
  }
  return {pairs, ""};
}

double usefulFlops(const Term &term, double pairs) {
  TermAnalysis found = analyse(term);
  if (found.ofPlugin)
    return found.ofPlugin->flops(term, found, pairs);
  if (term.application)
    return term.application->function->flops() * pairs;
  bool whole = term.space->query.size() == 1 && term.space->key.size() == 1;
  bool counts = (found.kind == TermKind::Content && found.query >= 0 && found.queryLeading == found.otherLeading) ||
                (found.kind == TermKind::OffsetQuery && whole && !found.guarded);
  return counts ? 2.0 * static_cast<double>(found.depth) * pairs : 0;
}

double valueFlops(AttentionOp attention, double pairs) {
  ScoreSpace space = scoreSpace(attention);
  return 2 * product(space.value, space.sizes) * pairs;
}

double usefulFlops(func::FuncOp function, const Sizes &sizes) {
  double total = 0;
  function.walk([&](Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      ScoreSpace space = scoreSpace(attention);
      AxisSizes filled = space.sizes;
      if (auto spec = parseEinsum(std::string_view(attention.getValueSpec())))
        fillRunTime(spec->operands.front(), attention.getValue(), function, sizes, filled);
      for (TermOp term : termsOf(attention))
        if (auto spec = parseEinsum(std::string_view(term.getSubscripts())))
          for (auto [operand, dimensions] : llvm::zip(term.getInputs(), spec->operands))
            fillRunTime(dimensions, operand, function, sizes, filled);
      double pairs = visiblePairs(attention).count, one = valueFlops(attention, pairs);
      auto view = viewOf(attention);
      for (const Term &term : view->score)
        one += usefulFlops(term, pairs);
      total += one * product(space.leading, filled);
    } else if (auto einsum = dyn_cast<EinsumOp>(op)) {
      ResolvedEinsum resolved = resolve(einsum);
      // As for terms: an einsum with an index expression is not counted, and a broadcast is no contraction.
      if (resolved.contracted.empty() || einsum.getInputs().size() < 2 || hasIndexExpression(resolved.spec))
        return;
      for (auto [operand, dimensions] : llvm::zip(einsum.getInputs(), resolved.spec.operands))
        fillRunTime(dimensions, operand, function, sizes, resolved.sizes);
      total += 2 * product(resolved.spec.axes(), resolved.sizes);
    }
  });
  return total;
}

} // namespace skewer
