// Tests the reading of GPU instructions: opcodes are classified, and the main loop is found in the output of cuobjdump.
#include "codegen/GPU/Sass.h"
#include <gtest/gtest.h>

using namespace skewer::gpu;

namespace {

/// Returns lines as of cuobjdump: addresses 0, 0x10, …; a line with the rest of its bits follows each instruction.
std::string sass(const std::string &name, std::initializer_list<const char *> instructions) {
  std::string text = "\t\tFunction : " + name + "\n\t.headerflags\t@\"EF_CUDA_SM80\"\n";
  size_t address = 0;
  for (const char *instruction : instructions) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "%04zx", address);
    text += "        /*" + std::string(digits) + "*/                   " + instruction +
            " ;                     /* 0x00000a00ff017624 */\n                     /* 0x000fe400078e00ff */\n";
    address += 16;
  }
  return text + "\t\t..........\n";
}

TEST(Sass, OpcodesHaveKinds) {
  for (auto [opcode, kind] : {std::pair("HMMA.16816.F32", "mma"),
                              {"MUFU.EX2", "exp2"},
                              {"MUFU.RCP", "float"},
                              {"FFMA.FTZ", "float"},
                              {"F2FP.F16.F32.PACK_AB", "float"},
                              {"FSETP.GTU.FTZ.AND", "float"},
                              {"FMNMX.FTZ", "float"},
                              {"HADD2.F32", "float"},
                              {"I2FP.F32.S32", "float"},
                              {"SHFL.BFLY", "shuffle"},
                              {"LDSM.16.M88.4", "shared"},
                              {"STS.64", "shared"},
                              {"LDGSTS.E.BYPASS.128.ZFILL", "global"},
                              {"LDG.E.U16", "global"},
                              {"STG.E", "global"},
                              {"IMAD.MOV.U32", "integer"},
                              {"SEL", "integer"},
                              {"LOP3.LUT", "integer"},
                              {"UIADD3", "integer"},
                              {"FLO.U32", "integer"},
                              {"BAR.SYNC.DEFER_BLOCKING", "other"},
                              {"BRA", "other"},
                              {"DEPBAR.LE", "other"},
                              {"LDC.64", "other"}})
    EXPECT_STREQ(nameOf(kindOf(opcode)), kind) << opcode;
}
TEST(Sass, TheMainLoopExponentiates) {
  std::string text = sass("other", {"MUFU.EX2 R0, R0", "BRA 0x0"}) +
                     sass("layer", {"S2R R0, SR_TID.X",                // 00
                                    "HMMA.16816.F32 R4, R0, R2, R4",   // 10: a loop without exponentials
                                    "@P0 BRA 0x10",                    // 20
                                    "LDSM.16.M88.4 R0, [R1]",          // 30: the main loop
                                    "HMMA.16816.F32 R4, R0, R2, R4",   // 40
                                    "@!P1 BRA 0x80",                   // 50: past what a mask's edge asks for
                                    "ISETP.GE.AND P0, PT, R1, R2, PT", // 60
                                    "FSEL R4, R4, -INF , P0",          // 70
                                    "MUFU.EX2 R4, R4",                 // 80
                                    "MUFU.EX2 R5, R5",                 // 90
                                    "@!P6 CALL.REL.NOINC 0xc0",        // a0: out of the loop, as ptxas writes far jumps
                                    "BRA 0x30",                        // b0
                                    "EXIT",                            // c0
                                    "BRA 0xd0"});                      // d0: ptxas ends every function so
  auto loop = mainLoopOf(text, "layer");
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->of(InstructionKind::Matrix), 1);
  EXPECT_EQ(loop->of(InstructionKind::Exponential), 2);
  EXPECT_EQ(loop->of(InstructionKind::Shared), 1);
  EXPECT_EQ(loop->of(InstructionKind::Float), 0); // not on the shortest way
  EXPECT_EQ(loop->of(InstructionKind::Integer), 0);
  EXPECT_EQ(loop->of(InstructionKind::Other), 3); // three branches
  EXPECT_EQ(loop->all(), 7);
}
TEST(Sass, TheInnermostLoopThatHasThemAll) {
  std::string text =
      sass("layer", {"NOP", "IADD3 R0, R0, 0x1, RZ", "MUFU.EX2 R4, R4", "@P0 BRA 0x10", "@P1 BRA 0x0", "EXIT"});
  auto loop = mainLoopOf(text, "layer");
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->all(), 3);
}
TEST(Sass, ATileThatMayBeSkippedCounts) {
  auto loop = mainLoopOf(sass("layer", {"S2R R0, SR_TID.X",              // 00
                                        "VOTE.ANY P0, P2",               // 10: the loop
                                        "@!P0 BRA 0x60",                 // 20: no key is seen
                                        "HMMA.16816.F32 R4, R0, R2, R4", // 30
                                        "MUFU.EX2 R4, R4",               // 40
                                        "FADD.FTZ R5, R5, R4",           // 50
                                        "IADD3 R1, R1, 0x1, RZ",         // 60
                                        "@P1 BRA 0x10",                  // 70
                                        "EXIT"}),
                         "layer");
  ASSERT_TRUE(loop);
  EXPECT_FALSE(loop->once);
  EXPECT_EQ(loop->all(), 7);
  EXPECT_EQ(loop->of(InstructionKind::Matrix), 1);
}
TEST(Sass, BranchesOfPartedLanesAreNotTheWay) {
  auto loop = mainLoopOf(sass("layer", {"HMMA.16816.F32 R4, R0, R2, R4", "BRA.DIV ~URZ, 0x50", "MUFU.EX2 R4, R4",
                                        "@P0 BRA 0x0", "EXIT", "WARPSYNC 0xffffffff", "BRA 0x20"}),
                         "layer");
  ASSERT_TRUE(loop);
  EXPECT_FALSE(loop->once);
  EXPECT_EQ(loop->all(), 4);
}
TEST(Sass, AKernelOfOneStepCountsAsAWhole) {
  auto kernel = mainLoopOf(
      sass("layer", {"S2R R0, SR_TID.X", "@P0 BRA 0x60", "HMMA.16816.F32 R4, R0, R2, R4", "MUFU.EX2 R4, R4",
                     "FADD R4, R4, R4", "MUFU.EX2 R5, R5", "STG.E [R2], R4", "@P1 EXIT", "STG.E [R2], R5", "EXIT"}),
      "layer");
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(kernel->once);
  EXPECT_EQ(kernel->of(InstructionKind::Exponential), 2);
  EXPECT_EQ(kernel->of(InstructionKind::Float), 1);
  EXPECT_EQ(kernel->of(InstructionKind::Global), 2);
  EXPECT_EQ(kernel->all(), 10);
}
TEST(Sass, ALoopWithoutProductsIsNotTheMainLoop) {
  // Two steps are unrolled; a wait stands between an exponential and its repetition.
  auto kernel = mainLoopOf(sass("layer", {"HGMMA.64x64x16.F32 R24, gdesc[UR8], R24", "MUFU.EX2 R4, R4", "@!P0 BRA 0x10",
                                          "HGMMA.64x64x16.F32 R24, gdesc[UR8], R24", "MUFU.EX2 R5, R5", "EXIT"}),
                           "layer");
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(kernel->once);
  EXPECT_EQ(kernel->of(InstructionKind::Matrix), 2);
  EXPECT_EQ(kernel->of(InstructionKind::Exponential), 2);
  // A wait far away jumps back; what stands between is no loop.
  kernel = mainLoopOf(sass("layer", {"@!P0 BRA 0x50", "HGMMA.64x64x16.F32 R24, gdesc[UR8], R24", "@P1 BRA 0x40",
                                     "MUFU.EX2 R5, R5", "EXIT", "@!P0 BRA 0x50", "BRA 0x10"}),
                      "layer");
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(kernel->once);
  // The loop of mma.sync has more exponentials, but it computes again what is not a number.
  auto loop = mainLoopOf(sass("layer", {"HGMMA.64x64x16.F32 R24, gdesc[UR8], R24", "MUFU.EX2 R4, R4", "@P0 BRA 0x0",
                                        "HMMA.16816.F32 R4, R0, R2, R4", "MUFU.EX2 R4, R4", "MUFU.EX2 R5, R5",
                                        "@P0 BRA 0x30", "EXIT"}),
                         "layer");
  ASSERT_TRUE(loop);
  EXPECT_FALSE(loop->once);
  EXPECT_EQ(loop->all(), 3);
}
TEST(Sass, NothingWhereThereIsNone) {
  EXPECT_FALSE(mainLoopOf(sass("layer", {"FADD R4, R4, R4", "EXIT"}), "layer"));
  EXPECT_FALSE(mainLoopOf(sass("layer", {"MUFU.EX2 R4, R4", "BRA 0x0"}), "other"));
  EXPECT_FALSE(mainLoopOf("", "layer"));
  EXPECT_FALSE(mainLoopOf("Function : layer\n /*zz*/ BRA 0x0 ;\n /*0000*/\n", "layer"));
}
TEST(Sass, LanesPart) {
  // Before the branch all lanes are there; between it and BSYNC some may be missing, on both sides.
  EXPECT_EQ(whereLanesParted(sass("layer", {"BSSY B0, 0x70", "SHFL.BFLY PT, R3, R2, 0x1, 0x1f", "@P0 BRA 0x50",
                                            "HMMA.16816.F32 R4, R0, R2, R4", "BRA 0x60", "LDSM.16.M88.4 R4, [R2]",
                                            "BSYNC B0", "HMMA.16816.F32 R4, R0, R2, R4", "EXIT"}),
                             "layer"),
            (std::vector<std::string>{"30 HMMA.16816.F32", "50 LDSM.16.M88.4"}));
  // All lanes take a branch without a BSSY before it.
  EXPECT_TRUE(whereLanesParted(sass("layer", {"VOTE.ANY P0, P0", "@!P0 BRA 0x30", "HMMA.16816.F32 R4, R0, R2, R4",
                                              "SHFL.BFLY PT, R3, R2, 0x1, 0x1f", "EXIT"}),
                               "layer")
                  .empty());
  // A predicate, and lanes that ended.
  EXPECT_EQ(whereLanesParted(sass("layer", {"@P1 SHFL.IDX PT, R3, R2, R4, 0x1f", "@UP0 LDSM.16.M88.4 R4, [R2]",
                                            "@P0 EXIT", "BAR.SYNC.DEFER_BLOCKING 0x0", "EXIT"}),
                             "layer"),
            (std::vector<std::string>{"0 SHFL.IDX", "30 BAR.SYNC.DEFER_BLOCKING"}));
}
TEST(Sass, WhatIsMissingIsSaid) {
  auto failed = disassemble("no cubin", "no/such/cuobjdump");
  ASSERT_FALSE(failed);
  EXPECT_NE(llvm::toString(failed.takeError()).find("cuobjdump failed"), std::string::npos);
}

} // namespace
