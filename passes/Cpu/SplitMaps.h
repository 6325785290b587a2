// The passes that divide attentions on maps for a processor, whose tiles profit from few keys that are near each other.
// They run on functions, before a schedule is chosen.
#pragma once
#include "mlir/Pass/Pass.h"

namespace skewer {

/// Creates attn-split-blocks. If a mask leaves blocks of a map only the keys in and around them, the number of the
/// block becomes a leading axis, and the keys become those that the block sees. Positions outside the map are read as
/// 0, and masked. If the map cuts the last blocks short, queries of 0 fill them, and their results are cut off.
std::unique_ptr<mlir::Pass> createSplitBlocks();

/// Creates attn-split-windows. If a mask leaves a window of each line of a map, blocks of the line's queries become a
/// leading axis, and the keys become those that the blocks reach; then the mask hides little of what a tile computes.
std::unique_ptr<mlir::Pass> createSplitWindows();

} // namespace skewer
