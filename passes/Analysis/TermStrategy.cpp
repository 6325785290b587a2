// The registry of strategies that come from outside.
#include "passes/Analysis/TermStrategy.h"
#include "dialect/IR/StrategyNames.h"

using namespace mlir;
using namespace skewer;

TermStrategies::TermStrategies(Dialect *dialect) : Base(dialect) { addBuiltinStrategies(*this); }

TermStrategies &TermStrategies::of(attn::AttnDialect *dialect) {
  if (!dialect->getRegisteredInterface<TermStrategies>())
    dialect->addInterfaces<TermStrategies>();
  return *dialect->getRegisteredInterface<TermStrategies>();
}

void TermStrategies::add(std::unique_ptr<TermStrategy> strategy, unsigned order) {
  for (auto known = strategies.begin(); known != strategies.end(); ++known)
    if (known->second->name() == strategy->name()) {
      strategies.erase(known);
      break;
    }
  if (auto *dialect = dyn_cast_if_present<attn::AttnDialect>(getDialect()))
    attn::StrategyNames::of(dialect).add(strategy->name());
  strategies.emplace(order, std::move(strategy));
}

const TermStrategy *TermStrategies::find(const OtherTerm &term, const AttentionShape &shape, bool late) const {
  for (const auto &entry : strategies)
    if ((entry.first >= kLate) == late && entry.second->fits(term, shape))
      return entry.second.get();
  return nullptr;
}

const TermStrategies &skewer::termStrategiesOf(MLIRContext *context) {
  static const TermStrategies builtin(nullptr);
  auto *dialect = context->getLoadedDialect<attn::AttnDialect>();
  auto *known = dialect ? dialect->getRegisteredInterface<TermStrategies>() : nullptr;
  return known ? *known : builtin;
}
