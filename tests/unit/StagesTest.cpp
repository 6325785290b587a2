// Tests kernels of several stages: operations before, between and after attentions, matrix products, half precision.
// Each is compiled from the language, run with its work items divided in different ways, and compared with the float64
// reference.
#include "passes/Stages/Stages.h"
#include "codegen/ABI/Emit.h"
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/KernelPlan.h"
#include "dialect/Language/Language.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Register.h"
#include "tests/unit/StoredNumbers.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace skewer;
using reference::Tensor;
using skewer::testing::decode;
using skewer::testing::encode;

namespace {

using Body = void (*)(void *, int64_t, int64_t, int32_t);
/// Runs the items in groups of `context`, the last group first, by three workers in turn.
void backwards(void *context, int64_t count, Body body, void *data) {
  int64_t run = *static_cast<int64_t *>(context);
  for (int64_t end = count; end > 0; end -= std::min(run, end))
    body(data, end - std::min(run, end), end, static_cast<int32_t>(end % 3));
}

struct Outcome {
  std::vector<std::string> stages;
  SizeExpression shared;
  int64_t prepared = 0; // bytes
  double error = 0;     // the largest, relative to the largest value
};

/// Compiles a text, runs its kernel and compares it with the reference. `batch` is the value of every run-time size.
/// `unread` has the inputs that calls with prepared memory do not read.
Outcome compileAndCompare(const std::string &text, int64_t batch, const char *targetName = "host",
                          const std::vector<std::string> &unread = {}) {
  Outcome outcome;
  DialectRegistry registry;
  registry.insert<attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect, linalg::LinalgDialect,
                  tensor::TensorDialect>();
  registerLlvmConversions(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
  auto einsum = language::importSource(sources, {}, &context, llvm::errs());
  EXPECT_TRUE(einsum) << text;
  if (!einsum)
    return outcome;
  OwningOpRef<ModuleOp> module(cast<ModuleOp>((*einsum)->clone()));
  auto target = findTarget(targetName);
  PassManager manager(&context);
  addFusionPipeline(manager);
  addSchedulePipeline(manager, *target);
  addCpuLoweringPipeline(manager, *target);
  EXPECT_TRUE(succeeded(manager.run(*module))) << text;
  auto plan = planOf(*module);
  EXPECT_TRUE(plan);
  if (!plan)
    return outcome;
  for (const StagePlan &stage : plan->stages)
    outcome.stages.push_back(stage.title);
  outcome.shared = plan->sharedBytes;
  outcome.prepared = plan->preparedBytes;
  PassManager lower(&context);
  lower.enableVerifier(false); // toLlvmModule verifies what becomes of it
  addLlvmPipeline(lower, *target);
  EXPECT_TRUE(succeeded(lower.run(*module)));
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto llvmModule = llvm::cantFail(toLlvmModule(*module, *plan, *target, *llvmContext, "0"));
  llvm::cantFail(optimize(*llvmModule, *target));
  auto kernel = llvm::cantFail(JitKernel::create(std::move(llvmModule), std::move(llvmContext), *plan, *target));

  std::mt19937 random(7);
  std::normal_distribution<double> distribution;
  std::vector<Tensor> inputs;
  std::vector<std::vector<char>> memory;
  std::vector<const void *> pointers;
  for (const TensorArgument &argument : plan->inputs) {
    Tensor tensor;
    for (const Extent &extent : argument.shape)
      tensor.shape.push_back(extent.name.empty() ? extent.fixed : batch);
    int64_t width = bytesOf(argument.type);
    memory.emplace_back(tensor.elements() * width);
    for (int64_t n = 0; n < tensor.elements(); ++n) {
      uint32_t bits;
      if (argument.range) { // an index: all values in turn
        bits = static_cast<uint32_t>(argument.range->high - n % (argument.range->high - argument.range->low + 1));
        tensor.values.push_back(static_cast<int32_t>(bits));
      } else {
        bits = encode(0.5 * distribution(random), argument.type);
        tensor.values.push_back(decode(bits, argument.type));
      }
      std::memcpy(&memory.back()[n * width], &bits, width);
    }
    inputs.push_back(std::move(tensor));
  }
  for (const auto &input : memory)
    pointers.push_back(input.data());
  std::vector<int64_t> sizes(plan->sizes.size(), batch);

  reference::Interpreter interpreter(*einsum->getOps<func::FuncOp>().begin(), inputs);
  std::vector<double> expected;
  for (const auto &leading : reference::sampleRows(interpreter.resultShape(), 1 << 20, 1)) {
    auto row = interpreter.row(leading);
    EXPECT_TRUE(row) << row.reason;
    if (!row)
      return outcome;
    expected.insert(expected.end(), row->begin(), row->end());
  }

  int64_t width = bytesOf(plan->outputs.front().type);
  std::vector<char> made(plan->preparedBytes + 128, char(0xff));
  void *prepared = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(made.data()) + 63) / 64 * 64);
  enum class How { Whole, Prepared };
  auto run = [&](int64_t itemsAtOnce, How how = How::Whole) {
    std::vector<char> output(expected.size() * width + 64, char(0x5a));
    Exec exec;
    exec.workers = itemsAtOnce ? 3 : 1;
    exec.workspaceBytes = kernel->workspaceBytes(sizes, exec.workers);
    std::vector<char> workspace(exec.workspaceBytes + 128, char(0xff)); // NaN wherever nothing was written
    exec.workspace = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
    if (itemsAtOnce) {
      exec.context = &itemsAtOnce;
      exec.parallelFor = backwards;
    }
    if (how == How::Whole) {
      EXPECT_EQ(kernel->run(pointers, output.data(), sizes, exec), 0);
    } else {
      if (unread.empty() || itemsAtOnce == 0) {
        EXPECT_EQ(kernel->prepare(pointers, sizes, exec, prepared), 0);
      }
      for (size_t k = 0; k < memory.size(); ++k) // NaN in every type
        if (llvm::is_contained(unread, plan->inputs[k].name))
          std::fill(memory[k].begin(), memory[k].end(), char(0xff));
      EXPECT_EQ(kernel->runPrepared(pointers, output.data(), sizes, exec, prepared), 0);
      EXPECT_EQ(static_cast<char *>(prepared)[plan->preparedBytes], char(0xff)) << "written behind prepared memory";
    }
    for (size_t n = expected.size() * width; n < output.size(); ++n)
      EXPECT_EQ(output[n], char(0x5a)) << "written behind the end";
    const char *behind = static_cast<char *>(exec.workspace) + exec.workspaceBytes;
    EXPECT_EQ(*behind, char(0xff)) << "written behind the workspace";
    return output;
  };
  std::vector<char> output = run(0);
  for (int64_t itemsAtOnce : {1, 5})
    EXPECT_EQ(run(itemsAtOnce), output) << "another result with items in runs of " << itemsAtOnce;
  if (plan->hasConst())
    for (int64_t itemsAtOnce : {0, 5})
      EXPECT_EQ(run(itemsAtOnce, How::Prepared), output) << "another result with what was prepared";

