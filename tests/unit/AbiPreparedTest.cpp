// Tests the C contract of prepared data: a kernel with a `const` operand, with right and wrong calls.
#include "AbiTesting.h"
#include "codegen/ABI/Layout.h"
#include "codegen/ABI/Status.h"
#include <cstring>

using namespace skewer;
using namespace skewer::testing;

namespace {
// The first phase makes 3 w of w f32[8], the second one adds that to each row of x f32[n, 8].
constexpr const char *kPrepares = R"mlir(
func.func @make(%x: memref<?xf32>, %w: memref<?xf32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>,
                %local: memref<?xi8>, %prepared: memref<?xi8>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %three = arith.constant 3.0 : f32
  %made = memref.view %prepared[%c0][] : memref<?xi8> to memref<8xf32>
  scf.for %i = %begin to %end step %c1 {
    %value = memref.load %w[%i] : memref<?xf32>
    %product = arith.mulf %value, %three : f32
    memref.store %product, %made[%i] : memref<8xf32>
  }
  return
}
func.func @add(%x: memref<?xf32>, %w: memref<?xf32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>,
               %local: memref<?xi8>, %prepared: memref<?xi8>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %made = memref.view %prepared[%c0][] : memref<?xi8> to memref<8xf32>
  scf.for %row = %begin to %end step %c1 {
    %first = arith.muli %row, %c8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %at = arith.addi %first, %i : index
      %value = memref.load %x[%at] : memref<?xf32>
      %other = memref.load %made[%i] : memref<8xf32>
      %sum = arith.addf %value, %other : f32
      memref.store %sum, %out[%at] : memref<?xf32>
    }
  }
  return
}
)mlir";

KernelPlan preparingPlan() {
  KernelPlan plan;
  plan.name = "adds_weights";
  TensorArgument weights{"w", ElementType::F32, {{"", 8}}};
  weights.isConst = true;
  plan.inputs = {{"x", ElementType::F32, {{"n", 1}, {"", 8}}}, weights};
  plan.outputs = {{"output", ElementType::F32, {{"n", 1}, {"", 8}}}};
  plan.sizes = {"n"};
  plan.phases = {{"make", "make", {8, 0, {}}, true}, {"add", "add", {0, 1, {"n"}}}};
  plan.preparedBytes = 64;
  return plan;
}

class AbiPrepared : public ::testing::Test {
protected:
  static constexpr int64_t kRows = 5;
  struct alignas(64) Line {
    float numbers[16];
  };
  static JitKernel &kernel() {
    static std::unique_ptr<JitKernel> compiled = jit(preparingPlan(), kPrepares);
    return *compiled;
  }
  void SetUp() override {
    for (size_t k = 0; k < x.size(); ++k)
      x[k] = float(k);
    for (size_t k = 0; k < w.size(); ++k)
      w[k] = float(k) - 3;
    exec.workspace = workspace.data();
    exec.workspaceBytes = workspace.size() * sizeof(Line);
  }
  Status prepare(void *to) { return Status(kernel().prepare({nullptr, w.data()}, {kRows}, exec, to)); }
  Status runPrepared(const void *from) {
    return Status(kernel().runPrepared({x.data(), w.data()}, out.data(), {kRows}, exec, from));
  }
  bool isRight() const {
    for (size_t k = 0; k < x.size(); ++k)
      if (out[k] != float(k) + 3 * (float(k % 8) - 3))
        return false;
    return true;
  }
  bool isUntouched() const {
    return llvm::all_of(out, [](float value) { return value == -1; });
  }
  std::vector<float> x = std::vector<float>(8 * kRows), w = std::vector<float>(8),
                     out = std::vector<float>(8 * kRows, -1);
  std::vector<Line> workspace = std::vector<Line>(4), prepared = std::vector<Line>(1);
  Exec exec;
};
} // namespace

TEST_F(AbiPrepared, OneCallDoesEverything) {
  EXPECT_EQ(kernel().workspaceBytes({kRows}, 1), 64u) << "room for what is made";
  EXPECT_EQ(Status(kernel().run({x.data(), w.data()}, out.data(), {kRows}, exec)), Status::Ok);
  EXPECT_TRUE(isRight());
}

TEST_F(AbiPrepared, WhatIsMadeOnceServesEveryCall) {
  ASSERT_EQ(prepare(prepared.data()), Status::Ok);
  EXPECT_TRUE(isUntouched());
  std::fill(w.begin(), w.end(), NAN); // no later call reads it
  for (int turn = 0; turn < 2; ++turn) {
    std::fill(out.begin(), out.end(), -1.0f);
    EXPECT_EQ(runPrepared(prepared.data()), Status::Ok);
    EXPECT_TRUE(isRight());
  }
}

TEST_F(AbiPrepared, MemoryThatCannotServeIsRefused) {
  EXPECT_EQ(prepare(nullptr), Status::NullPrepared);
  EXPECT_EQ(runPrepared(nullptr), Status::NullPrepared);
  EXPECT_EQ(prepare(prepared[0].numbers + 1), Status::MisalignedPrepared);
  EXPECT_EQ(runPrepared(prepared[0].numbers + 1), Status::MisalignedPrepared);
  EXPECT_EQ(prepare(workspace.data()), Status::Overlap);
  EXPECT_EQ(runPrepared(workspace.data()), Status::Overlap);
  std::vector<Line> both(8);
  out.assign(out.size(), -1);
  auto *inside = reinterpret_cast<float *>(both.data());
  EXPECT_EQ(Status(kernel().runPrepared({x.data(), w.data()}, inside, {kRows}, exec, both.data() + 1)),
            Status::Overlap);
  EXPECT_EQ(Status(kernel().prepare({nullptr, inside}, {kRows}, exec, both.data())), Status::Overlap);
  EXPECT_TRUE(isUntouched());
}

TEST_F(AbiPrepared, WhatACallRefusesIsRefused) {
  EXPECT_EQ(Status(kernel().prepare({x.data(), nullptr}, {kRows}, exec, prepared.data())), Status::NullTensor);
  EXPECT_EQ(Status(kernel().runPrepared({nullptr, w.data()}, out.data(), {kRows}, exec, prepared.data())),
            Status::NullTensor);
  EXPECT_EQ(Status(kernel().prepare({nullptr, w.data()}, {0}, exec, prepared.data())), Status::BadSize);
  exec.workspaceBytes = 32;
  EXPECT_EQ(prepare(prepared.data()), Status::SmallWorkspace);
  EXPECT_EQ(runPrepared(prepared.data()), Status::SmallWorkspace);
}

TEST(AbiHeader, SaysHowToPrepareWhereThereIsAConstOperand) {
  std::string text = headerText(preparingPlan(), "0");
  EXPECT_NE(text.find("size_t adds_weights_prepared_bytes(void);"), std::string::npos);
  EXPECT_NE(text.find("What is made of w alone"), std::string::npos);
  KernelPlan plan = preparingPlan();
  plan.inputs[1].isConst = false;
  EXPECT_EQ(headerText(plan, "0").find("_prepared_bytes(void)"), std::string::npos);
}
