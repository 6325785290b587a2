// Tests ptxas: its output is read, and, where it is installed, kernels assemble for every target without spills.
#include "codegen/GPU/Fatbinary.h"
#include "codegen/GPU/Ptx.h"
#include "codegen/GPU/Sass.h"
#include "codegen/GPU/Tool.h"
#include "tests/unit/GpuCodeBuilder.h"
#include "tests/unit/LanguageTesting.h"
#include "llvm/Support/FileSystem.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

TEST(Ptxas, ItsWordsAreRead) {
  gpu::Resources resources = gpu::resourcesOf(
      "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'layer' for 'sm_80'\n"
      "ptxas info    : Function properties for layer\n"
      "    96 bytes stack frame, 92 bytes spill stores, 128 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 96 bytes cumulative stack size, 400 bytes cmem[0]\n");
  EXPECT_EQ(resources.registers, 255);
  EXPECT_EQ(resources.spilledBytes, 92 + 128);
  EXPECT_TRUE(resources.warnings.empty());
  resources = gpu::resourcesOf("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                               "ptxas info    : Used 40 registers, used 1 barriers, 400 bytes cmem[0]\n"
                               "ptxas warning : something of note\n");
  EXPECT_EQ(resources.registers, 40);
  EXPECT_EQ(resources.spilledBytes, 0);
  EXPECT_SAYS(resources.warnings, "something of note");
  EXPECT_TRUE(resources.losses.empty());
  EXPECT_EQ(gpu::resourcesOf("").registers, 0);
  resources = gpu::resourcesOf("ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
                               "serialized due to insufficient register resources for the wgmma pipeline in function "
                               "'layer'\nptxas info    : Used 168 registers, used 3 barriers\n");
  EXPECT_SAYS(resources.losses, "are serialized");
  EXPECT_EQ(resources.warnings, resources.losses);
}
TEST(Ptxas, SaysWhereItLooked) {
  auto path = gpu::findPtxas("no/such/folder");
  ASSERT_FALSE(path);
  EXPECT_EQ(llvm::toString(path.takeError()), "--cuda-path: there is no bin/ptxas in 'no/such/folder'");
}
TEST(GpuTarget, Names) {
  EXPECT_TRUE(gpu::findGpuTarget("sm_90a"));
  EXPECT_FALSE(gpu::findGpuTarget("sm_79"));
  EXPECT_TRUE(gpu::isGpuName("sm_79"));
  EXPECT_FALSE(gpu::isGpuName("zen4"));
}

TEST(GpuAssemble, TooOldAToolkitIsRecognised) {
  EXPECT_EQ(
      gpu::releaseOf("ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V13.0.88\n"),
      "13.0");
  EXPECT_EQ(gpu::releaseOf("no such thing"), "");
  EXPECT_TRUE(gpu::isTooOld("ptxas fatal   : Value 'sm_150' is not defined for option 'gpu-name'"));
  EXPECT_TRUE(gpu::isTooOld("ptxas a.ptx, line 1; fatal   : Unsupported .version 9.9; current version is '9.0'"));
  EXPECT_FALSE(gpu::isTooOld("ptxas a.ptx, line 5; error   : Unknown symbol 'x'"));
  EXPECT_EQ(gpu::firstCudaOf(*gpu::findGpuTarget("sm_80")), 12000u);
  EXPECT_EQ(gpu::firstCudaOf(*gpu::findGpuTarget("sm_100a")), 12070u);
  EXPECT_EQ(gpu::textOfCuda(gpu::firstCudaOf(*gpu::findGpuTarget("sm_120"))), "12.8");
  EXPECT_EQ(gpu::cudaOfPtx(8, 5), 12050u);
  EXPECT_EQ(gpu::cudaOfPtx(9, 0), 13000u);
  EXPECT_EQ(gpu::cudaOfPtx(7, 8), 11080u);
}

std::string layer(int64_t dim, const std::string &more = "", const std::string &score = "", const char *type = "f16") {
  return "param N = 4096, heads = 8, dim = " + std::to_string(dim) + "\nsize batch\nkernel layer(q, k, v : " + type +
         "[batch, heads, N, dim]" + more + ") -> " + type +
         "[batch, heads, N, dim] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n  return einsum(\"b h i "
         "j, b h j d -> b h i d\", softmax((content" +
         score + ") * dim^-0.5 where j <= i), v)\n}\n";
}

