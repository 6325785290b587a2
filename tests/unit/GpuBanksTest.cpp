// Tests bank conflicts in shared memory, for kernels of every class and all instructions.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tests/unit/GpuLayers.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Expects at most `allowed` extra wavefronts from bank conflicts, in percent of one wavefront for each access, and
/// none from ldmatrix.
void expectWavefronts(const std::string &name, const std::string &text, double allowed, int64_t keys = 32) {
  GpuLayer compiled(text);
  GpuOptions options;
  options.size = 1;
  options.keys = keys;
  options.warpRows = 16;
  GpuOutcome outcome = compiled.run(options);
  ASSERT_TRUE(outcome.lowered) << outcome.messages;
  EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text();
  gpu::BankUse all = outcome.report.shared();
  EXPECT_GT(all.accesses, 1000) << name;
  double more = 100 * (double(all.wavefronts) / double(all.accesses) - 1);
  EXPECT_LE(more, allowed) << name << "\n" << outcome.report.conflicts();
  for (const auto &[operation, use] : outcome.report.banks)
    if (mlir::isa<mlir::NVVM::LdMatrixOp>(operation))
      EXPECT_FALSE(use.hasConflicts()) << name;
}
std::string banded(const std::string &type) {
  return relative(128, 128, 64, type + "[2*N - 1, dim]", "(j - i + N - 1)", " * dim^-0.5", "", type);
}

// Rows are multiples of 128 bytes; there are also numbers for each offset.
TEST(GpuBanks, NoneInPlainAttention) {
  for (const char *type : {"f16", "f32"})
    for (int64_t dim : {64, 128})
      expectWavefronts(type, layer(sizes(128, 128, dim, dim), "", kPlain, type), 0, dim == 128 ? 16 : 32);
  expectWavefronts("line", layer(sizes(128, 128, 64, 64), ", slope : f32[heads]", kPlain + " + alibi(slope)"), 0);
}
// A row's odd chunk, which ldmatrix needs, makes eight lanes of a copy meet in one bank where they go from one row to
// the next: here rows have 160 bytes, and values 32.
TEST(GpuBanks, SomeInCopiesOfOtherRows) {
  expectWavefronts("80 wide", layer(sizes(128, 128, 80, 80), "", kPlain), 16);
  for (const char *type : {"f16", "f32"})
    expectWavefronts(type, banded(type), 2);
}
// Logits on their way through shared memory are read skewed, a bank for each lane, and written two to a bank.
TEST(GpuBanks, SomeInLogits) {
  expectWavefronts("keys, f16", ofKeys(128, 128, 64, "f16[2*N - 1, dim]", "(i - j + N - 1)"), 11);
  expectWavefronts("keys, f32", ofKeys(128, 128, 64, "f32[2*N - 1, dim]", "(i - j + N - 1)", "", "f32"), 7);
  expectWavefronts("clamped", relative(128, 128, 64, "f16[9, dim]", "(clamp(j - i, -4, 4) + 4)"), 12);
  expectWavefronts("everything", everything(128, 64, "f16"), 6);
  expectWavefronts("everything, f32", everything(128, 32, "f32"), 6, 16);
}
// Rows that the operands pick meet as they are picked; elements that are stored one by one in pairs.
TEST(GpuBanks, MoreWhereRowsArePicked) {
  expectWavefronts("picked", relative(128, 128, 64, "f16[100, dim]", "((3*i + 5*j) % 100)"), 31);
  expectWavefronts("odd", layer(sizes(77, 77, 33, 33), "", kPlain), 28);
}

} // namespace