  double largest = 1e-30;
  for (double value : expected)
    largest = std::max(largest, std::fabs(value));
  for (size_t n = 0; n < expected.size(); ++n) {
    uint32_t bits = 0;
    std::memcpy(&bits, &output[n * width], width);
    double error = std::fabs(decode(bits, plan->outputs.front().type) - expected[n]) / largest;
    outcome.error = std::isnan(error) ? INFINITY : std::max(outcome.error, error);
  }
  return outcome;
}

int64_t count(const Outcome &outcome, const std::string &title) { return llvm::count(outcome.stages, title); }

constexpr const char *kAttend = R"(
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  return einsum("b h i j, b h j d -> b h i d", softmax(content * dim^-0.5), v)
})";

} // namespace

TEST(Stages, OperandsAreComputedWhileTheyArePacked) {
  Outcome outcome = compileAndCompare(R"(param N = 37, heads = 3, dim = 20
size batch
kernel f(q, k, v : f32[batch, heads, N, dim], pos : f32[heads, 2*N - 1, dim], u, t : f32[heads, dim]) -> f32[batch, heads, N, dim] {
  content  = einsum("b h i d, b h j d -> b h i j", q + u[:, None, :], k)
  position = einsum("b h i d, h (j - i + N - 1) d -> b h i j", q + t[:, None, :], pos)
  return einsum("b h i j, b h j d -> b h i d", softmax((content + position) * dim^-0.5), v)
})",
                                      2);
  EXPECT_EQ(outcome.stages, std::vector<std::string>{"attention"});
  EXPECT_LT(outcome.error, 2e-6);
}

