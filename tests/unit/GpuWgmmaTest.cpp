// Tests wgmma in the interpreter: compares products of small whole numbers, which are exact, with plain loops for every
// layout of the operands; and tests the faults of accesses to registers before a wait.
#include "codegen/GPU/Interpreter/MatrixDescriptor.h"
#include "codegen/GPU/Interpreter/Numbers.h"
#include "codegen/GPU/Interpreter/WgmmaForm.h"
#include "tests/unit/HopperProgram.h"
#include <cmath>
#include <random>

using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::testing;

namespace {

struct ProductCase {
  const char *type;
  unsigned swizzle, columns, steps; // steps of k
  bool transposedB, registersA;
};
std::string nameOf(const ::testing::TestParamInfo<ProductCase> &info) {
  const ProductCase &how = info.param;
  return std::string(how.type) + "_swizzle" + std::to_string(how.swizzle) + "_n" + std::to_string(how.columns) + "_k" +
         std::to_string(how.steps) + (how.transposedB ? "_transposed" : "") + (how.registersA ? "_registers" : "");
}

unsigned bytesOf(const std::string &type) { return type == "tf32" ? 4 : type == "e4m3" ? 1 : 2; }
TensorMapType mapType(const std::string &type) {
  return type == "tf32"   ? TensorMapType::F32
         : type == "e4m3" ? TensorMapType::U8
         : type == "f16"  ? TensorMapType::F16
                          : TensorMapType::BF16;
}

/// Returns the bits of a small whole number.
uint32_t bitsOfNumber(const std::string &type, int x) {
  if (type == "tf32")
    return bitsOf(float(x));
  if (type == "f16")
    return toHalf(float(x));
  if (type == "bf16")
    return toBrain(float(x));
  for (uint32_t bits = 0; bits < 256; ++bits)
    if (fromE4M3(uint8_t(bits)) == float(x))
      return bits;
  return 0;
}

/// A matrix of small whole numbers, and its bytes, row by row.
struct Matrix {
  Matrix(const std::string &type, unsigned rows, unsigned columns, unsigned seed) : columns(columns) {
    std::mt19937 random(seed);
    for (unsigned k = 0; k < rows * columns; ++k) {
      values.push_back(int(random() % 9) - 4);
      uint32_t bits = bitsOfNumber(type, values.back());
      for (unsigned byte = 0; byte < bytesOf(type); ++byte)
        bytes.push_back(uint8_t(bits >> 8 * byte));
    }
  }
  int at(unsigned row, unsigned column) const { return values[row * columns + column]; }
  TensorMap map(const std::string &type, unsigned rows, unsigned boxBytes, unsigned boxRows, unsigned swizzle) const {
    TensorMap map;
    map.type = mapType(type);
    map.rank = 2;
    map.dims = {columns, rows};
    map.strides = {uint64_t(columns) * bytesOf(type)};
    map.box = {boxBytes / bytesOf(type), boxRows};
    map.swizzleBytes = swizzle;
    return map;
  }
  unsigned columns;
  std::vector<int> values;
  std::vector<uint8_t> bytes;
};

/// Returns copies of all boxes of a tensor of `bytes` × `rows` to `base`, one behind the other.
std::string boxes(const std::string &name, unsigned base, unsigned rows, unsigned bytes, unsigned boxBytes,
                  unsigned each) {
  std::string text;
  for (unsigned k = 0; k < bytes / boxBytes; ++k) {
    std::string n = name + std::to_string(k);
    text += shared(n, base + k * rows * boxBytes) + number(n + "x", k * boxBytes / each) + "  %" + n +
            "w = llvm.addrspacecast %" + n + " : !llvm.ptr<3> to !llvm.ptr<7>\n" +
            "  nvvm.cp.async.bulk.tensor.shared.cluster.global %" + n + "w, %" + name + "map, %full, box [%" + n +
            "x, %c0] : !llvm.ptr<7>, !llvm.ptr\n";
  }
  return text;
}

class GpuWgmma : public ::testing::TestWithParam<ProductCase> {};

/// One thread copies A and B by TMA, all threads wait on the mbarrier, and four warps multiply.
TEST_P(GpuWgmma, MultipliesWhatTmaHasCopied) {
  ProductCase how = GetParam();
  std::string type = how.type;
  WgmmaText wgmma{type, how.columns, false, how.transposedB};
  unsigned each = bytesOf(type), depth = how.steps * wgmma.depth(), kBytes = depth * each;
  unsigned panel = how.swizzle ? how.swizzle : 16, n = how.columns;
  unsigned rowsB = how.transposedB ? depth : n, bytesB = how.transposedB ? n * each : kBytes;
  unsigned baseA = 1024, baseB = baseA + 64 * kBytes, total = rowsB * bytesB + (how.registersA ? 0 : 64 * kBytes);
  Matrix a(type, 64, depth, 1), b(type, rowsB, bytesB / each, 2);

  std::string body = shared("full", 0) + number("bytes", total) + number("ticks", 10000) + number("no", 0) +
                     number("yes", 1) + wgmma.begin("z");
  body += "  %first = llvm.icmp \"eq\" %tid, %c0 : i32\n  llvm.cond_br %first, ^init, ^ready\n^init:\n"
          "  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32\n  nvvm.fence.mbarrier.init\n"
          "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}\n  llvm.br ^ready\n^ready:\n  nvvm.barrier0\n"
          "  llvm.cond_br %first, ^copy, ^wait\n^copy:\n"
          "  nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32\n";
  if (!how.registersA)
    body += boxes("a", baseA, 64, kBytes, panel, each);
  body += boxes("b", baseB, rowsB, bytesB, panel, each) +
          "  llvm.br ^wait\n^wait:\n  nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32\n";
  std::vector<std::string> registers;
  for (unsigned k = 0; how.registersA && k < 4 * how.steps; ++k) {
    std::string r = "r" + std::to_string(k);
    body += number(r + "n", int64_t(4) * how.steps) + number(r + "k", k) + "  %" + r + "m = llvm.mul %tid, %" + r +
            "n : i32\n  %" + r + "i = llvm.add %" + r + "m, %" + r + "k : i32\n  %" + r +
            "p = llvm.getelementptr %ra[%" + r + "i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n  %" + r +
            " = llvm.load %" + r + "p : !llvm.ptr<1> -> i32\n";
    registers.push_back(r);
  }
  body += "  nvvm.wgmma.fence.aligned\n";
  std::string sums = "z";
  for (unsigned step = 0; step < how.steps; ++step) {
    std::string s = std::to_string(step);
    unsigned byte = step * 32;
    auto alongK = [&](unsigned base, unsigned rows) {
      return how.swizzle ? descriptor(base + byte / panel * rows * panel + byte % panel, 16, 8 * panel, how.swizzle)
                         : descriptor(base + byte / 16 * rows * 16, rows * 16, 128, 0);
    };
    uint64_t da = alongK(baseA, 64), db = alongK(baseB, n);
    if (how.transposedB)
      db = how.swizzle ? descriptor(baseB + step * 16 * panel, depth * panel, 8 * panel, how.swizzle)
                       : descriptor(baseB + step * 256, 128, depth * 16, 0);
    body += number("ka" + s, int64_t(da), 64) + number("kb" + s, int64_t(db), 64) + "  %da" + s + " = llvm.add %ka" + s +
            ", %s16 : i64\n  %db" + s + " = llvm.add %kb" + s + ", %s16 : i64\n";
    std::vector<std::string> of{"da" + s};
    if (how.registersA)
      of.assign(registers.begin() + 4 * step, registers.begin() + 4 * step + 4);
    std::string next = "d" + s + "_";
    body += wgmma.issue(sums, next, of, "db" + s, step ? "yes" : "no");
    sums = next;
  }
  body += "  nvvm.wgmma.commit.group.sync.aligned\n" + wgmma.wait(0, sums, "e") + number("each", n / 2) +
          "  %at = llvm.mul %tid, %each : i32\n";
  for (unsigned k = 0; k < n / 2; ++k) {
    std::string s = std::to_string(k);
    body += number("o" + s, k) + "  %i" + s + " = llvm.add %at, %o" + s + " : i32\n  %p" + s +
            " = llvm.getelementptr %out[%i" + s + "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n  llvm.store %e" + s +
            ", %p" + s + " : f32, !llvm.ptr<1>\n";
  }
  HopperKernel kernel(body + "  llvm.return\n",
                      mapParameter("amap") + ", " + mapParameter("bmap") +
                          ", %a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %ra: !llvm.ptr<1>, %out: !llvm.ptr<1>",
                      128, baseB + rowsB * bytesB);
  ASSERT_TRUE(kernel.parsed());
  EXPECT_EQ(kernel.assembles(), "");

  // Fragments of A by the manual: register i of a thread holds four bytes of row g + 8 (i % 2), from byte 4 t + 16 (i /
  // 2).
  std::vector<uint32_t> fragments(size_t(128) * 4 * how.steps);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned k = 0; k < 4 * how.steps; ++k) {
      unsigned row = thread / 32 * 16 + thread % 32 / 4 + k % 2 * 8;
      unsigned byte = k / 4 * 32 + thread % 4 * 4 + k % 4 / 2 * 16;
      std::memcpy(&fragments[thread * 4 * how.steps + k], &a.bytes[row * kBytes + byte], 4);
    }
  std::vector<float> out(size_t(128) * n / 2);
  std::vector<LaunchArgument> arguments{LaunchArgument::tensorMap(a.map(type, 64, panel, 64, how.swizzle), 2),
                                        LaunchArgument::tensorMap(b.map(type, rowsB, panel, rowsB, how.swizzle), 3),
                                        LaunchArgument::input(a.bytes.data(), a.bytes.size(), "a"),
                                        LaunchArgument::input(b.bytes.data(), b.bytes.size(), "b"),
                                        LaunchArgument::input(fragments.data(), fragments.size() * 4, "fragments"),
                                        LaunchArgument::output(out.data(), out.size() * 4, "out")};
  for (unsigned seed : {0u, 8u, 14u}) {
    Outcome report = kernel.run(arguments, seed);
    ASSERT_TRUE(report.faults.empty()) << "seed " << seed << "\n" << report.text();
    for (unsigned thread = 0; thread < 128; ++thread)
      for (unsigned k = 0; k < n / 2; ++k) {
        unsigned row = thread / 32 * 16 + thread % 32 / 4 + k / 2 % 2 * 8;
        unsigned column = k / 4 * 8 + thread % 4 * 2 + k % 2;
        int sum = 0;
        for (unsigned l = 0; l < depth; ++l)
          sum += a.at(row, l) * (how.transposedB ? b.at(l, column) : b.at(column, l));
        ASSERT_EQ(out[thread * n / 2 + k], float(sum)) << "row " << row << ", column " << column;
      }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Layouts, GpuWgmma,
    ::testing::Values(ProductCase{"bf16", 128, 16, 8, false, false}, ProductCase{"bf16", 64, 24, 4, false, false},
                      ProductCase{"f16", 32, 8, 2, false, false}, ProductCase{"f16", 0, 16, 2, false, false},
                      ProductCase{"bf16", 128, 128, 4, true, true}, ProductCase{"bf16", 64, 64, 4, true, true},
                      ProductCase{"f16", 32, 32, 2, true, true}, ProductCase{"f16", 0, 16, 4, true, true},
                      ProductCase{"bf16", 128, 64, 4, false, true}, ProductCase{"tf32", 128, 16, 4, false, false},
                      ProductCase{"tf32", 64, 16, 2, false, true}, ProductCase{"e4m3", 128, 32, 4, false, false},
                      ProductCase{"e4m3", 64, 16, 2, false, true}),
    nameOf);

TEST(GpuWgmmaText, OtherFormsAreRefused) {
  WgmmaText wgmma{"bf16", 8};
  std::string text = wgmma.issue("z", "d", {"a"}, "b", "s");
  auto between = [&](const std::string &from, const std::string &to) {
    size_t first = text.find(from) + from.size();
    return text.substr(first, text.find(to, first) - first);
  };
  std::string code = between("att \"", "\", \""), constraints = between("\", \"", "\" %");
  auto form = wgmmaFormOf(code, constraints);
  ASSERT_TRUE(form) << code << "\n" << constraints;
  EXPECT_EQ(form->columns, 8u);
  EXPECT_EQ(form->depth(), 16u);
  EXPECT_FALSE(form->registersA || form->transposedB);
  auto replaced = [](std::string text, const std::string &from, const std::string &to) {
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_FALSE(wgmmaFormOf(replaced(code, "n8k16", "n8k8"), constraints)) << "k belongs to the type";
  EXPECT_FALSE(wgmmaFormOf(replaced(code, "n8k16", "n12k16"), constraints));
  EXPECT_FALSE(wgmmaFormOf(replaced(code, ".f32.", ".f16."), constraints));
  EXPECT_FALSE(wgmmaFormOf(replaced(code, "$0, $1", "$1, $0"), constraints)) << "operands in another order";
  EXPECT_FALSE(wgmmaFormOf(code + "nop;", constraints));
  EXPECT_FALSE(wgmmaFormOf(code, replaced(constraints, ",~{memory}", ""))) << "LLVM may move loads across it";
  EXPECT_FALSE(wgmmaFormOf(code, replaced(constraints, "0,1,2,3", "0,1,3,2"))) << "a sum tied to another one";
  EXPECT_EQ(wgmmaWaitOf("wgmma.wait_group.sync.aligned 1;", "=f,=r,0,1,~{memory}", 2), 1u);
  EXPECT_FALSE(wgmmaWaitOf("wgmma.wait_group.sync.aligned 1;", "=f,=r,1,0,~{memory}", 2));
  EXPECT_FALSE(wgmmaWaitOf("wgmma.wait_group.sync.aligned 1;", "~{memory}", 1));
}

TEST(GpuWgmmaText, NumbersOfEightBits) {
  EXPECT_EQ(fromE4M3(0x38), 1.0f);
  EXPECT_EQ(fromE4M3(0xb8), -1.0f);
  EXPECT_EQ(fromE4M3(0x7e), 448.0f);
  EXPECT_EQ(fromE4M3(0x01), 0x1p-9f);
  EXPECT_EQ(fromE4M3(0x08), 0x1p-6f);
  EXPECT_TRUE(std::isnan(fromE4M3(0x7f)) && std::isnan(fromE4M3(0xff)));
}

TEST(GpuWgmmaText, DescriptorsThatAreRefused) {
  auto problem = [](uint64_t bits) { return MatrixDescriptor(bits).problem(false); };
  EXPECT_EQ(problem(descriptor(1024, 16, 1024, 128)), "");
  EXPECT_EQ(problem(descriptor(1024 + 96, 16, 1024, 128)), "");
  EXPECT_EQ(problem(descriptor(1024 + 112, 16, 1024, 128)),
            "the operand begins at 1136, 16 bytes before the end of a row of 128");
  EXPECT_EQ(problem(descriptor(1024 + 128, 16, 1024, 128)),
            "the operand begins at 1152, in row 1 of eight; a multiple of 1024 is needed");
  EXPECT_EQ(problem(descriptor(1024, 16, 1024, 128) | uint64_t(1) << 49),
            "the matrix descriptor has the base offset 1; the interpreter knows 0 only");
  EXPECT_EQ(problem(descriptor(1024, 16, 1024, 128) | uint64_t(1) << 15),
            "the matrix descriptor has a bit set that has no meaning");
}

//===- Registers ------------------------------------------------------------------===//

/// Returns a kernel with B, 8 × 16 ones, in shared memory without a swizzle, and A in registers. Each thread stores the
/// first of its sums. `edits` are replacements in the text.
std::string registerKernel(const std::vector<std::pair<std::string, std::string>> &edits) {
  WgmmaText wgmma{"bf16", 8};
  std::string body = number("one", 0x3f803f80) + number("db", int64_t(descriptor(1024, 128, 128, 0)), 64) +
                     number("two", 0x40004000) + shared("b", 1024, "place") + wgmma.begin("z");
  body = "  %masked = llvm.and %tid, %c63 : i32\n  %place = llvm.mul %masked, %c4 : i32\n" + body;
  body = number("c63", 63) + body +
         "  llvm.cond_br %early, ^fill, ^filled\n^fill:\n  llvm.store %one, %b : i32, !llvm.ptr<3>\n"
         "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>} // proxy\n  llvm.br ^filled\n^filled:\n"
         "  nvvm.barrier0 // barrier\n"
         "  %x = llvm.add %tid, %c0 : i32\n  %y = llvm.sub %x, %tid : i32\n  %a = llvm.add %one, %y : i32 // a\n"
         "  nvvm.wgmma.fence.aligned // fence\n";
  body.insert(body.find("  llvm.cond_br %early"), "  %c64 = llvm.mlir.constant(64 : i32) : i32\n"
                                                  "  %early = llvm.icmp \"ult\" %tid, %c64 : i32\n");
  body += wgmma.issue("z", "d", {"a", "a", "a", "a"}, "db", "c0") +
          wgmma.issue("d", "e", {"a", "a", "a", "a"}, "db", "c1") +
          "  nvvm.wgmma.commit.group.sync.aligned // commit\n  // before\n" + wgmma.wait(0, "e", "f") +
          "  %p = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
          "  // after\n  llvm.store %f0, %p : f32, !llvm.ptr<1>\n  llvm.return\n";
  for (const auto &[from, to] : edits) {
    EXPECT_NE(body.find(from), std::string::npos) << from;
    body.replace(body.find(from), from.size(), to);
  }
  return body;
}
Outcome runRegisters(const std::vector<std::pair<std::string, std::string>> &edits,
                     std::vector<float> *sums = nullptr) {
  HopperKernel kernel(registerKernel(edits), "%out: !llvm.ptr<1>", 128, 2048);
  EXPECT_TRUE(kernel.parsed());
  std::vector<float> out(128);
  Outcome report = kernel.run({LaunchArgument::output(out.data(), 512, "out")});
  if (sums)
    *sums = out;
  return report;
}
/// Expects a fault of this kind whose message has `text` in it.
void expectFault(const std::vector<std::pair<std::string, std::string>> &edits, FaultKind kind,
                 const std::string &text) {
  Outcome report = runRegisters(edits);
  EXPECT_TRUE(has(report, kind)) << text << "\n" << report.text();
  EXPECT_NE(report.text().find(text), std::string::npos) << text << "\n" << report.text();
}

TEST(GpuWgmmaRegisters, SumsThatAreWaitedFor) {
  std::vector<float> sums;
  Outcome report = runRegisters({}, &sums);
  EXPECT_TRUE(report.faults.empty()) << report.text();
  for (float sum : sums)
    EXPECT_EQ(sum, 32.0f);
  HopperKernel kernel(registerKernel({}), "%out: !llvm.ptr<1>", 128, 2048);
  EXPECT_EQ(kernel.assembles(), "");
}
TEST(GpuWgmmaRegisters, SumsAreReadAfterTheWaitAlone) {
  expectFault({{"// before", "%early2 = llvm.fadd %e0, %e0 : f32"}}, FaultKind::Race,
              "reads a sum of a wgmma that has not been waited for");
  expectFault({{"store %f0", "store %e0"}, {"wait_group.sync.aligned 0", "wait_group.sync.aligned 1"}}, FaultKind::Race,
              "reads a sum of a wgmma that has not been waited for");
  expectFault({{"nvvm.wgmma.commit.group.sync.aligned // commit", ""}}, FaultKind::Race,
              "reads a sum of a wgmma that has not been waited for");
  // The wait is enough, also for a value whose name is not a result of the wait.
  EXPECT_TRUE(runRegisters({{"store %f0", "store %e0"}}).faults.empty());
}
TEST(GpuWgmmaRegisters, FencesFollowWrites) {
  const std::string fence = "nvvm.wgmma.fence.aligned // fence";
  expectFault({{fence, ""}}, FaultKind::Race, "executes no wgmma.fence before its first wgmma");
  expectFault({{fence, ""}, {"%x = llvm.add", fence + "\n  %x = llvm.add"}}, FaultKind::Race,
              "writes a register of A after the last wgmma.fence");
}
TEST(GpuWgmmaRegisters, PoisonIsNoSum) {
  std::string text = registerKernel({});
  size_t scale = text.find("%db, %c0");
  ASSERT_NE(scale, std::string::npos);
  expectFault({{"%db, %c0", "%db, %c1"}}, FaultKind::Uninitialised, "adds to a register that nothing wrote");
}
TEST(GpuWgmmaRegisters, OperandsInSharedMemory) {
  expectFault({{"nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>} // proxy", ""}}, FaultKind::Race,
              "through the generic proxy, with no fence.proxy.async after it");
  expectFault({{"nvvm.barrier0 // barrier", ""}}, FaultKind::Race, "and no barrier or wait lies between");
  // The operand is overwritten before, and after, the wait.
  std::string overwrite = "llvm.store %two, %b : i32, !llvm.ptr<3>\n";
  expectFault({{"// before", overwrite}}, FaultKind::Race, "which a wgmma of warp");
  EXPECT_TRUE(runRegisters({{"// after", "nvvm.barrier0\n  llvm.cond_br %early, ^more, ^store\n^more:\n  " + overwrite +
                                             "  llvm.br ^store\n^store:\n"}})
                  .faults.empty());
}
TEST(GpuWgmmaRegisters, WarpsOfAGroupInStep) {
  // The last warp omits the fence.
  expectFault({{"nvvm.wgmma.fence.aligned // fence",
                "nvvm.wgmma.fence.aligned\n  %c96 = llvm.mlir.constant(96 : i32) : i32\n"
                "  %others = llvm.icmp \"ult\" %tid, %c96 : i32\n  llvm.cond_br %others, ^fence, ^go\n^fence:\n"
                "  nvvm.wgmma.fence.aligned\n  llvm.br ^go\n^go:\n"}},
              FaultKind::Divergence, "where another warp of its warpgroup came to another instruction");
  expectFault({{"%db = llvm.mlir.constant(", "%dc = llvm.zext %warp : i32 to i64\n  %db = llvm.add %dc, %dd : i64\n"
                                             "  %dd2 = llvm.mlir.constant("},
               {"  %masked", number("dd", int64_t(descriptor(1024, 128, 128, 0)), 64) +
                                 "  %warp = llvm.lshr %tid, %c5 : i32\n  %masked"}},
              FaultKind::Divergence, "comes here with other operands, where another warp of its warpgroup came too");
}

} // namespace
