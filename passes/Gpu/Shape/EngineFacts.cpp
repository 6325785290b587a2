// The table of engines.
#include "passes/Gpu/Shape/EngineFacts.h"

using namespace skewer::gpu;

const EngineFacts &skewer::gpu::factsOf(llvm::StringRef engine) {
  // wgmma: a warpgroup is four warps of 16 rows (PTX ISA, "Asynchronous warpgroup level matrix instructions"), and the
  // threads that fill are a warpgroup too, since registers are moved between whole warpgroups.
  static constexpr EngineFacts all[] = {
      {kMmaSync, 16, false, 0, false}, {kWgmma, 64, true, 128, false}, {kWgmmaAhead, 64, true, 128, true}};
  for (const EngineFacts &one : all)
    if (engine == one.name)
      return one;
  return all[0];
}
