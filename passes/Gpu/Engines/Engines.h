// The engines that there is code for, by the names of passes/Schedule/GpuEngine.h.
#pragma once
#include "passes/Gpu/Engine.h"
#include "passes/Gpu/Pipeline.h"

namespace skewer::gpu {

/// What an engine is made for.
struct EngineSetup {
  GpuBuilder &b;
  const ThreadPlace &at;
  Type element;                // what is multiplied
  int64_t threads, stages = 2; // of a block; copies of a step's tiles
  int64_t products;            // of one sum, over all tiles
  /// Weights may have any sign, and a hidden key's is -0, which no other is; else they are not negative, and 0.
  bool signedWeights = false;
};

/// How a kernel multiplies, and how the tiles that it multiplies are filled.
struct EngineParts {
  std::unique_ptr<Pipeline> pipeline;
  std::unique_ptr<Engine> engine;
};

/// Nothing if there is none of the name.
std::optional<EngineParts> makeEngine(llvm::StringRef name, const EngineSetup &);

} // namespace skewer::gpu
