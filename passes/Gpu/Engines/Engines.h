// The engines that have code, by their names in passes/Gpu/Schedule/GpuEngine.h.
#pragma once
#include "passes/Gpu/Engine.h"
#include "passes/Gpu/Memory.h"

namespace skewer::gpu {

/// The facts that an engine needs about its kernel.
struct EngineSetup {
  GpuBuilder &b;
  const BlockMemory &shared;
  const ThreadPlace &at;
  Type element;    // type of the multiplied numbers
  int64_t products; // products that one sum has, over all tiles
  /// Weights may have any sign, and a hidden key's weight is -0, which no other weight is. If false, weights are not
  /// negative, and a hidden key's weight is 0.
  bool signedWeights = false;
};

/// Creates the engine of this name; null if there is none.
std::unique_ptr<Engine> makeEngine(llvm::StringRef name, const EngineSetup &);

} // namespace skewer::gpu
