// Keys behind the last whole vector: a window of 49 keys has one of them beside three vectors of 16. As lanes of a
// vector of their own they cost as much as 16; as dot products with the lanes along the depth, a part of that.
#pragma once
#include "passes/Analysis/AttentionShape.h"

namespace skewer {

/// Instructions of a dot product of this depth that ends in a lane of its own.
int64_t instructionsOfDot(int64_t depth, int64_t lanes);
/// Of the keys behind the last whole vector of so many lanes, those whose content is multiplied as dot products: all of
/// them where that takes fewer instructions, else 0. `depth` is that of all content that is brought into panels.
int64_t keysMultipliedAsDots(int64_t keys, int64_t depth, int64_t lanes);
/// Whether an attention's content can be: its keys stand where they always stand, all of them, in whole vectors, and
/// tiles begin at multiples of a vector.
bool mayMultiplyAsDots(const AttentionShape &);

} // namespace skewer