TEST(Stages, AResultIsFinishedAsItIsStored) {
  const std::string layer = R"(param N = 37, heads = 3, dim = 20
size batch
kernel f(q, k, v : TYPE[batch, heads, N, dim], g : TYPE[batch, heads, N, dim], x : TYPE[batch, N, heads, dim], a : TYPE[dim])
    -> TYPE[batch, SHAPE] {
  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5
  o = einsum("b h i j, b h j d -> b h i d", softmax(s where j <= i), v)
  return RESULT
})";
  const std::pair<const char *, const char *> finishes[] = {
      {"heads, N, dim", "o * sigmoid(g)"},
      {"heads, N, dim", "g + 0.5 * o * a[None, None, None, :]"},
      {"N, heads, dim", "x + rearrange(o, \"b h i d -> b i h d\")"},
      {"N, heads*dim", "rearrange(o, \"b h i d -> b i (h d)\") + rearrange(x, \"b i h d -> b i (h d)\")"},
      {"N, heads*dim", "rearrange(x + rearrange(o, \"b h i d -> b i h d\"), \"b i h d -> b i (h d)\")"},
      {"heads, N, dim", "max(o, 0) - g * g"}};
  for (const char *type : {"f32", "bf16", "f16"})
    for (const char *target : {"host", "x86-64-v3", "x86-64-v2"})
      for (auto [shape, result] : finishes) {
        std::string text = layer;
        for (auto [word, with] : {std::pair("TYPE", type), {"SHAPE", shape}, {"RESULT", result}})
          for (size_t at; (at = text.find(word)) != std::string::npos;)
            text.replace(at, strlen(word), with);
        Outcome outcome = compileAndCompare(text, 2, target);
        EXPECT_EQ(outcome.stages.back(), "attention") << text;
        EXPECT_EQ(outcome.stages.size(), type != std::string("f32") && result[0] == 'g' ? 2u : 1u)
            << text << "\nwhere a vector of 16 bits is widened once, not for every row";
        EXPECT_LT(outcome.error, *type == 'b' ? 1e-2 : text.find("f16") == std::string::npos ? 2e-6 : 2e-3) << text;
      }
}

TEST(Stages, WhatIsNoArithmeticBehindAResultAloneHasAStage) {
  auto stagesOf = [](const std::string &result) {
    Outcome outcome = compileAndCompare(R"(param N = 24, dim = 16
kernel f(q, k, v, g : f32[2, N, dim]) -> f32[2, N, dim] {
  s = einsum("b i d, b j d -> b i j", q, k)
  o = einsum("b i j, b j d -> b i d", softmax(s), v)
  p = einsum("b i j, b j d -> b i d", softmax(s * 0.5), v)
  return )" + result + "\n}",
                                        1);
    EXPECT_LT(outcome.error, 2e-6) << result;
    return outcome.stages;
  };
  using Stages = std::vector<std::string>;
  EXPECT_EQ(stagesOf("o * sigmoid(o) + g"), (Stages{"attention", "elementwise"})) << "it is read twice";
  EXPECT_EQ(stagesOf("o - 0.3 * p"), (Stages{"attention", "attention"})) << "the later one is finished";
  EXPECT_EQ(stagesOf("o * g / (sum(o * g, axis = 2) + 100)[:, :, None]").front(), "attention");
  EXPECT_EQ(stagesOf("einsum(\"b i d, b j d -> b i j\", o + g, k)[:, :, 0:16]").back(), "elementwise");
}

