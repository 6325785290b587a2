// The C contract: a small kernel is compiled into this process and called rightly, and wrongly in every way.
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/Layout.h"
#include "codegen/ABI/Status.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace skewer;

namespace {

// Two phases: the first copies x into the shared workspace, the second doubles it by way of the worker's own workspace.
// A work item is a row of four numbers.
constexpr const char *kPhases = R"mlir(
func.func @copy(%x: memref<?xf32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>, %local: memref<?xi8>,
                %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %total = memref.dim %x, %c0 : memref<?xf32>
  %rows = memref.view %shared[%c0][%total] : memref<?xi8> to memref<?xf32>
  %first = arith.muli %begin, %c4 : index
  %last = arith.muli %end, %c4 : index
  scf.for %i = %first to %last step %c1 {
    %value = memref.load %x[%i] : memref<?xf32>
    memref.store %value, %rows[%i] : memref<?xf32>
  }
  return
}
func.func @double(%x: memref<?xf32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>, %local: memref<?xi8>,
                  %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant 2.0 : f32
  %total = memref.dim %out, %c0 : memref<?xf32>
  %rows = memref.view %shared[%c0][%total] : memref<?xi8> to memref<?xf32>
  %scratch = memref.view %local[%c0][] : memref<?xi8> to memref<4xf32>
  scf.for %row = %begin to %end step %c1 {
    %first = arith.muli %row, %c4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %at = arith.addi %first, %i : index
      %value = memref.load %rows[%at] : memref<?xf32>
      memref.store %value, %scratch[%i] : memref<4xf32>
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %at = arith.addi %first, %i : index
      %value = memref.load %scratch[%i] : memref<4xf32>
      %doubled = arith.mulf %value, %two : f32
      memref.store %doubled, %out[%at] : memref<?xf32>
    }
  }
  return
}
)mlir";

/// rows i32[n] in 0..6, seg i32[3] in -2..1; the result is rows as numbers.
const char *kIndexed = R"mlir(
func.func @convert(%rows: memref<?xi32>, %seg: memref<?xi32>, %out: memref<?xf32>, %n: index, %shared: memref<?xi8>,
                   %local: memref<?xi8>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %row = memref.load %rows[%i] : memref<?xi32>
    %number = arith.sitofp %row : i32 to f32
    memref.store %number, %out[%i] : memref<?xf32>
  }
  return
}
)mlir";

KernelPlan indexedPlan() {
  KernelPlan plan;
  plan.name = "convert_rows";
  plan.inputs = {{"rows", ElementType::I32, {{"n", 1}}, IndexRange{0, 6}},
                 {"seg", ElementType::I32, {{"", 3}}, IndexRange{-2, 1}}};
  plan.outputs = {{"output", ElementType::F32, {{"n", 1}}, std::nullopt}};
  plan.sizes = {"n"};
  plan.phases = {{"convert", "convert", {0, 1, {"n"}}}};
  return plan;
}

KernelPlan doublePlan() {
  KernelPlan plan;
  plan.name = "twice";
  plan.inputs = {{"x", ElementType::F32, {{"n", 1}, {"", 4}}}};
  plan.outputs = {{"output", ElementType::F32, {{"n", 1}, {"", 4}}}};
  plan.sizes = {"n"};
  plan.phases = {{"copy", "copy", {0, 1, {"n"}}}, {"double", "double", {0, 1, {"n"}}}};
  plan.sharedBytes = {0, 64, {"n"}};
  plan.localBytes = 64;
  return plan;
}

/// x f32[n]; results low = x - 1 and high = x + 1.
const char *kTwoResults = R"mlir(
func.func @spread(%x: memref<?xf32>, %low: memref<?xf32>, %high: memref<?xf32>, %n: index, %shared: memref<?xi8>,
                  %local: memref<?xi8>, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %begin to %end step %c1 {
    %value = memref.load %x[%i] : memref<?xf32>
    %below = arith.subf %value, %one : f32
    %above = arith.addf %value, %one : f32
    memref.store %below, %low[%i] : memref<?xf32>
    memref.store %above, %high[%i] : memref<?xf32>
  }
  return
}
)mlir";

