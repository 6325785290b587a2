// Tests the GPU interpreter: each instruction against the formulas of the PTX ISA, and each fault once.
#include "codegen/GPU/Interpreter/Interpreter.h"
#include "codegen/GPU/Interpreter/Numbers.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace skewer::gpu;

namespace {

/// Parses a module with one kernel.
struct Kernel {
  explicit Kernel(const std::string &body, const std::string &arguments = "%out: !llvm.ptr<1>") {
    context.loadDialect<mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect>();
    std::string text = "llvm.mlir.global external @smem() {addr_space = 3 : i32} : !llvm.array<0 x i8>\n"
                       "llvm.mlir.global internal constant @table(dense<[5, -6, 7]> : tensor<3xi32>)"
                       " {addr_space = 1 : i32} : !llvm.array<3 x i32>\n"
                       "llvm.func @kernel(" +
                       arguments +
                       ") {\n  %s = llvm.mlir.addressof @smem : !llvm.ptr<3>\n"
                       "  %lane = nvvm.read.ptx.sreg.tid.x : i32\n"
                       "  %one = llvm.mlir.constant(1 : i32) : i32\n" +
                       body + "  llvm.return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  Report run(llvm::ArrayRef<LaunchArgument> arguments, unsigned threads = 32, size_t sharedBytes = 4096,
             unsigned grid = 1) {
    mlir::LLVM::LLVMFuncOp kernel;
    module->walk([&](mlir::LLVM::LLVMFuncOp op) { kernel = op; });
    return launch(kernel, {grid, threads, sharedBytes}, arguments);
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Runs a kernel whose one argument is `out`, an i32 for each thread.
std::vector<int32_t> results(Kernel &kernel, Report *report = nullptr, unsigned threads = 32) {
  std::vector<int32_t> out(threads, -1);
  Report own = kernel.run({LaunchArgument::output(out.data(), out.size() * 4, "out")}, threads);
  EXPECT_TRUE(report || own.faults.empty()) << own.text();
  if (report)
    *report = own;
  return out;
}
const std::string kStore = "  %p = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
                           "  llvm.store %x, %p : i32, !llvm.ptr<1>\n";
bool has(const Report &report, FaultKind kind) {
  return llvm::any_of(report.faults, [&](const Fault &fault) { return fault.kind == kind; });
}

TEST(GpuNumbers, HalvesGoThroughUnchanged) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float x = fromHalf(uint16_t(bits));
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(fromHalf(toHalf(x))));
    else
      EXPECT_EQ(toHalf(x), bits);
  }
}
TEST(GpuNumbers, HalvesRoundToTheNearestEven) {
  EXPECT_EQ(toHalf(1.0f + 0x1p-11f), 0x3c00);     // a tie goes to the even one below
  EXPECT_EQ(toHalf(1.0f + 3 * 0x1p-11f), 0x3c02); // … or above
  EXPECT_EQ(toHalf(1.0f + 0x1.01p-11f), 0x3c01);  // just over the tie
  EXPECT_EQ(toHalf(65519.0f), 0x7bff);            // the largest number
  EXPECT_EQ(toHalf(65520.0f), 0x7c00);            // infinity
  EXPECT_EQ(toHalf(0x1p-25f), 0x0000);            // half of the smallest: tie to 0
  EXPECT_EQ(toHalf(0x1.8p-25f), 0x0001);
  EXPECT_EQ(toHalf(-0x1p-24f), 0x8001);
  EXPECT_EQ(toHalf(0x1.ffcp-15f + 0x1p-26f), 0x0400); // rounds up to the smallest normal one
}
TEST(GpuNumbers, BrainFloatsRoundToTheNearestEven) {
  EXPECT_EQ(toBrain(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(toBrain(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(toBrain(-2.5f), 0xc020);
  EXPECT_TRUE(std::isnan(fromBrain(toBrain(NAN))));
  EXPECT_EQ(fromTf32(bitsOf(1.0f + 0x1p-12f)), 1.0f);
  EXPECT_EQ(fromTf32(bitsOf(1.0f + 0x1p-10f)), 1.0f + 0x1p-10f);
}

//===- mma.sync ----------------------------------------------------------------===//

struct MatrixCase {
  const char *type;
  unsigned depth;
  bool vectors; // operands are vector<2xf16>, else i32
};
class GpuMatrix : public testing::TestWithParam<MatrixCase> {};

/// Fills fragments by the manual's formulas, and compares mma with a product of three loops.
TEST_P(GpuMatrix, MultipliesByTheManualsLayouts) {
  MatrixCase how = GetParam();
  std::string part = how.vectors ? "vector<2xf16>" : "i32";
  std::string body;
  auto load = [&](const std::string &name, const std::string &from, unsigned each, unsigned place,
                  const std::string &type) {
    body += "  %n" + name + " = llvm.mlir.constant(" + std::to_string(each) + " : i32) : i32\n  %m" + name +
            " = llvm.mul %lane, %n" + name + " : i32\n  %o" + name + " = llvm.mlir.constant(" + std::to_string(place) +
            " : i32) : i32\n  %i" + name + " = llvm.add %m" + name + ", %o" + name + " : i32\n  %q" + name +
            " = llvm.getelementptr %" + from + "[%i" + name + "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n  %" +
            name + " = llvm.load %q" + name + " : !llvm.ptr<1> -> " + type + "\n";
  };
  for (unsigned k = 0; k < 4; ++k)
    load("a" + std::to_string(k), "a", 4, k, part);
  for (unsigned k = 0; k < 2; ++k)
    load("b" + std::to_string(k), "b", 2, k, part);
  for (unsigned k = 0; k < 4; ++k)
    load("c" + std::to_string(k), "c", 4, k, "f32");
  std::string types = std::string("multiplicandAPtxType = #nvvm.mma_type<") + how.type +
                      ">, multiplicandBPtxType = #nvvm.mma_type<" + how.type + ">, ";
  body += "  %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3] {layoutA = "
          "#nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, " +
          types + "shape = #nvvm.shape<m = 16, n = 8, k = " + std::to_string(how.depth) + ">} : (" + part + ", " +
          part + ", f32) -> !llvm.struct<(f32, f32, f32, f32)>\n";
  for (unsigned k = 0; k < 4; ++k) {
    std::string n = std::to_string(k);
    body += "  %d" + n + " = llvm.extractvalue %d[" + n + "] : !llvm.struct<(f32, f32, f32, f32)>\n" + "  %r" + n +
            " = llvm.getelementptr %out[%ic" + n + "] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n  llvm.store %d" + n +
            ", %r" + n + " : f32, !llvm.ptr<1>\n";
  }
  Kernel kernel(body, "%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %out: !llvm.ptr<1>");
  ASSERT_TRUE(kernel.module);

  std::mt19937 random(1);
  std::uniform_int_distribution<int> small(-8, 8);
  std::vector<std::vector<int>> A(16, std::vector<int>(16)), B(16, std::vector<int>(8)), C(16, std::vector<int>(8));
  for (auto *matrix : {&A, &B, &C})
    for (auto &row : *matrix)
      for (int &x : row)
        x = small(random);
  bool wide = how.depth == 8;
  auto bits = [&](int x) -> uint32_t {
    return wide ? bitsOf(float(x)) : how.vectors ? toHalf(float(x)) : toBrain(float(x));
  };
  std::vector<uint32_t> a(128), b(64);
  std::vector<float> c(128), out(128);
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned group = lane >> 2, inGroup = lane & 3; // groupID, threadID_in_group
    if (wide) {
      a[lane * 4 + 0] = bits(A[group][inGroup]);
      a[lane * 4 + 1] = bits(A[group + 8][inGroup]);
      a[lane * 4 + 2] = bits(A[group][inGroup + 4]);
      a[lane * 4 + 3] = bits(A[group + 8][inGroup + 4]);
      b[lane * 2 + 0] = bits(B[inGroup][group]);
      b[lane * 2 + 1] = bits(B[inGroup + 4][group]);
    } else {
      for (unsigned i = 0; i < 8; ++i) {
        unsigned row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        unsigned column = inGroup * 2 + (i & 1) + (i >= 4 ? 8 : 0);
        a[lane * 4 + i / 2] |= bits(A[row][column]) << 16 * (i & 1);
      }
      for (unsigned i = 0; i < 4; ++i)
        b[lane * 2 + i / 2] |= bits(B[inGroup * 2 + (i & 1) + (i >= 2 ? 8 : 0)][group]) << 16 * (i & 1);
    }
    for (unsigned i = 0; i < 4; ++i)
      c[lane * 4 + i] = float(C[i < 2 ? group : group + 8][inGroup * 2 + (i & 1)]);
  }
  Report report = kernel.run({LaunchArgument::input(a.data(), 512, "a"), LaunchArgument::input(b.data(), 256, "b"),
                              LaunchArgument::input(c.data(), 512, "c"), LaunchArgument::output(out.data(), 512, "d")});
  EXPECT_TRUE(report.faults.empty()) << report.text();
  EXPECT_EQ(report.matrixSteps, 1);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = (lane >> 2) + (i < 2 ? 0 : 8), column = (lane & 3) * 2 + (i & 1);
      int sum = C[row][column];
      for (unsigned k = 0; k < how.depth; ++k)
        sum += A[row][k] * B[k][column];
      EXPECT_EQ(out[lane * 4 + i], float(sum)) << "lane " << lane << ", c" << i;
    }
}
INSTANTIATE_TEST_SUITE_P(Types, GpuMatrix,
                         testing::Values(MatrixCase{"f16", 16, true}, MatrixCase{"bf16", 16, false},
                                         MatrixCase{"tf32", 8, false}),
                         [](const auto &info) { return std::string(info.param.type); });

//===- ldmatrix, shuffles, votes -----------------------------------------------===//

/// Returns a kernel in which each lane stores 16 bytes (a row of a matrix, numbered from 8 times the lane on), and then
/// all lanes load matrices.
std::string loadMatrices(const std::string &layout) {
  std::string body = "  %c16 = llvm.mlir.constant(16 : i32) : i32\n  %c8 = llvm.mlir.constant(8 : i32) : i32\n"
                     "  %address = llvm.mul %lane, %c16 : i32\n"
                     "  %row = llvm.getelementptr %s[%address] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8\n"
                     "  %first = llvm.mul %lane, %c8 : i32\n";
  for (int k = 0; k < 8; ++k) {
    std::string n = std::to_string(k);
    body += "  %k" + n + " = llvm.mlir.constant(" + n + " : i32) : i32\n  %e" + n + " = llvm.add %first, %k" + n +
            " : i32\n  %h" + n + " = llvm.trunc %e" + n + " : i32 to i16\n  %w" + n + " = llvm.getelementptr %row[" +
            n + "] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i16\n  llvm.store %h" + n + ", %w" + n + " : i16, !llvm.ptr<3>\n";
  }
  body += "  nvvm.barrier0\n  %m = nvvm.ldmatrix %row {num = 4 : i32, layout = #nvvm.mma_layout<" + layout +
          ">, eltType = #nvvm.ld_st_matrix_elt_type<b16>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : "
          "(!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>\n"
          "  %x = llvm.extractvalue %m[2] : !llvm.struct<(i32, i32, i32, i32)>\n";
  return body + kStore;
}
TEST(GpuWarp, LoadsMatrices) {
  Kernel kernel(loadMatrices("row"));
  Report report;
  std::vector<int32_t> got = results(kernel, &report);
  EXPECT_TRUE(report.faults.empty()) << report.text();
  for (int lane = 0; lane < 32; ++lane) { // matrix 2: rows 16 … 23
    int low = (16 + lane / 4) * 8 + lane % 4 * 2;
    EXPECT_EQ(got[lane], low | (low + 1) << 16);
  }
  // Eight adjacent rows are 128 bytes: one wavefront for each matrix.
  for (auto &[operation, use] : report.banks)
    if (mlir::isa<mlir::NVVM::LdMatrixOp>(operation)) {
      EXPECT_EQ(use.accesses, 4);
      EXPECT_EQ(use.wavefronts, 4);
    }
}
TEST(GpuWarp, LoadsTransposedMatrices) {
  Kernel kernel(loadMatrices("col"));
  std::vector<int32_t> got = results(kernel);
  for (int lane = 0; lane < 32; ++lane) {
    int low = (16 + lane % 4 * 2) * 8 + lane / 4;
    EXPECT_EQ(got[lane], low | (low + 8) << 16);
  }
}
/// stmatrix stores the matrices that ldmatrix has loaded one place further: matrix m goes to the place of matrix (m +
/// 1) % 4.
TEST(GpuWarp, StoresMatrices) {
  for (const char *layout : {"row", "col"}) {
    std::string body = loadMatrices("row");
    body.erase(body.find("  %x = llvm.extractvalue"));
    for (const char *m : {"0", "1", "2", "3"})
      body += std::string("  %r") + m + " = llvm.extractvalue %m[" + m + "] : !llvm.struct<(i32, i32, i32, i32)>\n";
    body +=
        std::string("  nvvm.barrier0\n  %next = llvm.add %lane, %c8 : i32\n  %last = llvm.mlir.constant(31 : i32) : "
                    "i32\n  %wrapped = llvm.and %next, %last : i32\n  %at = llvm.mul %wrapped, %c16 : i32\n"
                    "  %to = llvm.getelementptr %s[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8\n"
                    "  nvvm.stmatrix %to, %r0, %r1, %r2, %r3 {layout = #nvvm.mma_layout<") +
        layout +
        ">, eltType = #nvvm.ld_st_matrix_elt_type<b16>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : "
        "!llvm.ptr<3>, i32, i32, i32, i32\n  nvvm.barrier0\n"
        "  %word = llvm.getelementptr %s[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
        "  %x = llvm.load %word : !llvm.ptr<3> -> i32\n" +
        kStore;
    Kernel kernel(body);
    ASSERT_TRUE(kernel.module);
    std::vector<int32_t> got = results(kernel);
    for (int lane = 0; lane < 32; ++lane) { // the first matrix in memory is the last one that was loaded
      int row = lane / 4, column = lane % 4 * 2;
      auto number = [&](int r, int c) { return (24 + r) * 8 + c; };
      bool transposed = layout[0] == 'c';
      int low = transposed ? number(column, row) : number(row, column);
      int high = transposed ? number(column + 1, row) : number(row, column + 1);
      EXPECT_EQ(got[lane], low | high << 16) << layout << " " << lane;
    }
  }
}
TEST(GpuWarp, Shuffles) {
  std::string constants = "  %all = llvm.mlir.constant(-1 : i32) : i32\n  %clamp = llvm.mlir.constant(31 : i32) : i32\n"
                          "  %c5 = llvm.mlir.constant(5 : i32) : i32\n";
  Kernel butterfly(constants + "  %x = nvvm.shfl.sync bfly %all, %lane, %c5, %clamp : i32 -> i32\n" + kStore);
  Kernel index(constants +
               "  %r = llvm.sub %clamp, %lane : i32\n"
               "  %x = nvvm.shfl.sync idx %all, %lane, %r, %clamp : i32 -> i32\n" +
               kStore);
  Kernel down(constants + "  %x = nvvm.shfl.sync down %all, %lane, %c5, %clamp : i32 -> i32\n" + kStore);
  auto a = results(butterfly), b = results(index), c = results(down);
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(a[lane], lane ^ 5);
    EXPECT_EQ(b[lane], 31 - lane);
    EXPECT_EQ(c[lane], lane + 5 < 32 ? lane + 5 : lane);
  }
}
TEST(GpuWarp, Votes) {
  Kernel kernel("  %all = llvm.mlir.constant(-1 : i32) : i32\n  %c3 = llvm.mlir.constant(3 : i32) : i32\n"
                "  %y = llvm.icmp \"ult\" %lane, %c3 : i32\n"
                "  %x = nvvm.vote.sync ballot %all, %y -> i32\n" +
                kStore);
  for (int32_t x : results(kernel))
    EXPECT_EQ(x, 7);
}

//===- Control flow and arithmetic ---------------------------------------------===//

TEST(GpuProgram, LanesPartAndMeet) {
  // Lane n adds 1 … n; after the loop all lanes vote together.
  Kernel kernel("  %c0 = llvm.mlir.constant(0 : i32) : i32\n  %all = llvm.mlir.constant(-1 : i32) : i32\n"
                "  llvm.br ^head(%c0, %c0 : i32, i32)\n^head(%i: i32, %sum: i32):\n"
                "  %more = llvm.icmp \"slt\" %i, %lane : i32\n  llvm.cond_br %more, ^body, ^end\n^body:\n"
                "  %j = llvm.add %i, %one : i32\n  %next = llvm.add %sum, %j : i32\n"
                "  llvm.br ^head(%j, %next : i32, i32)\n^end:\n"
                "  %ok = nvvm.vote.sync all %all, %more -> i1\n  %none = llvm.select %ok, %all, %sum : i1, i32\n"
                "  %x = llvm.add %none, %c0 : i32\n" +
                kStore);
  auto got = results(kernel);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], lane * (lane + 1) / 2);
}
TEST(GpuProgram, Arithmetic) {
  // Compute quotients and remainders of lane - 9, with signs, narrow widths and a table.
  Kernel kernel("  %c9 = llvm.mlir.constant(9 : i32) : i32\n  %c4 = llvm.mlir.constant(4 : i32) : i32\n"
                "  %d = llvm.sub %lane, %c9 : i32\n  %q = llvm.sdiv %d, %c4 : i32\n  %r = llvm.srem %d, %c4 : i32\n"
                "  %wide = llvm.sext %q : i32 to i64\n  %c100 = llvm.mlir.constant(100 : i64) : i64\n"
                "  %m = llvm.mul %wide, %c100 : i64\n  %n = llvm.trunc %m : i64 to i32\n"
                "  %t = llvm.mlir.addressof @table : !llvm.ptr<1>\n"
                "  %tp = llvm.getelementptr %t[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
                "  %v = llvm.load %tp : !llvm.ptr<1> -> i32\n"
                "  %a = llvm.add %n, %r : i32\n  %x = llvm.add %a, %v : i32\n" +
                kStore);
  auto got = results(kernel);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], (lane - 9) / 4 * 100 + (lane - 9) % 4 - 6);
}
TEST(GpuProgram, ComparesFloats) {
  // Lane 0 compares NaN with 5, and the other lanes compare their number with 5.
  auto holds = [](const std::string &predicate) {
    Kernel kernel("  %f = llvm.sitofp %lane : i32 to f32\n"
                  "  %q = llvm.fdiv %f, %f : f32\n  %m = llvm.fmul %q, %f : f32\n"
                  "  %five = llvm.mlir.constant(5.0 : f32) : f32\n  %y = llvm.fcmp \"" +
                  predicate + "\" %m, %five : f32\n  %x = llvm.zext %y : i1 to i32\n" + kStore);
    return results(kernel);
  };
  struct Case {
    const char *name;
    bool less, equal, greater, unordered;
  };
  for (const Case &test : {Case{"oeq", false, true, false, false}, Case{"ogt", false, false, true, false},
                           Case{"ole", true, true, false, false}, Case{"one", true, false, true, false},
                           Case{"ord", true, true, true, false}, Case{"ueq", false, true, false, true},
                           Case{"ugt", false, false, true, true}, Case{"ult", true, false, false, true},
                           Case{"ule", true, true, false, true}, Case{"une", true, false, true, true},
                           Case{"uno", false, false, false, true}}) {
    auto got = holds(test.name);
    EXPECT_EQ(got[0], test.unordered) << test.name;
    EXPECT_EQ(got[4], test.less) << test.name;
    EXPECT_EQ(got[5], test.equal) << test.name;
    EXPECT_EQ(got[6], test.greater) << test.name;
  }
}
TEST(GpuProgram, ConvertsAndPacks) {
  Kernel kernel("  %f = llvm.sitofp %lane : i32 to f32\n  %h = llvm.mlir.constant(3.300000e-01 : f32) : f32\n"
                "  %g = llvm.fmul %f, %h : f32\n  %u = llvm.mlir.undef : vector<2xf32>\n"
                "  %k0 = llvm.mlir.constant(0 : i32) : i32\n"
                "  %u0 = llvm.insertelement %f, %u[%k0 : i32] : vector<2xf32>\n"
                "  %u1 = llvm.insertelement %g, %u0[%one : i32] : vector<2xf32>\n"
                "  %n = llvm.fptrunc %u1 : vector<2xf32> to vector<2xf16>\n"
                "  %x = llvm.bitcast %n : vector<2xf16> to i32\n" +
                kStore);
  auto got = results(kernel);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(uint32_t(got[lane]), toHalf(float(lane)) | uint32_t(toHalf(float(lane) * 0.33f)) << 16);
}
/// Every number of e4m3 by the formula of the OCP's specification: (-1)^s × 2^(e - 7) × (1 + m/8), subnormal numbers
/// (-1)^s × 2^-6 × m/8, and NaN where all seven bits are set. PTX ISA, "cvt": the first of two numbers is the lower
/// byte.
TEST(GpuProgram, ConvertsPairsOfE4M3) {
  for (int base = 0; base < 256; base += 32) {
    // The lane's number and the one that has all of its bits flipped.
    Kernel kernel("  %base = llvm.mlir.constant(" + std::to_string(base) + " : i32) : i32\n" +
                  "  %all = llvm.mlir.constant(255 : i32) : i32\n  %eight = llvm.mlir.constant(8 : i32) : i32\n"
                  "  %number = llvm.add %lane, %base : i32\n  %other = llvm.xor %number, %all : i32\n"
                  "  %moved = llvm.shl %other, %eight : i32\n  %both = llvm.or %number, %moved : i32\n"
                  "  %short = llvm.trunc %both : i32 to i16\n  %pair = llvm.bitcast %short : i16 to vector<2xi8>\n"
                  "  %halves = nvvm.convert.f8x2.to.f16x2 %pair : vector<2xi8> (f8E4M3FN) -> vector<2xf16>\n"
                  "  %x = llvm.bitcast %halves : vector<2xf16> to i32\n" +
                  kStore);
    auto got = results(kernel);
    for (int lane = 0; lane < 32; ++lane)
      for (int half : {0, 1}) {
        int bits = half ? 255 - (base + lane) : base + lane, exponent = bits >> 3 & 15, fraction = bits & 7;
        float value =
            exponent ? std::ldexp(1 + float(fraction) / 8, exponent - 7) : std::ldexp(float(fraction) / 8, -6);
        float converted = fromHalf(uint16_t(uint32_t(got[lane]) >> 16 * half));
        if ((bits & 127) == 127)
          EXPECT_TRUE(std::isnan(converted)) << bits;
        else
          EXPECT_EQ(converted, bits & 128 ? -value : value) << bits;
      }
  }
  // Another format, or a conversion that makes zeros of negative numbers, is refused.
  for (const char *form :
       {"nvvm.convert.f8x2.to.f16x2 %pair : vector<2xi8> (f8E5M2) -> vector<2xf16>",
        "nvvm.convert.f8x2.to.f16x2 %pair {relu = true} : vector<2xi8> (f8E4M3FN) -> vector<2xf16>"}) {
    Kernel kernel("  %short = llvm.trunc %lane : i32 to i16\n  %pair = llvm.bitcast %short : i16 to vector<2xi8>\n"
                  "  %halves = " +
                  std::string(form) + "\n  %x = llvm.bitcast %halves : vector<2xf16> to i32\n" + kStore);
    Report report;
    results(kernel, &report);
    EXPECT_TRUE(has(report, FaultKind::Unsupported)) << form;
  }
}
TEST(GpuProgram, NamesWhatItDoesNotKnow) {
  Kernel kernel("  %x = llvm.intr.ctpop(%lane) : (i32) -> i32\n" + kStore);
  Report report;
  results(kernel, &report);
  ASSERT_TRUE(has(report, FaultKind::Unsupported));
  EXPECT_NE(report.text().find("llvm.intr.ctpop"), std::string::npos);
}