TEST(Stages, WhatConstOperandsAloneDetermineIsMadeOnce) {
  struct Case {
    const char *text;
    std::vector<std::string> unread;
    bool some;
  };
  const Case cases[] = {{R"(param N = 40, heads = 2, dim = 24
size batch
kernel table(q, k, v : f32[batch, heads, N, dim], const rel : f32[2*N - 1, dim]) -> f32[batch, heads, N, dim] {
  s = einsum("b h i d, b h j d -> b h i j", q, k)
  p = einsum("b h i d, (j - i + N - 1) d -> b h i j", q, rel)
  return einsum("b h i j, b h j d -> b h i d", softmax((s + p) * dim^-0.5), v)
})",
                         {"rel"},
                         true},
                        {R"(param N = 40, dim = 24
kernel changing(q, k, v : f32[N, dim], const rel : f32[2*N - 1, dim], scale : f32[dim]) -> f32[N, dim] {
  s = einsum("i d, j d -> i j", q, k)
  p = einsum("i d, (j - i + N - 1) d -> i j", q, rel * scale[None, :])
  return einsum("i j, j d -> i d", softmax((s + p) * dim^-0.5), v)
})",
                         {},
                         false},
                        {R"(param N = 40, dim = 24
kernel made(q, k, v : f32[N, dim], const rel : f32[2*N - 1, dim], const scale : f32[dim]) -> f32[N, dim] {
  s = einsum("i d, j d -> i j", q, k)
  p = einsum("i d, (j - i + N - 1) d -> i j", q, rel * scale[None, :])
  return einsum("i j, j d -> i d", softmax((s + p) * dim^-0.5), v)
})",
                         {"rel", "scale"},
                         true},
                        {R"(param N = 20, c = 48
size batch
kernel weights(x : f32[batch, N, c], const w : f32[c, c], const u : f32[c, c]) -> f32[batch, N, c] {
  h = gelu(einsum("b i c, c e -> b i e", x, w))
  s = einsum("b i c, b j c -> b i j", h, x)
  return einsum("b i c, c e -> b i e", einsum("b i j, b j c -> b i c", softmax(s * c^-0.5), x), u) + x
})",
                         {"w", "u"},
                         true},
                        {R"(param N = 16, heads = 3, dim = 16
size batch
kernel network(q, k, v : f32[batch, heads, N, dim], const at : f32[2*N - 1, 8], const w : f32[8, 40], const u : f32[40, heads])
    -> f32[batch, heads, N, dim] {
  bias = einsum("r f, f h -> r h", relu(einsum("r c, c f -> r f", at, w)), u)
  s = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5 + einsum("(j - i + N - 1) h -> h i j", bias, i = N, j = N)
  return einsum("b h i j, b h j d -> b h i d", softmax(s), v)
})",
                         {"at", "w", "u"},
                         true},
                        {R"(param N = 40, heads = 2, dim = 24
kernel kinds(q, k, v : f32[heads, N, dim], const rel : f32[4, 2*N - 1, dim], kind : i32[heads] in 0..3) -> f32[heads, N, dim] {
  s = einsum("h i d, h j d -> h i j", q, k)
  p = einsum("h i d, (kind[h]) (j - i + N - 1) d -> h i j", q, rel)
  return einsum("h i j, h j d -> h i d", softmax((s + p) * dim^-0.5), v)
})",
                         {},
                         false},
                        {R"(param N = 40, heads = 2, dim = 24
kernel lengths(q, k, v : f32[heads, N, dim], const rel : f32[2*N - 1, dim], length : i32[heads] in 0..N) -> f32[heads, N, dim] {
  s = einsum("h i d, h j d -> h i j", q, k)
  p = einsum("h i d, (j - i + N - 1) d -> h i j", q, rel)
  return einsum("h i j, h j d -> h i d", softmax((s + p) * dim^-0.5 where j < length[h]), v)
})",
                         {"rel"},
                         true},
                        {R"(param N = 30, dim = 16
kernel only(const q : f32[N, dim], k, v, x : f32[N, dim]) -> f32[N, dim] {
  s = einsum("i d, j d -> i j", q, k)
  return einsum("i j, j d -> i d", softmax(s), v) + x
})",
                         {},
                         false}};
  for (const Case &one : cases)
    for (const char *target : {"host", "x86-64-v3"}) {
      Outcome outcome = compileAndCompare(one.text, 2, target, one.unread);
      EXPECT_EQ(outcome.prepared > 0, one.some) << one.text;
      EXPECT_EQ(outcome.prepared % 64, 0);
      EXPECT_LT(outcome.error, 4e-6) << one.text;
    }
}