KernelPlan twoResultsPlan() {
  KernelPlan plan;
  plan.name = "spread_out";
  plan.inputs = {{"x", ElementType::F32, {{"n", 1}}}};
  plan.outputs = {{"low", ElementType::F32, {{"n", 1}}}, {"high", ElementType::F32, {{"n", 1}}}};
  plan.sizes = {"n"};
  plan.phases = {{"spread", "spread", {0, 1, {"n"}}}};
  return plan;
}

mlir::OwningOpRef<mlir::ModuleOp> lower(mlir::MLIRContext &context, const char *text) {
  context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::scf::SCFDialect,
                      mlir::memref::MemRefDialect, mlir::LLVM::LLVMDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return module;
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*module)))
    return {};
  return module;
}

llvm::Expected<std::unique_ptr<llvm::Module>> emit(llvm::LLVMContext &context, const KernelPlan &plan,
                                                   const Target &target, const char *text = kPhases) {
  mlir::MLIRContext dialects;
  auto source = lower(dialects, text);
  if (!source)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "the test's module does not lower");
  return toLlvmModule(*source, plan, target, context, "0123456789abcdef");
}

/// A description without any processor's features, so that the test runs wherever it is built.
Target plainTarget() {
  Target target;
  target.name = "plain";
  target.lanes = 4;
  return target;
}

std::unique_ptr<JitKernel> jit(const KernelPlan &plan, const char *text = kPhases) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = emit(*context, plan, plainTarget(), text);
  if (!module) {
    ADD_FAILURE() << llvm::toString(module.takeError());
    return nullptr;
  }
  if (llvm::Error error = optimize(**module, plainTarget()))
    ADD_FAILURE() << llvm::toString(std::move(error));
  auto kernel = JitKernel::create(std::move(*module), std::move(context), plan, plainTarget());
  if (!kernel) {
    ADD_FAILURE() << llvm::toString(kernel.takeError());
    return nullptr;
  }
  return std::move(*kernel);
}

std::string messageOf(const KernelPlan &plan, const char *text = kPhases) {
  llvm::LLVMContext context;
  auto module = emit(context, plan, plainTarget(), text);
  return module ? "" : llvm::toString(module.takeError());
}

// The body that a parallel-for gets, and three ways to drive it.
using Body = void (*)(void *, int64_t, int64_t, int32_t);

void onThreeThreads(void *context, int64_t count, Body body, void *data) {
  auto *calls = static_cast<std::atomic<int> *>(context);
  std::atomic<int64_t> next{0};
  std::vector<std::thread> threads;
  for (int32_t worker = 0; worker < 3; ++worker)
    threads.emplace_back([&, worker] {
      for (int64_t item; (item = next++) < count; ++*calls)
        body(data, item, item + 1, worker);
    });
  for (std::thread &thread : threads)
    thread.join();
}
void leaveOneOut(void *, int64_t count, Body body, void *data) { body(data, 0, count - 1, 0); }
void strangeWorker(void *, int64_t count, Body body, void *data) { body(data, 0, count, 3); }

class AbiTest : public ::testing::Test {
protected:
  static constexpr int64_t kRows = 11;
  struct alignas(64) Line {
    char bytes[64];
  };
  static JitKernel &kernel() {
    static std::unique_ptr<JitKernel> compiled = jit(doublePlan());
    return *compiled;
  }
  void SetUp() override {
    for (size_t k = 0; k < x.size(); ++k)
      x[k] = float(k) - 7.5f;
    exec.workspace = workspace.data();
    exec.workspaceBytes = workspace.size() * sizeof(Line);
    exec.workers = 3;
  }
  Status run(int64_t rows = kRows) { return Status(kernel().run({x.data()}, out.data(), {rows}, exec)); }
  bool isDoubled() const {
    for (size_t k = 0; k < x.size(); ++k)
      if (out[k] != 2 * x[k])
        return false;
    return true;
  }
  bool isUntouched() const {
    return llvm::all_of(out, [](float value) { return value == -1; });
  }

