// The registry of strategies.
#include "passes/Cpu/TermStrategy.h"
#include "dialect/IR/StrategyNames.h"
#include "passes/Analysis/EarlyTerms.h"

using namespace mlir;
using namespace skewer;

void TermStrategy::take(const TermForm &form, AttentionShape &shape) const {
  if (form.as<OtherTerm>())
    shape.others[form.number].own = this;
}

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
  if (auto *dialect = dyn_cast_if_present<attn::AttnDialect>(getDialect())) {
    attn::StrategyNames::of(dialect).add(attn::CpuScheduleAttr::getMnemonic(), strategy->name(),
                                         strategy->isInPhases());
    if (order < kBuiltin && !dialect->getRegisteredInterface<EarlyTerms>())
      dialect->addInterface<EarlyTerms>(
          [this](const OtherTerm &term, const AttentionShape &shape) { return keeperOf(term, shape); });
  }
  strategies.emplace(order, std::move(strategy));
}

const TermStrategy *TermStrategies::keeperOf(const OtherTerm &term, const AttentionShape &shape) const {
  if (!shape.hasLength())
    for (auto entry = strategies.begin(); entry != strategies.end() && entry->first < kBuiltin; ++entry)
      if (entry->second->fits(TermForm(term, 0), shape))
        return entry->second.get();
  return nullptr;
}

std::vector<const TermStrategy *> TermStrategies::fitting(const TermForm &form, const AttentionShape &shape) const {
  std::vector<const TermStrategy *> found;
  // A strategy that took the term before analysis keeps it.
  const OtherTerm *other = form.as<OtherTerm>();
  if (other && other->own)
    found.push_back(other->own);
  for (const auto &[order, strategy] : strategies)
    if (order >= kBuiltin && (!shape.hasLength() || strategy->takesLengths()) && strategy->fits(form, shape))
      found.push_back(strategy.get());
  return found;
}

const TermStrategy *TermStrategies::named(llvm::StringRef name) const {
  for (const auto &entry : strategies)
    if (entry.second->name() == name)
      return entry.second.get();
  return nullptr;
}

void TermStrategies::forEach(llvm::function_ref<void(const TermStrategy &)> visit) const {
  for (const auto &entry : strategies)
    visit(*entry.second);
}

const TermStrategies &skewer::termStrategiesOf(MLIRContext *context) {
  static const TermStrategies builtin(nullptr);
  auto *dialect = context->getLoadedDialect<attn::AttnDialect>();
  auto *known = dialect ? dialect->getRegisteredInterface<TermStrategies>() : nullptr;
  return known ? *known : builtin;
}
