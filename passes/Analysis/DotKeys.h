// The keys behind the last whole vector: a window of 49 keys has three vectors of 16 keys and one key behind them. In a
// vector of their own, these keys cost as much as 16 keys. As dot products, with the lanes along the depth, they cost a
// part of that. The cost model and the CPU kernel ask the same functions.
#pragma once
#include "passes/Analysis/AttentionShape.h"

namespace skewer {

/// Returns the number of instructions of a dot product of this depth whose result goes to a lane of its own.
int64_t instructionsOfDot(int64_t depth, int64_t lanes);
/// Returns how many of the keys behind the last whole vector are multiplied as dot products: all of them if that takes
/// fewer instructions, else 0. `depth` is the depth of all content terms that are packed into panels.
int64_t keysMultipliedAsDots(int64_t keys, int64_t depth, int64_t lanes);
/// Returns whether the content of an attention can be multiplied as dot products. This needs keys whose number and
/// places are fixed, in whole vectors, and tiles that begin at multiples of a vector.
bool mayMultiplyAsDots(const AttentionShape &);

} // namespace skewer
