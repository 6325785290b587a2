// Tests that instructions of a whole warp stay where all lanes come: each call tells LLVM so, and in the code of ptxas
// none follows a branch at which lanes may part.
#include "codegen/GPU/Sass.h"
#include "tests/unit/GpuCodeBuilder.h"
#include "tests/unit/GpuLayers.h"
#include "tests/unit/LanguageTesting.h"
#include "llvm/IR/InstIterator.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Layers whose kernels have each kind of control flow: loops, edges of masks, sums made again, tiles left out, keys
/// that meet rows of a table, rows that reach some tiles.
std::vector<std::string> layers() {
  return {layer(sizes(130, 130, 64, 64), "", kPlain, "f16", " where j <= i"),
          layer(sizes(130, 130, 32, 32), "", kPlain, "f32", " where (i // 40) == (j // 40)"),
          relative(64, 64, 32, "f16[2*N - 1, dim]", "(j - i + N - 1)"), everything(128, 32, "f16"),
          everything(128, 16, "f32", " where abs(j - i) <= 20")};
}
struct Machine {
  std::string target, engine;
  bool fits(const std::string &text) const { return engine == gpu::kMmaSync || hasNarrowProducts(text); }
};
/// A layer that is lowered for a machine, with a small tile.
struct Lowered {
  Lowered(const std::string &text, const Machine &machine) : builder(text) {
    builder.pinned.engine = machine.engine;
    builder.pinned.rows = machine.engine == gpu::kMmaSync ? 32 : 64;
    builder.pinned.keys = 32;
    module = builder.lower(machine.target);
    EXPECT_TRUE(module) << text;
  }
  GpuCodeBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
const Machine kMachines[] = {{"sm_80", "mma_sync"}, {"sm_90a", "mma_sync"}, {"sm_90a", "wgmma"}};

TEST(GpuConvergence, CallsSayThatTheyNeedTheWholeWarp) {
  std::map<std::string, int> seen;
  for (const Machine &machine : kMachines)
    for (const std::string &text : layers()) {
      if (!machine.fits(text))
        continue;
      Lowered lowered(text, machine);
      bool looked = false;
      auto ptx = gpu::ptxOf(*lowered.module, *gpu::findGpuTarget(machine.target), [&](llvm::Module &module) {
        looked = true;
        for (llvm::Function &function : module)
          for (llvm::Instruction &instruction : llvm::instructions(function))
            if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
              llvm::StringRef name = call->getCalledFunction() ? call->getCalledFunction()->getName() : "asm";
              if (!gpu::needsWholeWarp(*call))
                continue;
              EXPECT_TRUE(call->isConvergent()) << name.str();
              name.consume_front("llvm.nvvm.");
              ++seen[name.split('.').first.str()];
            }
      });
      ASSERT_TRUE(bool(ptx)) << llvm::toString(ptx.takeError());
      EXPECT_TRUE(looked);
      EXPECT_SAYS(*ptx, machine.engine == gpu::kMmaSync ? "mma.sync" : "wgmma.mma_async");
    }
  for (const char *kind : {"mma", "ldmatrix", "shfl", "vote", "barrier", "asm"})
    EXPECT_GT(seen[kind], 0) << kind;
}

TEST(GpuConvergence, NothingOfAWarpBehindABranchForLanes) {
  std::optional<SassTools> tools = findSassTools();
  if (!tools)
    GTEST_SKIP() << "no ptxas or no cuobjdump";
  for (const Machine &machine : kMachines) {
    // The roles of warps are branches by the thread's number, whose lanes part nowhere; ptxas does not know that.
    if (machine.engine != gpu::kMmaSync)
      continue;
    for (const std::string &text : layers()) {
      gpu::GpuTarget target = *gpu::findGpuTarget(machine.target);
      Lowered lowered(text, machine);
      auto ptx = gpu::ptxOf(*lowered.module, target);
      ASSERT_TRUE(bool(ptx)) << llvm::toString(ptx.takeError());
      auto sass = sassOf(*ptx, target, *tools);
      ASSERT_TRUE(bool(sass)) << llvm::toString(sass.takeError());
      ASSERT_TRUE(gpu::mainLoopOf(*sass, "layer"));
      for (const std::string &found : gpu::whereLanesParted(*sass, "layer"))
        ADD_FAILURE() << machine.target << ": " << found << "\n" << text;
    }
  }
}

} // namespace
