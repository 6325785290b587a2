// The built-in strategies, in the order in which they are asked. A new strategy needs a file in this folder and a line
// here.
#include "passes/Cpu/Strategies/OffsetTable.h"
#include "passes/Cpu/Strategies/Others.h"
#include "passes/Cpu/Strategies/PickedRows.h"
#include "passes/Cpu/Strategies/ValueRows.h"

using namespace skewer;

std::unique_ptr<TermStrategy> makeMatmul();
std::unique_ptr<TermStrategy> makeKeyDots();
std::unique_ptr<TermStrategy> makeQueryNumbers();
std::unique_ptr<TermStrategy> makeAxisNumbers();

void skewer::addBuiltinStrategies(TermStrategies &strategies) {
  for (auto make : {makeMatmul, makeKeyDots,
                    // q_i·R[j - i], on whole positions or on an axis of a map
                    makeBand, makeStridedAdd, makeAxisLogits,
                    // rows that positions pick: query side, key side
                    makeOffsetLines, makeAxisLines, makeGatheredRows, makeKeyDiagonals, makeKeyLines, makeGatheredKeys,
                    // numbers for positions, and masks
                    makeDifferenceLine, makeKeyLine, makeQueryNumbers, makeScoreTable, makeRowLoad, makeLiveTiles,
                    makeAxisNumbers, makeGatheredScalars,
                    // terms of the values
                    makeKeyValues, makeDiagonals, makeAxisSums, makeValuePairs})
    strategies.add(make(), TermStrategies::kBuiltin);
  for (auto make : {makeLiveProducts, makeGatheredProducts})
    strategies.add(make(), TermStrategies::kLate);
  strategies.add(makeElement(), TermStrategies::kLast);
}