TEST(Stages, TheModuleWithItsProjections) {
  for (const char *target : {"host", "x86-64-v3"}) {
    Outcome outcome = compileAndCompare(R"(param N = 50, heads = 3, dim = 32, c = 40
size batch
kernel f(x : f32[batch, N, c], w : f32[3*heads*dim, c], o : f32[heads*dim, c], bias : f32[c]) -> f32[batch, N, c] {
  qkv = einsum("b n c, (t h d) c -> b t h n d", x, w, t = 3, h = heads)
  (q, k, v) = (qkv[:, 0], qkv[:, 1], qkv[:, 2])
  content = einsum("b h i d, b h j d -> b h i j", q, k) * dim^-0.5
  mixed = einsum("b h i j, b h j d -> b i h d", softmax(content), v)
  return einsum("b i h d, (h d) c -> b i c", mixed, o) + bias
})",
                                        3, target);
    EXPECT_EQ(count(outcome, "attention"), 1);
    EXPECT_EQ(count(outcome, "matmul"), 2);
    EXPECT_LT(outcome.error, 2e-6) << target;
  }
}

TEST(Stages, ProductsOfOddSizesAndSeveralAxes) {
  // 37 columns, a depth of two axes that are not next to each other in the rows' operand, and columns that are not the
  // last axis.
  Outcome outcome = compileAndCompare(R"(param N = 21, heads = 2, dim = 12
size batch
kernel f(q, k, v : f32[batch, heads, N, dim], w : f32[37, heads*dim], z : f32[37, N, 24]) -> f32[batch, 24, N] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  mixed = einsum("b h i j, b h j d -> b h i d", softmax(content * dim^-0.5), v)
  y = einsum("b h i d, e (h d) -> b i e", mixed, w)
  s = einsum("e i c -> i e c", z)
  return einsum("b i e, i e c -> b c i", y, s)
})",
                                      4);
  EXPECT_EQ(count(outcome, "attention"), 1);
  EXPECT_EQ(count(outcome, "matmul"), 1); // the last one has an axis in both operands and the result
  EXPECT_LT(outcome.error, 2e-6);
}

TEST(Stages, ProductsTakeInWhatStandsBeforeAndBehind) {
  for (const char *target : {"host", "x86-64-v3"}) {
    // Whole vectors of columns, odd numbers of columns, and rows that are moved while they are packed.
    Outcome outcome = compileAndCompare(R"(param N = 29, heads = 3, dim = 16, c = 40
size batch
kernel f(x : f32[batch, N, c], pos : f32[N, c], w : f32[c, heads*dim], first : f32[heads*dim], o : f32[heads*dim, 37],
         bias : f32[37]) -> f32[batch, N, 37] {
  inner = max(einsum("b n c, c e -> b n e", 2 * x + pos, w) + first, 0)
  return einsum("b n e, e f -> b n f", exp(-inner), o) * 0.5 + bias
})",
                                        3, target);
    EXPECT_EQ(outcome.stages, (std::vector<std::string>{"matmul", "matmul"})) << target;
    EXPECT_LT(outcome.error, 2e-6) << target;
  }
  Outcome moved = compileAndCompare(R"-(param N = 24, heads = 2, dim = 12, c = 32
size batch
kernel f(x : f32[batch, N, c], m : f32[batch, heads, N, dim], w : f32[heads*dim, c]) -> f32[batch, N, c] {
  rows = rearrange(m * 0.5, "b h n d -> b n (h d)")
  return x + einsum("b n e, e c -> b n c", rows, w)
})-",
                                    2);
  EXPECT_EQ(moved.stages, (std::vector<std::string>{"matmul"}));
  EXPECT_LT(moved.error, 2e-6);
}

/// Returns a layer that interpolates a table at run-time positions; each hat function is multiplied once.
std::string interpolation(const std::string &hat, const std::string &sum = "b i j r, r j -> b i j",
                          const std::string &result = "6, N") {
  return "size batch\nparam N = 37, R = 21\n"
         "kernel f(pos : f32[batch, 6, N] ~ 10 + 4, table : f32[R, N]) -> f32[batch, " +
         result +
         "] {\n"
         "  at = einsum(\"b i j -> b i j r\", pos, r = R)\n"
         "  hat = " +
         hat + "\n  return einsum(\"" + sum + "\", hat, table)\n}\n";
}

