// What terms with picked rows (passes/Analysis/RowTerm.h) add to the sizes and to the work of an attention.
#pragma once
#include "passes/Schedule/Prediction.h"

namespace skewer {

void addRowSizes(const AttentionShape &, AttentionSizes &);
/// `keysSeen`: keys that tiles compute for a query, on the average.
void addRowWork(const AttentionShape &, const Blocking &, const Target &, double keysSeen, PredictedWork &);

} // namespace skewer