  std::vector<float> x = std::vector<float>(4 * kRows), out = std::vector<float>(4 * kRows, -1);
  std::vector<Line> workspace = std::vector<Line>(kRows + 3);
  Exec exec;
};

TEST_F(AbiTest, ComputesSerially) {
  EXPECT_EQ(run(), Status::Ok);
  EXPECT_TRUE(isDoubled());
}

TEST_F(AbiTest, ComputesOnThreeThreads) {
  std::atomic<int> calls{0};
  exec.context = &calls;
  exec.parallelFor = onThreeThreads;
  EXPECT_EQ(run(), Status::Ok);
  EXPECT_TRUE(isDoubled());
  EXPECT_EQ(calls, 2 * kRows);
}

TEST_F(AbiTest, WorkspaceGrowsWithSizesAndWorkers) {
  EXPECT_EQ(kernel().workspaceBytes({kRows}, 1), 64u * kRows + 64);
  EXPECT_EQ(kernel().workspaceBytes({kRows}, 3), 64u * kRows + 3 * 64);
  EXPECT_EQ(kernel().workspaceBytes({1}, 1), 128u);
  EXPECT_EQ(kernel().workspaceBytes({0}, 1), UINT64_MAX);
  EXPECT_EQ(kernel().workspaceBytes({kRows}, 0), UINT64_MAX);
  EXPECT_EQ(kernel().workspaceBytes({int64_t(1) << 60}, 1), UINT64_MAX);
  EXPECT_EQ(kernel().workspaceBytes({}, 1), UINT64_MAX);
}

TEST_F(AbiTest, RefusesWrongTensors) {
  EXPECT_EQ(Status(kernel().run({nullptr}, out.data(), {kRows}, exec)), Status::NullTensor);
  EXPECT_EQ(Status(kernel().run({x.data()}, nullptr, {kRows}, exec)), Status::NullTensor);
  const char *odd = reinterpret_cast<const char *>(x.data()) + 2;
  EXPECT_EQ(Status(kernel().run({odd}, out.data(), {kRows - 1}, exec)), Status::MisalignedTensor);
  EXPECT_EQ(Status(kernel().run({out.data()}, out.data(), {kRows}, exec)), Status::Overlap);
  EXPECT_EQ(Status(kernel().run({out.data() + 4}, out.data(), {kRows - 1}, exec)), Status::Overlap);
  EXPECT_EQ(Status(kernel().run({workspace.data()}, out.data(), {4}, exec)), Status::Overlap);
  EXPECT_TRUE(isUntouched());
  EXPECT_EQ(Status(kernel().run({x.data(), x.data()}, out.data(), {kRows}, exec)), Status::NullTensor);
}

TEST_F(AbiTest, RefusesWrongSizes) {
  EXPECT_EQ(run(0), Status::BadSize);
  EXPECT_EQ(run(-1), Status::BadSize);
  EXPECT_EQ(run(INT64_MAX / 4), Status::BadSize);
  EXPECT_EQ(run(INT64_MIN), Status::BadSize);
  EXPECT_TRUE(isUntouched());
}

TEST_F(AbiTest, RefusesWrongExec) {
  Exec right = exec;
  exec.size -= 8;
  EXPECT_EQ(run(), Status::BadExecSize);
  exec = right;
  exec.version = 7;
  EXPECT_EQ(run(), Status::BadExecVersion);
  exec = right;
  exec.workers = 0;
  EXPECT_EQ(run(), Status::BadWorkers);
  exec = right;
  exec.workspace = nullptr;
  EXPECT_EQ(run(), Status::NullWorkspace);
  exec = right;
  exec.workspaceBytes = 64 * (kRows + 3) - 1;
  EXPECT_EQ(run(), Status::SmallWorkspace);
  exec = right;
  exec.workspace = workspace[0].bytes + 32;
  EXPECT_EQ(run(), Status::MisalignedWorkspace);
  EXPECT_TRUE(isUntouched());
}

