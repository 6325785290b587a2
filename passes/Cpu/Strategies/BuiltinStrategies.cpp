// The strategies of this compiler, in the order in which they are asked. A new one is a file beside this one, a line
// here, and its name among those that schedules know (dialect/IR/ScheduleVerifiers.cpp).
#include "passes/Cpu/Strategies/OffsetTable.h"
#include "passes/Cpu/Strategies/Others.h"
#include "passes/Cpu/Strategies/PickedRows.h"
#include "passes/Cpu/Strategies/ValueRows.h"

using namespace skewer;

std::unique_ptr<TermStrategy> makeMatmul();
std::unique_ptr<TermStrategy> makeKeyDots();

void skewer::addBuiltinStrategies(TermStrategies &strategies) {
  for (auto make : {makeMatmul, makeKeyDots,
                    // q_i·R[j - i], on whole positions or on an axis of a map
                    makeBand, makeStridedAdd, makeAxisLogits,
                    // rows that positions pick: query side, key side
                    makeOffsetLines, makeAxisLines, makeGatheredRows, makeKeyDiagonals, makeKeyLines, makeGatheredKeys,
                    // numbers
                    makeDifferenceLine, makeKeyLine, makeScoreTable, makeRowLoad, makeLiveTiles, makeGatheredScalars,
                    // of the values
                    makeKeyValues, makeDiagonals, makeAxisSums, makeValuePairs})
    strategies.add(make(), TermStrategies::kBuiltin);
  for (auto make : {makeLiveProducts, makeGatheredProducts})
    strategies.add(make(), TermStrategies::kLate);
  strategies.add(makeElement(), TermStrategies::kLast);
}
