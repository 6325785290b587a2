#include "passes/Analysis/DotKeys.h"
#include "llvm/Support/MathExtras.h"

using namespace skewer;

// The instructions of a dot product besides its FMAs: for each halving of the lanes (a shuffle and an addition), and to
// move the sum to its lane (a broadcast and a select). They are counted in generated code.
static constexpr int64_t kHalving = 2, kPlacing = 2;

int64_t skewer::instructionsOfDot(int64_t depth, int64_t lanes) {
  return depth / lanes + kHalving * llvm::Log2_64(static_cast<uint64_t>(lanes)) + kPlacing;
}

int64_t skewer::keysMultipliedAsDots(int64_t keys, int64_t depth, int64_t lanes) {
  int64_t behind = keys % lanes;
  if (keys < lanes || behind == 0 || depth == 0 || depth % lanes)
    return 0;
  return behind * instructionsOfDot(depth, lanes) < depth ? behind : 0;
}

bool skewer::mayMultiplyAsDots(const AttentionShape &shape) {
  return !shape.bounds.keyLength && !shape.bounds.tiles &&
         llvm::none_of(shape.content, [](const ContentTerm &term) { return term.inPlace || term.key.picked; });
}
