// Names of strategies, held by the dialect.
#include "dialect/IR/StrategyNames.h"

using namespace mlir;
using namespace skewer::attn;

StrategyNames &StrategyNames::of(AttnDialect *dialect) {
  if (!dialect->getRegisteredInterface<StrategyNames>())
    dialect->addInterfaces<StrategyNames>();
  return *dialect->getRegisteredInterface<StrategyNames>();
}

bool skewer::attn::isPluginStrategy(MLIRContext *context, llvm::StringRef name) {
  auto *dialect = context->getLoadedDialect<AttnDialect>();
  auto *known = dialect ? dialect->getRegisteredInterface<StrategyNames>() : nullptr;
  return known && known->has(name);
}