TEST(Stages, WhatASumReadsOnceIsComputedOnTheWay) {
  const std::string hat = "max(1 - abs(at - tabulate(r, r = R)), 0)";
  auto check = [](const std::string &text, const std::vector<std::string> &stages) {
    Outcome outcome = compileAndCompare(text, 3);
    EXPECT_EQ(outcome.stages, stages) << text;
    EXPECT_LT(outcome.error, 2e-6) << text;
  };
  check(interpolation(hat), {"einsum"});
  // A choice that depends on the axis of the vectors is made element by element.
  check(interpolation(hat + " if j < i + 9 else 0.5"), {"einsum"});
  // The hidden operand is an index map, which is moved before.
  check(interpolation(hat + " * (r >= 2)"), {"elementwise", "einsum"});
  // The result's last axis is no vector here.
  check(interpolation(hat, "b i j r, r j -> b j i", "N, 6"), {"einsum"});
  check(interpolation(hat, "b i j r, r j -> b i r", "6, R"), {"einsum"});
  // Once for each m: they have a buffer.
  check(interpolation("sigmoid(at)", "b i j r, r m -> b i m"), {"elementwise", "einsum"});
}

/// If a condition leaves zeros, an operand does not count there, even if it is NaN. A constant cannot be NaN.
TEST(Stages, ZerosOfAConditionHideNoConstants) {
  auto gates = [](const std::string &operand, const std::string &table) {
    return "param N = 41\nkernel f(x : f32[N, N]" + operand +
           ") -> f32[N, N] {\n  gates = sigmoid(einsum(\"i k -> i k\", x)) * (k <= i)\n"
           "  return min(einsum(\"i k, j k -> i j\", gates, " +
           table + "), 7)\n}\n";
  };
  Outcome constant = compileAndCompare(gates("", "tabulate((j + 2*k) % 5, j = N, k = N)"), 1);
  EXPECT_EQ(constant.stages, (std::vector<std::string>{"matmul"}));
  EXPECT_LT(constant.error, 2e-6);
  Outcome given = compileAndCompare(gates(", t : f32[N, N]", "t"), 1);
  EXPECT_EQ(count(given, "matmul"), 0);
  EXPECT_LT(given.error, 2e-6);
}

TEST(Stages, WhatIsReadTwiceHasABuffer) {
  // The sum is the rows of two products; the first product is added to and multiplied by the second one; columns are
  // read by every item and are not computed again.
  Outcome outcome = compileAndCompare(R"(param N = 32, c = 24
kernel f(x, y : f32[N, c], w, z : f32[c, c]) -> f32[N, c] {
  s = x + y
  a = einsum("n c, c e -> n e", s, w)
  g = einsum("n c, c e -> n e", s, z * 2)
  return (a + g) * g
})",
                                      1);
  EXPECT_EQ(count(outcome, "matmul"), 2);
  EXPECT_EQ(count(outcome, "elementwise"), 2); // s, and z * 2
  EXPECT_LT(outcome.error, 2e-6);
}

TEST(Stages, WhatIsWrittenTwiceIsMadeOnce) {
  // A table that heads share is one stage for queries and keys; the table of the other operand is another stage.
  Outcome outcome = compileAndCompare(std::string(R"(param N = 30, heads = 3, dim = 16
kernel f(x, y, v : f32[2, heads, N, dim], s, t : f32[N, dim] ~ 0.1) -> f32[2, heads, N, dim] {
  q = x * exp(s) + exp(t)
  k = y * exp(s))") + kAttend,
                                      1);
  EXPECT_EQ(outcome.stages, (std::vector<std::string>{"elementwise", "elementwise", "attention"}));
  EXPECT_LT(outcome.error, 2e-6);
}

TEST(Stages, SmallOperandsOfSumsAreTurned) {
  Outcome few = compileAndCompare(R"(param N = 40, c = 27
kernel f(x : f32[N, c], w : f32[c, 3]) -> f32[N, 3] { return einsum("n c, c h -> n h", x, w) })",
                                  1);
  EXPECT_EQ(few.stages, (std::vector<std::string>{"elementwise", "einsum"}));
  EXPECT_LT(few.error, 2e-6);
  // Transposing an operand that is read once costs as much as reading it.
  Outcome once = compileAndCompare(R"(param N = 40, c = 27
kernel f(x : f32[N, c], w : f32[c, N]) -> f32[N] { return einsum("n c, c n -> n", x, w) })",
                                   1);
  EXPECT_EQ(once.stages, std::vector<std::string>{"einsum"});
  EXPECT_LT(once.error, 2e-6);
}