TEST_F(AbiTest, NoticesAWrongParallelFor) {
  exec.parallelFor = leaveOneOut;
  EXPECT_EQ(run(), Status::BadParallelFor);
  exec.parallelFor = strangeWorker;
  EXPECT_EQ(run(), Status::BadParallelFor);
  EXPECT_TRUE(isUntouched()); // the first phase failed
}

TEST(Abi, EveryStatusHasAText) {
  int count = 0;
#define SKEWER_STATUS(c, cpp, text)                                                                                    \
  EXPECT_STREQ(statusText(int(Status::cpp)), text);                                                                    \
  ++count;
  SKEWER_STATUSES(SKEWER_STATUS)
#undef SKEWER_STATUS
  EXPECT_STREQ(statusText(count - 1 + int(kMaximumBadIndices)), "unknown status");
  EXPECT_STREQ(statusText(-1), "unknown status");
  EXPECT_STREQ(statusText(int(Status::BadIndex) + 5), statusText(int(Status::BadIndex)));
}

TEST(Abi, EveryIndexIsCheckedBeforeAnythingIsWritten) {
  KernelPlan plan = indexedPlan();
  auto kernel = jit(plan, kIndexed);
  ASSERT_TRUE(kernel);
  int bad = int(Status::BadIndex);
  for (int64_t n : {1, 7, 8, 21}) { // whole vectors and a rest
    std::vector<int32_t> rows(n), seg = {-2, 1, 0};
    std::vector<float> out(n, -1);
    for (int64_t k = 0; k < n; ++k)
      rows[k] = int32_t(k % 7);
    auto run = [&] { return kernel->run({rows.data(), seg.data()}, out.data(), {n}, Exec()); };
    for (int64_t k = 0; k < n; ++k)
      for (int32_t wrong : {-1, 7, INT32_MIN, INT32_MAX}) {
        std::swap(rows[k], wrong);
        EXPECT_EQ(run(), bad) << k << " of " << n;
        std::swap(rows[k], wrong);
      }
    for (int32_t wrong : {-3, 2}) {
      std::swap(seg[2], wrong);
      EXPECT_EQ(run(), bad + 1);
      std::swap(seg[2], wrong);
    }
    EXPECT_EQ(out, std::vector<float>(n, -1));
    EXPECT_EQ(run(), int(Status::Ok));
    for (int64_t k = 0; k < n; ++k)
      EXPECT_EQ(out[k], float(k % 7));
  }
  EXPECT_EQ(statusText(bad + 1, plan),
            "an element of 'seg' is outside -2..1, the range that the kernel declares for it");
  EXPECT_EQ(statusText(bad + 2, plan), statusText(bad));
  EXPECT_EQ(statusText(0, plan), "done");
}

TEST(Abi, SeveralResultsHaveFieldsOfTheirOwnAndShareNoMemory) {
  auto kernel = jit(twoResultsPlan(), kTwoResults);
  ASSERT_TRUE(kernel);
  std::vector<float> x = {1, 2, 3}, low(3, -9), high(3, -9), both(6, -9);
  Exec exec;
  EXPECT_EQ(Status(kernel->run({x.data()}, {low.data(), high.data()}, {3}, exec)), Status::Ok);
  EXPECT_EQ(low, (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(high, (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data(), both.data() + 2}, {3}, exec)), Status::Overlap);
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data(), x.data()}, {3}, exec)), Status::Overlap);
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data(), nullptr}, {3}, exec)), Status::NullTensor);
  EXPECT_EQ(both, std::vector<float>(6, -9));
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data(), both.data() + 3}, {3}, exec)), Status::Ok);
  EXPECT_EQ(Status(kernel->run({x.data()}, {both.data()}, {3}, exec)), Status::NullTensor);

  ArgumentLayout layout = layoutOf(twoResultsPlan());
  EXPECT_EQ(layout.outputs, (std::vector<std::string>{"low", "high"}));
  EXPECT_EQ(layout.sizeWord(0), layout.outputWord(1) + 1);
  std::string header = headerText(twoResultsPlan(), "0123456789abcdef");
  EXPECT_NE(header.find("float *high; /* f32[n], written"), std::string::npos) << header;
  auto manifest = llvm::json::parse(manifestText(twoResultsPlan(), plainTarget(), "0123456789abcdef"));
  ASSERT_TRUE(bool(manifest));
  const llvm::json::Array &outputs = *manifest->getAsObject()->getArray("outputs");
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[1].getAsObject()->getString("name"), llvm::StringRef("high"));
}