/// Returns a layer with rows by offset for keys and values.
std::string valued(int64_t dim, const std::string &type) {
  return "param N = 4096, heads = 8, dim = " + std::to_string(dim) + "\nsize batch\nkernel layer(q, k, v : " + type +
         "[batch, heads, N, dim], near, far : " + type + "[9, dim]) -> " + type +
         "[batch, heads, N, dim] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n  position = einsum(\"b "
         "h "
         "i d, (clamp(j - i, -4, 4) + 4) d -> b h i j\", q, near)\n  weights = softmax((content + position) * "
         "dim^-0.5)\n  added = einsum(\"b h i j, (j - i + 4) d -> b h i d\", weights, far, where = abs(j - i) <= 4)\n  "
         "return einsum(\"b h i j, b h j d -> b h i d\", weights, v) + added\n}\n";
}

/// Checks the output of NVIDIA's tool: its magic number, and its contents if cuobjdump is installed.
TEST(GpuFatbin, HoldsCubinsAndPtx) {
  auto ptxas = gpu::findPtxas("");
  auto fatbinary = gpu::findFatbinary("");
  if (!ptxas || !fatbinary) {
    llvm::consumeError(ptxas.takeError());
    llvm::consumeError(fatbinary.takeError());
    GTEST_SKIP() << "no ptxas or no fatbinary";
  }
  GpuCodeBuilder builder(layer(64));
  std::vector<gpu::GpuCode> codes;
  for (const char *target : {"sm_80", "sm_90a"}) {
    auto code = builder.build(*gpu::findGpuTarget(target), *ptxas);
    ASSERT_TRUE(code && *code);
    codes.push_back(std::move(**code));
  }
  auto fatbin = gpu::fatbinOf(codes, *fatbinary);
  ASSERT_TRUE(bool(fatbin)) << llvm::toString(fatbin.takeError());
  EXPECT_EQ(fatbin->substr(0, 4), "\x50\xed\x55\xba");
  auto cuobjdump = gpu::findCuobjdump("", *ptxas);
  if (!cuobjdump)
    return llvm::consumeError(cuobjdump.takeError());
  auto file = gpu::TemporaryFile::create("fatbin", *fatbin);
  ASSERT_TRUE(bool(file));
  auto listed = gpu::runTool(*cuobjdump, {"-lelf", "-lptx", file->path()});
  ASSERT_TRUE(bool(listed)) << llvm::toString(listed.takeError());
  for (const char *name : {".sm_80.cubin", ".sm_90a.cubin", ".sm_80.ptx", ".sm_90a.ptx"})
    EXPECT_SAYS(*listed, name);
}

