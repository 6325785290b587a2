// What terms of the values (passes/Analysis/ValueTerm.h) add to the work of an attention.
#pragma once
#include "passes/Schedule/Prediction.h"

namespace skewer {

void addValueWork(const AttentionShape &, const Blocking &, const Target &, PredictedWork &);

} // namespace skewer
