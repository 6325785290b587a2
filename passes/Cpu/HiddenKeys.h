// Hides keys: replaces their scores by a mark, and tells their weights from those of keys that are seen. Each of the
// masks that the kernel knows itself is tested only in tiles at its edge.
#pragma once
#include "passes/Cpu/KernelContext.h"

namespace skewer {

class HiddenKeys : KernelPart {
public:
  explicit HiddenKeys(KernelContext &context) : KernelPart(context) {}

  /// Returns the value that replaces the score of a hidden key, -inf, or its direct weight, -0, which no seen key has.
  mlir::Value mark();
  /// Returns the weight of a key that is hidden or does not exist, for which `isSeen` is false: 0, or -0 as a direct
  /// weight. A sum of weights begins with it, so that the sum keeps this value if no key is seen.
  float noWeight() const { return shape.direct ? -0.0f : 0.0f; }
  /// Returns whether a weight belongs to a key that is seen. A softmax weight of 0 counts as not seen.
  mlir::Value isSeen(mlir::Value weight);
  std::function<mlir::Value(mlir::Value)> seenIf(bool tested) {
    return tested ? [this](mlir::Value weight) { return isSeen(weight); } : std::function<mlir::Value(mlir::Value)>();
  }

  /// Hides keys of a tile: those behind the last one, outside the bounds of the head, outside the interval of key -
  /// query, and those that a mask known at compile time hides. `state` is the tile's in KeyRuns; null without that
  /// mask.
  void hide(ScoreTile &, mlir::Value state);
  /// Marks all scores of a tile, in which no key is seen.
  void hideAll(const KeyBlock &, mlir::Value group, mlir::Value vector, int64_t vectors);

private:
  void hideBehindEnd(ScoreTile &);
  void hideAtEdge(ScoreTile &, mlir::Value edge, llvm::function_ref<void(llvm::MutableArrayRef<mlir::Value>)> hide);
  void hideOutsideBounds(ScoreTile &);
  void hideOutsideInterval(ScoreTile &);
  void hideByTiles(ScoreTile &, mlir::Value state);
};

} // namespace skewer