TEST(Abi, RangesAreOfI32) {
  KernelPlan plan = indexedPlan();
  plan.inputs[0].range = IndexRange{3, 2};
  EXPECT_NE(messageOf(plan, kIndexed).find("tensor 'rows' has the range 3..2"), std::string::npos);
  plan.inputs[0].range = IndexRange{0, int64_t(1) << 31};
  EXPECT_NE(messageOf(plan, kIndexed).find("tensor 'rows' has the range 0..2147483648"), std::string::npos);
  plan = indexedPlan();
  plan.outputs.front().type = ElementType::I32;
  EXPECT_NE(messageOf(plan, kIndexed).find("the result has elements of i32"), std::string::npos);
}

TEST(Abi, RefusesPlansWithoutACInterface) {
  KernelPlan plan = doublePlan();
  plan.name = "expf";
  EXPECT_NE(messageOf(plan).find("the name is that of a function of the C library"), std::string::npos);
  plan.name = "double";
  EXPECT_NE(messageOf(plan).find("must be a C identifier"), std::string::npos);
  plan.name = "my kernel";
  EXPECT_NE(messageOf(plan).find("must be a C identifier"), std::string::npos);
  plan = doublePlan();
  plan.inputs[0].shape[0].name = "m";
  EXPECT_NE(messageOf(plan).find("tensor 'x' has the size 'm'"), std::string::npos);
  plan = doublePlan();
  plan.sizes[0] = "n*/";
  EXPECT_NE(messageOf(plan).find("the run-time size 'n*/' must have a C identifier"), std::string::npos);
  plan = doublePlan();
  plan.inputs[0].shape[1].fixed = 0;
  EXPECT_NE(messageOf(plan).find("tensor 'x' has a dimension of 0 elements"), std::string::npos);
  plan = doublePlan();
  plan.phases[0].function = "absent";
  EXPECT_NE(messageOf(plan).find("function 'absent' is not defined"), std::string::npos);
  plan = doublePlan();
  plan.inputs.push_back(plan.inputs[0]);
  EXPECT_NE(messageOf(plan).find("has 23 parameters in flat form, expected 28"), std::string::npos);
}

TEST(Abi, RefusesCodeThatNeedsARuntime) {
  std::string text = kPhases;
  text.insert(text.find("  return"), "  func.call @elsewhere() : () -> ()\n");
  text += "func.func private @elsewhere()\n";
  EXPECT_NE(
      messageOf(doublePlan(), text.c_str()).find("the code calls 'elsewhere', which is neither in libc nor in libm"),
      std::string::npos);
}

