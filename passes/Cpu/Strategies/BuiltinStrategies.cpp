// Strategies of this compiler that say for themselves which terms they fit. A new one is a file beside this one, a line
// here, and its name among those that schedules know (dialect/IR/ScheduleVerifiers.cpp).
#include "passes/Analysis/TermStrategy.h"

using namespace skewer;

std::unique_ptr<TermStrategy> makeGatheredProducts();

void skewer::addBuiltinStrategies(TermStrategies &strategies) {
  strategies.add(makeGatheredProducts(), TermStrategies::kLate);
}
