// The strategy "live_tiles": parts of masks that are known at compile time. The skeleton goes through the tiles that
// they leave visible (KeyRuns.h), so the strategy has nothing to add.
#include "passes/Cpu/Strategies/Others.h"

using namespace skewer;

namespace {
class LiveTilesStrategy : public BiasStrategy {
public:
  LiveTilesStrategy() : BiasStrategy("live_tiles", AddOrder::Prepared, BiasKind::Tiles) {}
  /// Takes lengths, since the kernel visits only the tiles with existing keys, of all tiles within the bound.
  bool takesLengths() const override { return true; }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeLiveTiles() { return std::make_unique<LiveTilesStrategy>(); }