//===- Faults --------------------------------------------------------------------===//

/// Returns a kernel in which thread n writes word n and reads word n + 1; the last thread reads word 0.
std::string neighbour(const std::string &between) {
  return "  %p0 = llvm.getelementptr %s[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
         "  llvm.store %lane, %p0 : i32, !llvm.ptr<3>\n" +
         between +
         "  %n = llvm.add %lane, %one : i32\n  %size = llvm.mlir.constant(64 : i32) : i32\n"
         "  %wrapped = llvm.urem %n, %size : i32\n"
         "  %p1 = llvm.getelementptr %s[%wrapped] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
         "  %x = llvm.load %p1 : !llvm.ptr<3> -> i32\n" +
         kStore;
}
TEST(GpuFaults, BarriersOrderABlock) {
  Kernel kernel(neighbour("  nvvm.barrier0\n"));
  auto got = results(kernel, nullptr, 64);
  for (int lane = 0; lane < 64; ++lane)
    EXPECT_EQ(got[lane], (lane + 1) % 64);
}
TEST(GpuFaults, DroppedBarrierIsARace) {
  Kernel kernel(neighbour(""));
  Report report;
  results(kernel, &report, 64);
  EXPECT_TRUE(has(report, FaultKind::Race));
  // A barrier of a warp orders only the lanes of that warp.
  Kernel warpOnly(neighbour("  %all = llvm.mlir.constant(-1 : i32) : i32\n  nvvm.bar.warp.sync %all : i32\n"));
  results(warpOnly, &report, 64);
  EXPECT_TRUE(has(report, FaultKind::Race));
}
TEST(GpuFaults, WarpBarriersOrderAWarp) {
  std::string body = neighbour("  %all = llvm.mlir.constant(-1 : i32) : i32\n  nvvm.bar.warp.sync %all : i32\n");
  body.replace(body.find("constant(64"), 11, "constant(32");
  Kernel kernel(body);
  EXPECT_EQ(results(kernel)[31], 0);
}
TEST(GpuFaults, WriteAfterReadIsARace) {
  Kernel kernel("  llvm.store %lane, %s : i32, !llvm.ptr<3>\n  %x = llvm.mlir.constant(0 : i32) : i32\n" + kStore);
  Report report;
  results(kernel, &report);
  EXPECT_TRUE(has(report, FaultKind::Race)) << "all lanes write one word";
}
TEST(GpuFaults, UninitialisedAndOutside) {
  Kernel unwritten("  %x = llvm.load %s : !llvm.ptr<3> -> i32\n" + kStore);
  Report report;
  results(unwritten, &report);
  EXPECT_TRUE(has(report, FaultKind::Uninitialised));
  Kernel outside("  %p0 = llvm.getelementptr %s[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32\n"
                 "  llvm.store %lane, %p0 : i32, !llvm.ptr<3>\n  %x = llvm.add %lane, %one : i32\n" +
                 kStore);
  results(outside, &report);
  EXPECT_TRUE(has(report, FaultKind::OutOfBounds));
  Kernel before("  %p0 = llvm.getelementptr %out[-1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
                "  %x = llvm.load %p0 : !llvm.ptr<1> -> i32\n" +
                kStore);
  results(before, &report);
  EXPECT_TRUE(has(report, FaultKind::OutOfBounds)) << "an address before a buffer is in no other one";
  Kernel crooked("  %p0 = llvm.getelementptr %s[2] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
                 "  llvm.store %lane, %p0 : i32, !llvm.ptr<3>\n  %x = llvm.add %lane, %one : i32\n" +
                 kStore);
  results(crooked, &report);
  EXPECT_TRUE(has(report, FaultKind::Misaligned));
}
TEST(GpuFaults, DivergedShuffle) {
  Kernel kernel("  %all = llvm.mlir.constant(-1 : i32) : i32\n  %clamp = llvm.mlir.constant(31 : i32) : i32\n"
                "  %y = llvm.icmp \"ult\" %lane, %one : i32\n  llvm.cond_br %y, ^first, ^end(%lane : i32)\n^first:\n"
                "  %z = nvvm.shfl.sync idx %all, %lane, %one, %clamp : i32 -> i32\n  llvm.br ^end(%z : i32)\n"
                "^end(%x: i32):\n" +
                kStore);
  Report report;
  results(kernel, &report);
  EXPECT_TRUE(has(report, FaultKind::Divergence));
}
TEST(GpuFaults, DivergedGroups) {
  for (const char *what : {"nvvm.cp.async.commit.group", "nvvm.cp.async.wait.group 0"}) {
    Kernel kernel("  %y = llvm.icmp \"ult\" %lane, %one : i32\n  llvm.cond_br %y, ^some, ^end\n^some:\n  " +
                  std::string(what) + "\n  llvm.br ^end\n^end:\n  %x = llvm.add %lane, %one : i32\n" + kStore);
    Report report;
    results(kernel, &report);
    ASSERT_TRUE(has(report, FaultKind::Divergence)) << what;
    EXPECT_NE(report.text().find("runs with lanes 0x00000001 of warp 0 of block 0; all 32 must"), std::string::npos)
        << report.text();
  }
}
TEST(GpuFaults, BankConflicts) {
  for (int stride : {1, 2, 32, 33}) {
    Kernel kernel("  %c = llvm.mlir.constant(" + std::to_string(stride) +
                  " : i32) : i32\n  %w = llvm.mul %lane, %c : i32\n"
                  "  %p0 = llvm.getelementptr %s[%w] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
                  "  llvm.store %lane, %p0 : i32, !llvm.ptr<3>\n  %x = llvm.add %lane, %one : i32\n" +
                  kStore);
    std::vector<int32_t> out(32);
    Report report = kernel.run({LaunchArgument::output(out.data(), 128, "out")}, 32, 8192);
    ASSERT_EQ(report.banks.size(), 1u);
    EXPECT_EQ(report.banks.begin()->second.wavefronts, stride == 2 ? 2 : stride == 32 ? 32 : 1) << stride;
  }
}

