// A factor that all terms of a score share: exponentials multiply by a constant anyway, so that it costs nothing there.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Cpu/AttentionStage.h"
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Returns the shape with the factor of all its terms as `scoreFactor` instead, if they have the same positive one, and
/// an engine makes packed powers of the scores. Products that stay as they are need no pass over them, which matters to
/// sums in tiles. Else returns the shape as it is.
AttentionShape withCommonFactor(AttentionShape, const AttentionStage &, const VectorBuilder &);

} // namespace skewer