TEST(Stages, TwoAttentionsInOneKernel) {
  Outcome outcome = compileAndCompare(R"(param N = 30, M = 45, heads = 2, dim = 16
size batch
kernel f(q : f32[batch, heads, N, dim], k, v : f32[batch, heads, M, dim], r : f32[2*N - 1, dim]) -> f32[batch, heads, N, dim] {
  first  = softmax(einsum("b h i d, b h j d -> b h i j", q, k))
  middle = einsum("b h i j, b h j d -> b h i d", first, v)
  own    = einsum("b h i d, b h j d -> b h i j", middle, middle)
  rows   = einsum("b h i d, (j - i + N - 1) d -> b h i j", middle, r, j = N)
  second = softmax((own + rows) * 0.25 where j <= i)
  return einsum("b h i j, b h j d -> b h i d", second, middle) + q
})",
                                      2);
  EXPECT_EQ(outcome.stages, (std::vector<std::string>{"attention", "attention"})) << "the second is finished";
  EXPECT_LT(outcome.error, 3e-6);
}

TEST(Stages, HalfPrecisionIsRoundedOnce) {
  std::string head = "param N = 33, heads = 2, dim = 24\nsize batch\n";
  for (auto [type, step] : {std::pair{"f16", std::ldexp(1, -11)}, std::pair{"bf16", std::ldexp(1, -8)}}) {
    std::string shape = std::string(type) + "[batch, heads, N, dim]";
    Outcome outcome = compileAndCompare(head + "kernel f(q, k, v : " + shape + ") -> " + shape + " {" + kAttend, 2);
    EXPECT_EQ(count(outcome, "attention"), 1) << type;
    EXPECT_LT(outcome.error, step + 2e-6) << type; // half a unit in the last place of the largest value, and f32's own
  }
}

TEST(Stages, TablesOfAllTypesTurnHalvesOfAllWidths) {
  for (const char *type : {"f32", "f16", "bf16"})
    for (const char *dim : {"4", "8", "12", "16", "32", "40"}) {
      std::string text = std::string("param N = 5, dim = ") + dim + R"(
size batch
kernel f(q, k, v : f32[batch, 2, N, dim], c, s : )" +
                         type + R"([N, dim // 2]) -> f32[batch, 2, N, dim] {
  content = einsum("b h i d, b h j d -> b h i j", rotate_half(q, c, s), rotate_half(k, c, s)) * 0.1
  return einsum("b h i j, b h j d -> b h i d", softmax(content), v)
})";
      EXPECT_LT(compileAndCompare(text, 2).error, 3e-6) << type << " " << dim;
    }
}

TEST(Stages, TheModuleInHalfPrecision) {
  Outcome outcome = compileAndCompare(R"(param N = 20, heads = 2, dim = 16, c = 24
size batch
kernel f(x : f16[batch, N, c], w : f16[c, 3*heads*dim], o : f16[heads*dim, c]) -> f16[batch, N, c] {
  qkv = einsum("b n c, c (t h d) -> b t h n d", x, w, t = 3, h = heads)
  (q, k, v) = (qkv[:, 0], qkv[:, 1], qkv[:, 2])
  mixed = einsum("b h i j, b h j d -> b i h d", softmax(einsum("b h i d, b h j d -> b h i j", q, k) * 0.25), v)
  return einsum("b i h d, (h d) c -> b i c", mixed, o)
})",
                                      2);
  EXPECT_EQ(count(outcome, "attention"), 1);
  EXPECT_EQ(count(outcome, "matmul"), 2);
  EXPECT_LT(outcome.error, std::ldexp(1, -10));
}

TEST(Stages, BuffersThatDoNotLiveTogetherShareMemory) {
  std::string text = R"(param N = 32, dim = 16
size batch
kernel f(x : f32[batch, N, dim], w : f32[dim, dim]) -> f32[batch, N, dim] {
  a = einsum("b n c, c d -> b n d", x, w)
  b1 = einsum("b n c, c d -> b n d", a, w)
  d = einsum("b n c, c d -> b n d", b1, w)
  e = einsum("b n c, c d -> b n d", d, w)
  p = softmax(einsum("b i d, b j d -> b i j", e, x))
  return einsum("b i j, b j d -> b i d", p, x)
})";
  Outcome outcome = compileAndCompare(text, 2);
  EXPECT_EQ(count(outcome, "matmul"), 4);
  EXPECT_EQ(outcome.shared.scaled, 2 * 32 * 16 * 4); // five tensors, no more than two at a time
  EXPECT_LT(outcome.error, 1e-5);
}