TEST(Abi, OnlyTheEntriesAreVisibleAndPhasesKnowTheirMemory) {
  llvm::LLVMContext context;
  Target target = plainTarget();
  target.features = "+sse4.2";
  auto module = emit(context, doublePlan(), target);
  ASSERT_TRUE(bool(module));
  std::vector<std::string> visible;
  for (llvm::Function &function : **module) {
    if (function.isDeclaration())
      continue;
    if (!function.hasLocalLinkage())
      visible.push_back(function.getName().str());
    // What runs before the processor has been asked is for every x86-64; the rest is for the target.
    bool isPhase = function.getName() == "twice.copy" || function.getName() == "twice.double";
    EXPECT_EQ(function.getFnAttribute("target-features").getValueAsString(), isPhase ? "+sse4.2" : "+sse2")
        << function.getName().str();
    EXPECT_TRUE(function.doesNotThrow());
  }
  llvm::sort(visible);
  EXPECT_EQ(visible, (std::vector<std::string>{"twice", "twice_info", "twice_items", "twice_phases", "twice_raw",
                                               "twice_workspace_bytes"}));
  llvm::Function *phase = (*module)->getFunction("twice.double");
  ASSERT_TRUE(phase);
  for (unsigned descriptor : {0u, 5u, 11u, 16u}) { // x, out, shared, local; n lies between
    EXPECT_TRUE(phase->getArg(descriptor)->use_empty());
    EXPECT_TRUE(phase->getArg(descriptor + 1)->hasNoAliasAttr());
  }
  EXPECT_TRUE(phase->getArg(1)->onlyReadsMemory());
  EXPECT_FALSE(phase->getArg(6)->onlyReadsMemory());
  EXPECT_EQ(phase->getArg(17)->getParamAlign(), llvm::MaybeAlign(64));
}

TEST(Abi, RefusesAnUnknownProcessor) {
  Target target = plainTarget();
  target.cpu = "abacus";
  llvm::LLVMContext context;
  auto module = emit(context, doublePlan(), target);
  ASSERT_FALSE(bool(module));
  EXPECT_NE(llvm::toString(module.takeError()).find("knows no processor 'abacus'"), std::string::npos);
}

TEST(Abi, FieldNamesAreFreeInC) {
  KernelPlan plan = doublePlan();
  plan.inputs = {{"out", {}, {}}, {"register", {}, {}}, {"q0", {}, {}}, {"__x", {}, {}}, {"out_", {}, {}}};
  plan.sizes = {"n", "size"};
  ArgumentLayout layout = layoutOf(plan);
  EXPECT_EQ(layout.inputs, (std::vector<std::string>{"out_", "register_", "q0_", "xx", "out_2"}));
  EXPECT_EQ(layout.sizes, (std::vector<std::string>{"n", "size_"}));
  EXPECT_EQ(layout.bytes(), 8u * (1 + 5 + 1 + 2 + 3));
  plan.outputs = {{"int", {}, {}}, {"register", {}, {}}};
  EXPECT_EQ(layoutOf(plan).inputs.front(), "out"); // results with names leave it free
  EXPECT_EQ(layoutOf(plan).outputs, (std::vector<std::string>{"int_", "register_2"}));
}

TEST(Abi, ManifestSaysWhatTheHeaderSays) {
  std::string text = manifestText(doublePlan(), plainTarget(), "0123456789abcdef", R"({"note": 1})");
  EXPECT_EQ(text, manifestText(doublePlan(), plainTarget(), "0123456789abcdef", R"({"note": 1})"));
  auto manifest = llvm::json::parse(text);
  ASSERT_TRUE(bool(manifest));
  const llvm::json::Object &object = *manifest->getAsObject();
  EXPECT_EQ(object.getString("name"), llvm::StringRef("twice"));
  EXPECT_EQ(object.getInteger("abi_version"), 1);
  EXPECT_EQ(object.getString("spec_hash"), llvm::StringRef("0123456789abcdef"));
  const llvm::json::Object &input = *(*object.getArray("inputs"))[0].getAsObject();
  EXPECT_EQ(input.getString("type"), llvm::StringRef("f32"));
  EXPECT_EQ(*input.get("shape"), llvm::json::Value(llvm::json::Array{"n", 4}));
  EXPECT_EQ(object.getObject("workspace")->getInteger("bytes_per_worker"), 64);
  EXPECT_EQ(object.getObject("details")->getInteger("note"), 1);
  EXPECT_EQ(input.get("range"), nullptr);
  auto indexed = llvm::json::parse(manifestText(indexedPlan(), plainTarget(), "0123456789abcdef"));
  ASSERT_TRUE(bool(indexed));
  const llvm::json::Object &seg = *(*indexed->getAsObject()->getArray("inputs"))[1].getAsObject();
  EXPECT_EQ(seg.getString("type"), llvm::StringRef("i32"));
  EXPECT_EQ(*seg.get("range"), llvm::json::Value(llvm::json::Array{-2, 1}));
  EXPECT_EQ(seg.get("deviation"), nullptr);
  KernelPlan weighted = indexedPlan();
  weighted.inputs[0].deviation = 0.25;
  auto deviating = llvm::json::parse(manifestText(weighted, plainTarget(), "0123456789abcdef"));
  ASSERT_TRUE(bool(deviating));
  EXPECT_EQ((*deviating->getAsObject()->getArray("inputs"))[0].getAsObject()->getNumber("deviation"), 0.25);
}

