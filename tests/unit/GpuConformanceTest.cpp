// Runs the layers of tests/e2e/conformance in f16 and in f32, fused and by rows, in the interpreter, and compares them
// with the float64 reference.
#include "tests/unit/GpuTesting.h"
#include "tests/unit/LanguageTesting.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::testing;

namespace {

std::vector<std::string> specs() {
  std::vector<std::string> found;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator folder(SKEWER_SOURCE_DIR "/tests/e2e/conformance", code), end;
       folder != end && !code; folder.increment(code))
    if (std::string path = folder->path() + "/spec.attn"; llvm::sys::fs::exists(path))
      found.push_back(path);
  std::sort(found.begin(), found.end());
  return found;
}

/// Runs all layers with `type` in place of f32, without a list of exceptions. The model of a GPU schedules them; if no
/// GPU is named, they get tiles of several shapes. With `copies`, regular rows are copied in that way where it takes
/// some. Returns the number of layers with such copies.
size_t expectPublishedLayers(const char *type, double tolerance, const std::string &target = "", bool fuse = true,
                             const std::string &copies = "") {
  size_t taken = 0, fused = 0, all = 0, boxed = 0;
  for (const std::string &path : specs()) {
    std::string text = fileText(path);
    for (size_t place = 0; (place = text.find("f32[", place)) != std::string::npos; ++place)
      text.replace(place, 3, type);
    SCOPED_TRACE(path);
    ++all;
    GpuOptions options;
    options.rows = all % 2 ? 64 : 32;
    options.keys = all % 3 ? 32 : 16;
    options.size = 1;
    options.fuse = fuse;
    options.copies = copies;
    if (!target.empty()) {
      options.target = target;
      options.rows = options.keys = options.stages = 0;
      options.keepQueries = std::nullopt;
    }
    GpuLayer compiled(text);
    GpuOutcome outcome = compiled.run(options);
    if (outcome.messages.find("copies are 'tma'") != std::string::npos) {
      options.copies.clear();
      outcome = compiled.run(options);
    }
    if (!outcome.lowered) {
      ADD_FAILURE() << outcome.messages;
      continue;
    }
    ++taken;
    fused += outcome.report.matrixSteps > 0;
    boxed +=
        llvm::any_of(outcome.program.launches, [](const gpu::GpuLaunch &launch) { return !launch.boxKernel.empty(); });
    EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
    EXPECT_LE(outcome.error, tolerance);
  }
  EXPECT_GE(all, 50u);
  EXPECT_EQ(taken, all);
  EXPECT_GE(fused, fuse ? 48u : 0u);
  llvm::outs() << fused << " of " << all << " layers on tensor cores, " << boxed << " with copies of boxes\n";
  return boxed;
}
TEST(GpuConformance, PublishedLayersInHalf) { expectPublishedLayers("f16", 2e-3); }
TEST(GpuConformance, PublishedLayersAsAnA100WantsThem) { expectPublishedLayers("f16", 2e-3, "sm_80"); }
TEST(GpuConformance, PublishedLayersAsAnH100WantsThem) { expectPublishedLayers("bf16", 1.5e-2, "sm_90a"); }
TEST(GpuConformance, PublishedLayersWithCopiesByTma) {
  EXPECT_GE(expectPublishedLayers("bf16", 1.5e-2, "sm_90a", /*fuse=*/true, "tma"), 30u);
}
TEST(GpuConformance, PublishedLayersByRows) { expectPublishedLayers("f32", 5e-6, "", /*fuse=*/false); }
TEST(GpuConformance, PublishedLayers) { expectPublishedLayers("f32", 5e-6); }

} // namespace