TEST(GpuBuild, PtxNeedsNoAssembler) {
  GpuCodeBuilder builder(layer(64));
  auto code = builder.build(*gpu::findGpuTarget("sm_80"), "");
  ASSERT_TRUE(bool(code) && *code);
  EXPECT_SAYS((*code)->ptx, ".target sm_80");
  EXPECT_EQ((*code)->ptx.find('\0'), std::string::npos);
  EXPECT_TRUE((*code)->cubin.empty());
  EXPECT_EQ(builder.tried, 1);
  std::string manifest = gpu::addGpuTargets("{\"name\": \"layer\"}", {**code});
  EXPECT_SAYS(manifest, "\"ptx\": \"layer.sm_80.ptx\"");
  EXPECT_SAYS(manifest, "\"kernel\": \"layer\"");
  EXPECT_SAYS(manifest, "\"name\": \"layer\"");
}
TEST(GpuBuild, TilesFitIntoSharedMemory) {
  GpuCodeBuilder builder(layer(192));
  auto code = builder.build(*gpu::findGpuTarget("sm_89"), "");
  ASSERT_TRUE(bool(code) && *code);
  EXPECT_LE((*code)->program.launches.front().sharedBytes, 99 << 10);
  EXPECT_EQ(builder.tried, 1); // the model predicted it
  // If no tile fits, a warp computes a row of scores, and the launch says so.
  GpuCodeBuilder wide("param N = 64, dim = 4096\nkernel layer(q, k : f16[N, dim], v : f16[N, 64]) -> f16[N, 64] {\n  return "
               "einsum(\"i j, j d -> i d\", softmax(einsum(\"i d, j d -> i j\", q, k)), v)\n}\n");
  auto rows = wide.build(*gpu::findGpuTarget("sm_89"), "");
  ASSERT_TRUE(bool(rows) && *rows);
  EXPECT_SAYS((*rows)->program.launches.back().note, "its smallest tile needs");
}
TEST(GpuBuild, WideHeadsWithLittleSharedMemory) {
  auto ptxas = gpu::findPtxas("");
  if (!ptxas) {
    llvm::consumeError(ptxas.takeError());
    GTEST_SKIP() << "there is no ptxas";
  }
  const std::string tables = ", near, turned : T[2*N - 1, dim]",
                    score = " + rel1d(q, near) + einsum(\"b h j d, (i - j + N - 1) d -> b h i j\", k, turned, i = N)";
  for (const char *type : {"f16", "f32"}) {
    std::string more = tables;
    more.replace(more.find("T["), 1, type);
    GpuCodeBuilder builder(layer(256, more, score, type));
    auto code = builder.build(*gpu::findGpuTarget("sm_89"), *ptxas);
    if (!code) { // of f32, ptxas of CUDA 13.0 spills by rows too: that is an error, with the bytes
      EXPECT_EQ(type, std::string("f32"));
      EXPECT_SAYS(llvm::toString(code.takeError()),
                  "bytes of registers are spilled even with the schedule that needs the fewest registers");
      continue;
    }
    ASSERT_TRUE(*code);
    const gpu::GpuLaunch &launch = (*code)->program.launches.front();
    EXPECT_LE(launch.sharedBytes, 99 << 10);
    // It is one kernel, or goes by rows with a reason; nothing is spilled.
    EXPECT_EQ((*code)->resources.spilledBytes, 0);
    EXPECT_TRUE(launch.rows > 0 || !launch.note.empty());
  }
}
/// Writes a script in place of ptxas, which says `words` about kernels whose PTX has `instruction`. Returns its path.
static std::string scriptThatSays(const std::string &words, const std::string &instruction) {
  llvm::SmallString<128> script;
  int file = -1;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("ptxas", "sh", file, script));
  {
    llvm::raw_fd_ostream out(file, /*shouldClose=*/true);
    out << "#!/bin/sh\necho code > $5\necho \"Compiling entry function 'layer' for\" >&2\nif grep -q " << instruction
        << " $3; then echo '" << words << "' >&2; fi\necho 'ptxas info : Used 255 registers' >&2\n";
  }
  llvm::sys::fs::setPermissions(script, llvm::sys::fs::perms::all_all);
  return script.str().str();
}
/// Products that ptxas lets run one after another: another schedule is taken, and where there is none the same.
TEST(GpuBuild, ProductsThatAreSerialised) {
  std::string script =
      scriptThatSays("ptxas info : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized",
                     "wgmma.mma_async");
  GpuCodeBuilder builder(layer(64));
  const gpu::GpuTarget target = *gpu::findGpuTarget("sm_90a");
  auto first = builder.build(target, "");
  ASSERT_TRUE(bool(first) && *first);
  EXPECT_SAYS((*first)->ptx, "wgmma.mma_async"); // the model's choice
  auto code = builder.build(target, script);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  ASSERT_TRUE(*code);
  EXPECT_EQ((*code)->ptx.find("wgmma.mma_async"), std::string::npos);
  EXPECT_SAYS((*code)->ptx, "mma.sync");
  EXPECT_EQ((*code)->resources.losses, "");
  builder.pinned.engine = "wgmma";
  code = builder.build(target, script);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  ASSERT_TRUE(*code);
  EXPECT_SAYS((*code)->ptx, "wgmma.mma_async");
  EXPECT_SAYS((*code)->resources.losses, "are serialized");
  llvm::sys::fs::remove(script);
}
TEST(GpuBuild, WhatSpillsInEveryTileGoesByRows) {
  std::string script =
      scriptThatSays("    80 bytes stack frame, 80 bytes spill stores, 40 bytes spill loads", "mma.sync");
  GpuCodeBuilder builder(layer(64));
  auto code = builder.build(*gpu::findGpuTarget("sm_80"), script);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  ASSERT_TRUE(*code);
  EXPECT_EQ((*code)->program.launches.front().note, "its registers are spilled in every tile that fits into a block");
  EXPECT_GT(builder.tried, 2);
  // A requested tile is not replaced by another one.
  builder.pinned.rows = 32;
  code = builder.build(*gpu::findGpuTarget("sm_80"), script);
  ASSERT_FALSE(bool(code));
  EXPECT_SAYS(llvm::toString(code.takeError()),
              "120 bytes of registers are spilled even with the schedule that needs the fewest registers");
  llvm::sys::fs::remove(script);
}
TEST(GpuBuild, AFewSpillsAreNotWorthAnotherBlock) {
  auto ptxas = gpu::findPtxas("");
  if (!ptxas) {
    llvm::consumeError(ptxas.takeError());
    GTEST_SKIP() << "there is no ptxas";
  }
  // Left alone, ptxas of CUDA 13.0 spills 8 bytes in this tile to make 186 registers 168.
  GpuCodeBuilder builder(layer(64, "", "", "f32"));
  builder.pinned.rows = 64;
  builder.pinned.keys = 16;
  builder.pinned.stages = 2;
  builder.pinned.keepQueries = true;
  auto code = builder.build(*gpu::findGpuTarget("sm_80"), *ptxas);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  ASSERT_TRUE(*code);
  EXPECT_EQ((*code)->resources.spilledBytes, 0);
  EXPECT_EQ((*code)->program.launches.front().keys, 16);
}
TEST(GpuBuild, EveryGenerationWithoutSpills) {
  auto ptxas = gpu::findPtxas("");
  if (!ptxas) {
    llvm::consumeError(ptxas.takeError());
    GTEST_SKIP() << "there is no ptxas";
  }
  auto check = [&](const std::string &text, llvm::ArrayRef<gpu::GpuTarget> targets) {
    GpuCodeBuilder builder(text);
    for (const gpu::GpuTarget &target : targets) {
      auto code = builder.build(target, *ptxas);
      ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
      ASSERT_TRUE(*code);
      bool movesRegisters = llvm::StringRef((*code)->ptx).contains("setmaxnreg");
      EXPECT_LE((*code)->resources.spilledBytes, movesRegisters ? gpu::kFewSpilledBytes : 0) << target.name;
      EXPECT_GT((*code)->resources.registers, 32);
      EXPECT_EQ((*code)->resources.warnings, "") << target.name;
      EXPECT_EQ((*code)->cubin.substr(0, 4), "\177ELF");
    }
  };
  std::vector<gpu::GpuTarget> generations;
  for (const char *name : {"sm_80", "sm_90a", "sm_100a", "sm_120a"})
    generations.push_back(*gpu::findGpuTarget(name));
  check(layer(32), generations);
  check(layer(64, ", table : f16[2*N - 1, dim]", " + rel1d(q, table)"), generations.front());
  check(layer(128, "", "", "bf16"), generations.front());
  check(layer(64, "", "", "f32"), generations);
  check(layer(48, ", table : f32[2*N - 1, dim]", " + rel1d(q, table)", "f32"), generations.front());
  for (const char *type : {"f16", "f32"})
    check(valued(64, type), generations.front());
}
TEST(GpuBuild, WideHeadsOfF32) {
  auto ptxas = gpu::findPtxas("");
  if (!ptxas) {
    llvm::consumeError(ptxas.takeError());
    GTEST_SKIP() << "there is no ptxas";
  }
  for (int64_t dim : {1, 20, 160, 256}) {
    GpuCodeBuilder builder(layer(dim, ", table : f32[2*N - 1, dim]", " + rel1d(q, table)", "f32"));
    auto code = builder.build(*gpu::findGpuTarget("sm_80"), *ptxas);
    ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
    ASSERT_TRUE(*code);
    EXPECT_EQ((*code)->resources.spilledBytes, 0);
    EXPECT_LE((*code)->program.launches.front().sharedBytes, 163 << 10);
  }
}
TEST(GpuBuild, WrongPtxIsAnError) {
  auto ptxas = gpu::findPtxas("");
  if (!ptxas) {
    llvm::consumeError(ptxas.takeError());
    GTEST_SKIP() << "there is no ptxas";
  }
  auto code =
      gpu::assemble(".version 8.0\n.target sm_80\n.address_size 64\nnonsense;\n", *gpu::findGpuTarget("sm_80"), *ptxas);
  ASSERT_FALSE(bool(code));
  EXPECT_SAYS(llvm::toString(code.takeError()), "target 'sm_80': ptxas failed");
}

} // namespace