TEST(Abi, HashDependsOnTextAndParametersAndNotOnTheirOrder) {
  std::string hash = hashOfSpec("kernel", {{"N", 4}, {"D", 8}});
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_EQ(hash, hashOfSpec("kernel", {{"D", 8}, {"N", 4}}));
  EXPECT_NE(hash, hashOfSpec("kernel", {{"N", 8}, {"D", 4}}));
  EXPECT_NE(hash, hashOfSpec("kernel ", {{"N", 4}, {"D", 8}}));
}

// What a C compiler says ------------------------------------------------------------------------------------------

/// Writes the files, runs the compiler of this build on them; 0 where it is content.
class CompilerTest : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("skewer-abi", folder)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  void write(const char *name, llvm::StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream(path(name), error) << text;
    ASSERT_FALSE(error);
  }
  std::string path(llvm::StringRef name) { return (folder + "/" + name).str(); }
  int execute(const char *program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    std::string why;
    int code = llvm::sys::ExecuteAndWait(
        program, llvm::SmallVector<llvm::StringRef>(arguments.begin(), arguments.end()), std::nullopt, {}, 0, 0, &why);
    EXPECT_EQ(why, "");
    return code;
  }
  llvm::SmallString<128> folder;
};

TEST_F(CompilerTest, HeadersAreCleanCAndCxxBesideEachOther) {
  KernelPlan second = doublePlan();
  second.name = "other";
  second.inputs.push_back({"class", ElementType::BF16, {{"", 3}}, std::nullopt});
  second.inputs.push_back({"seg", ElementType::I32, {{"n", 1}}, IndexRange{-2, 31}});
  second.outputs.front().type = ElementType::F16;
  write("twice.h", headerText(doublePlan(), "0123456789abcdef"));
  write("other.h", headerText(second, "fedcba9876543210"));
  EXPECT_NE(headerText(second, "").find("const int32_t *seg; /* i32[n], every element within -2..31 */"),
            std::string::npos);
  write("use.c", "#include \"twice.h\"\n#include \"other.h\"\n#include \"twice.h\"\n");
  write("use.cpp", "#include \"other.h\"\n#include \"twice.h\"\n");
  EXPECT_EQ(execute(SKEWER_C_COMPILER,
                    {"-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", path("use.c")}),
            0);
  for (const char *standard : {"-std=c++11", "-std=c++20"})
    EXPECT_EQ(execute(SKEWER_CXX_COMPILER,
                      {standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", path("use.cpp")}),
              0);
}

constexpr const char *kCaller = R"c(
#include "twice.h"
#include <string.h>
static _Alignas(64) unsigned char space[64 * 8];
int main(void) {
  float x[12], out[12];
  for (int k = 0; k < 12; ++k) x[k] = (float)k, out[k] = -1;
  twice_args args = twice_args_init();
  skewer_exec exec = skewer_exec_init();
  args.x = x; args.out = out; args.n = 3;
  exec.workspace = space; exec.workspace_bytes = sizeof space;
  if (twice_workspace_bytes(&args, NULL) != 64 * 4) return 1;
  if (twice(NULL, &exec) != SKEWER_NULL_ARGS) return 2;
  if (twice(&args, NULL) != SKEWER_NULL_EXEC) return 3;
  args.size += 8;
  if (twice(&args, &exec) != SKEWER_BAD_ARGS_SIZE) return 4;
  if (twice_workspace_bytes(&args, &exec) != SIZE_MAX || twice_items(&args, 0) != -1) return 5;
  args.size -= 8; args.version = 2;
  if (twice(&args, &exec) != SKEWER_BAD_ARGS_VERSION) return 6;
  args.version = 1; args.head0 = 1;
  if (twice(&args, &exec) != SKEWER_BAD_ORIGIN) return 7;
  args.head0 = 0;
  if (twice_phases() != 2 || twice_items(&args, 1) != 3 || twice_items(&args, 2) != -1) return 8;
  if (twice_raw(&args, &exec, 2, 0, 1, 0) != SKEWER_BAD_PHASE) return 9;
  if (twice_raw(&args, &exec, 0, 0, 4, 0) != SKEWER_BAD_RANGE) return 10;
  if (twice_raw(&args, &exec, 0, 2, 1, 0) != SKEWER_BAD_RANGE) return 11;
  if (twice_raw(&args, &exec, 0, 0, 1, 1) != SKEWER_BAD_RANGE) return 12;
  if (twice_raw(&args, &exec, 0, 0, 1, -1) != SKEWER_BAD_RANGE) return 13;
  for (int k = 0; k < 12; ++k) if (out[k] != -1) return 14;
  for (int32_t phase = 0; phase < twice_phases(); ++phase)
    for (int64_t item = 3; item-- > 0;)
      if (twice_raw(&args, &exec, phase, item, item + 1, 0) != SKEWER_OK) return 15;
  for (int k = 0; k < 12; ++k) if (out[k] != 2 * x[k]) return 16;
  if (strcmp(skewer_status_text(SKEWER_OK), "done") != 0) return 17;
  if (twice_status_text(SKEWER_BAD_INDEX) != skewer_status_text(SKEWER_BAD_INDEX)) return 20;
  if (!strstr(twice_info(), "0123456789abcdef")) return 18;
  return twice(&args, &exec) == SKEWER_OK ? 0 : 19;
}
)c";

TEST_F(CompilerTest, ObjectFileIsReproducibleAndLinksWithACProgram) {
  std::string objects[2];
  for (std::string &object : objects) {
    llvm::LLVMContext context;
    auto module = emit(context, doublePlan(), plainTarget());
    ASSERT_TRUE(bool(module));
    ASSERT_FALSE(bool(optimize(**module, plainTarget())));
    auto bytes = emitObject(**module, plainTarget());
    ASSERT_TRUE(bool(bytes));
    object = *bytes;
  }
  EXPECT_TRUE(objects[0] == objects[1]);
  write("twice.o", objects[0]);
  write("twice.h", headerText(doublePlan(), "0123456789abcdef"));
  write("use.c", kCaller);
  ASSERT_EQ(
      execute(SKEWER_C_COMPILER, {"-std=c11", "-Wall", "-Werror", path("use.c"), path("twice.o"), "-o", path("use")}),
      0);
  EXPECT_EQ(execute(path("use").c_str(), {}), 0);
}

TEST(Abi, AssemblyListsTheEntries) {
  llvm::LLVMContext context;
  auto module = emit(context, doublePlan(), plainTarget());
  ASSERT_TRUE(bool(module));
  ASSERT_FALSE(bool(optimize(**module, plainTarget())));
  auto text = emitObject(**module, plainTarget(), /*assembly=*/true);
  ASSERT_TRUE(bool(text));
  for (const char *name :
       {"twice:", "twice_raw:", "twice_phases:", "twice_items:", "twice_workspace_bytes:", "twice_info:"})
    EXPECT_NE(text->find(std::string("\n") + name), std::string::npos) << name;
}

} // namespace
