// Names of strategies, held by the dialect.
#include "dialect/IR/StrategyNames.h"

using namespace mlir;
using namespace skewer::attn;

StrategyNames &StrategyNames::of(AttnDialect *dialect) {
  if (!dialect->getRegisteredInterface<StrategyNames>())
    dialect->addInterfaces<StrategyNames>();
  return *dialect->getRegisteredInterface<StrategyNames>();
}

static const StrategyNames *namesOf(MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<AttnDialect>();
  return dialect ? dialect->getRegisteredInterface<StrategyNames>() : nullptr;
}

ArrayRef<std::string> StrategyNames::of(MLIRContext *context, StringRef kind) {
  const StrategyNames *known = namesOf(context);
  if (!known)
    return {};
  auto found = known->names.find(kind);
  return found == known->names.end() ? ArrayRef<std::string>() : ArrayRef<std::string>(found->second);
}

bool StrategyNames::isInPhases(StringAttr strategy) {
  const StrategyNames *known = namesOf(strategy.getContext());
  return known && llvm::is_contained(known->ofPhases, strategy.getValue());
}

void StrategyNames::add(StringRef kind, StringRef name, bool inPhases) {
  std::vector<std::string> &known = names[kind.str()];
  if (!llvm::is_contained(known, name))
    known.push_back(name.str());
  if (inPhases)
    ofPhases.push_back(name.str());
}