/// Returns a kernel in which each thread copies 16 bytes, runs `afterwards`, and reads a word of its neighbour's bytes.
std::string copies(const std::string &afterwards) {
  return "  %c16 = llvm.mlir.constant(16 : i32) : i32\n  %o = llvm.mul %lane, %c16 : i32\n"
         "  %to = llvm.getelementptr %s[%o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8\n"
         "  %from = llvm.getelementptr %in[%o] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8\n"
         "  %half = llvm.mlir.constant(8 : i32) : i32\n"
         "  nvvm.cp.async.shared.global %to, %from, 16, cache = cg, %half : !llvm.ptr<3>, !llvm.ptr<1>, i32\n"
         "  nvvm.cp.async.commit.group\n" +
         afterwards +
         "  %clamp = llvm.mlir.constant(31 : i32) : i32\n  %n = llvm.sub %clamp, %lane : i32\n"
         "  %a = llvm.getelementptr %s[%n] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>\n"
         "  %v = llvm.load %a : !llvm.ptr<3> -> vector<4xi32>\n"
         "  %e1 = llvm.extractelement %v[%one : i32] : vector<4xi32>\n"
         "  %k2 = llvm.mlir.constant(2 : i32) : i32\n"
         "  %e2 = llvm.extractelement %v[%k2 : i32] : vector<4xi32>\n  %x = llvm.add %e1, %e2 : i32\n" +
         kStore;
}
Report runCopies(const std::string &afterwards, std::vector<int32_t> &out) {
  Kernel kernel(copies(afterwards), "%in: !llvm.ptr<1>, %out: !llvm.ptr<1>");
  std::vector<int32_t> in(128);
  for (int k = 0; k < 128; ++k)
    in[size_t(k)] = 100 + k;
  out.assign(32, -1);
  return kernel.run({LaunchArgument::input(in.data(), 512, "in"), LaunchArgument::output(out.data(), 128, "out")});
}
TEST(GpuCopies, FillWithZerosBehindTheSource) {
  std::vector<int32_t> out;
  Report report = runCopies("  nvvm.cp.async.wait.group 0\n  nvvm.barrier0\n", out);
  EXPECT_TRUE(report.faults.empty()) << report.text();
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[size_t(lane)], 100 + (31 - lane) * 4 + 1); // word 1 is copied, word 2 is not
}
TEST(GpuCopies, MustBeWaitedFor) {
  std::vector<int32_t> out;
  EXPECT_TRUE(has(runCopies("  nvvm.barrier0\n  nvvm.cp.async.wait.group 1\n", out), FaultKind::Race));
  EXPECT_TRUE(has(runCopies("  nvvm.cp.async.wait.group 0\n", out), FaultKind::Race)) << "of a neighbour, no barrier";
}

} // namespace
