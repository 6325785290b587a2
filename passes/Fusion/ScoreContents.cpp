// Answers the questions of ScoreContents from the summands of elements of a score.
#include "passes/Fusion/ScoreContents.h"
#include "passes/Analysis/BiasKind.h"
#include "passes/Analysis/Elementwise.h"
#include "passes/Fusion/Dependences.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::subscript;

bool skewer::isArithmeticOnNumbers(Operation *op) {
  auto isNumber = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isF32() || element.isInteger(1);
  };
  return op && isElementwise(op) && isNumber(op->getResult(0).getType()) &&
         llvm::all_of(op->getOperandTypes(), isNumber);
}

ExpansionOptions skewer::optionsOfScores() {
  ExpansionOptions options;
  options.products = options.functions = options.scaledContractions = options.uneven = true;
  options.guards = [](const Expr &) { return true; };
  return options;
}

const std::vector<Summand> &ScoreContents::summandsOf(const ElementOf &element) {
  auto &known = expanded[element.tensor];
  for (const auto &[at, summands] : known)
    if (at == element.at)
      return summands;
  ExpansionOptions options = optionsOfScores();
  options.query = query, options.key = key;
  known.push_back({element.at, Expansion(domain, mask, options).expand(element.tensor, element.at)});
  return known.back().second;
}

bool ScoreContents::holds(const ElementOf &element) {
  return llvm::any_of(summandsOf(element), [&](const Summand &summand) {
    return isContent(summand) || llvm::any_of(summand.factors, [&](const Factor &factor) { return hides(factor); });
  });
}

bool ScoreContents::isSum(const ElementOf &element) {
  return llvm::none_of(summandsOf(element), [&](const Summand &summand) {
    return llvm::any_of(summand.factors,
                        [&](const Factor &factor) { return hides(factor) || scalesPairs(summand, factor); });
  });
}

bool ScoreContents::hasKeyProduct(const ElementOf &element) {
  return llvm::any_of(summandsOf(element), [&](const Summand &summand) {
    return isContent(summand) && llvm::any_of(summand.factors, [&](const Factor &factor) {
             return depends(factor, key) && !depends(factor, query);
           });
  });
}

bool ScoreContents::isSmall(const ElementOf &element, bool takesTables) {
  return llvm::none_of(summandsOf(element), [&](const Summand &summand) {
    return llvm::any_of(summand.factors, [&](const Factor &factor) {
      return isArithmeticOnNumbers(factor.operand.getDefiningOp()) && depends(factor, query) && depends(factor, key) &&
             !(takesTables && isOfOffset(factor)) && !isOfPairsInMemory(factor);
    });
  });
}

bool ScoreContents::isBracket(const ElementOf &element) { return summandsOf(element).size() > 1 && !holds(element); }

/// Returns the number of elements over the axes whose size is known.
double ScoreContents::elements(const std::set<std::string> &axes) const {
  double count = 1;
  for (const std::string &axis : axes)
    if (auto range = domain.find(axis); range != domain.end())
      count *= double(range->second.high + 1);
  return count;
}

bool ScoreContents::isOfPairsInMemory(const Factor &factor) {
  std::set<std::string> own;
  for (const Expr &subscript : factor.subscripts)
    own.merge(symbolsOf(subscript));
  return 2 * elements(own) <= elements(axes) && readsPairs({factor.operand, factor.subscripts});
}

bool ScoreContents::readsPairs(const ElementOf &whole) {
  ExpansionOptions options = optionsOfScores();
  options.arithmetic = options.scaledOperands = false;
  std::vector<ElementOf> waiting = {whole}, known;
  while (!waiting.empty()) {
    ElementOf element = waiting.back();
    waiting.pop_back();
    if (llvm::any_of(known,
                     [&](const ElementOf &other) { return other.tensor == element.tensor && other.at == element.at; }))
      continue;
    known.push_back(element);
    Operation *op = element.tensor.getDefiningOp();
    if (isArithmeticOnNumbers(op)) {
      for (Value operand : op->getOperands())
        waiting.push_back({operand, element.at});
      continue;
    }
    for (const Summand &summand : Expansion(domain, std::nullopt, options).expand(element.tensor, element.at))
      for (const Factor &factor : summand.factors) {
        if (isArithmeticOnNumbers(factor.operand.getDefiningOp()))
          waiting.push_back({factor.operand, factor.subscripts});
        else if (!splatValue(factor.operand) && !factor.operand.getDefiningOp<attn::PositionOp>() &&
                 depends(factor, query) && depends(factor, key))
          return true;
      }
  }
  return false;
}

bool ScoreContents::isOfOffset(const Factor &factor) const {
  Dependences dependences(domain);
  return domain.count(query) && domain.count(key) && dependences.collect(factor.operand, factor.subscripts) &&
         isOfDifferences(dependences.expressions, {query}, {key}, domain);
}

bool ScoreContents::depends(const Factor &factor, const std::string &axis) const {
  return llvm::any_of(factor.subscripts, [&](const Expr &subscript) { return symbolsOf(subscript).count(axis) > 0; });
}

bool ScoreContents::hides(const Factor &factor) {
  Operation *op = factor.operand.getDefiningOp();
  if (!isArithmeticOnNumbers(op) || !depends(factor, key))
    return false;
  auto [known, fresh] = hidden.insert({factor.operand, false});
  if (!fresh)
    return known->second;
  bool found = llvm::any_of(op->getOperands(), [&](Value operand) { return holds({operand, factor.subscripts}); });
  return hidden[factor.operand] = found;
}

bool ScoreContents::scalesPairs(const Summand &summand, const Factor &factor) const {
  auto isContracted = [&](const auto &axis) { return depends(factor, axis.first); };
  return !summand.contracted.empty() && depends(factor, query) && depends(factor, key) &&
         llvm::none_of(summand.contracted, isContracted);
}

bool ScoreContents::isContent(const Summand &summand) const {
  // A single query's vector is read at no index that could appear in a subscript.
  auto range = domain.find(query);
  bool single = range != domain.end() && range->second.low == range->second.high;
  return !summand.contracted.empty() && llvm::any_of(summand.factors, [&](const Factor &factor) {
    return (single || depends(factor, query)) && !depends(factor, key);
  }) && llvm::any_of(summand.factors, [&](const Factor &factor) { return depends(factor, key); });
}
