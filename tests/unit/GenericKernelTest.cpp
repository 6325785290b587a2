// Compares kernels of the generic path, compiled into this process, with the float64 reference: masks that hide NaN,
// run-time sizes, index maps, narrow types, and attention with other operations around it.
#include "codegen/ABI/Emit.h"
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/KernelPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Register.h"
#include "tests/unit/RandomExpr.h"
#include "tests/unit/StoredNumbers.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace skewer;
using reference::Tensor;
using skewer::testing::decode;
using skewer::testing::encode;

namespace {

std::vector<char> bytes(const std::vector<double> &values, ElementType type) {
  std::vector<char> memory(values.size() * bytesOf(type));
  for (size_t n = 0; n < values.size(); ++n) {
    uint32_t bits = encode(values[n], type);
    std::memcpy(&memory[n * bytesOf(type)], &bits, bytesOf(type)); // little endian
  }
  return memory;
}

Tensor normal(std::vector<int64_t> shape, unsigned seed) {
  Tensor tensor{std::move(shape), {}};
  std::mt19937 random(seed);
  std::normal_distribution<double> distribution;
  for (int64_t n = 0; n < tensor.elements(); ++n)
    tensor.values.push_back(static_cast<float>(distribution(random)));
  return tensor;
}

class GenericKernelTest : public ::testing::Test {
protected:
  GenericKernelTest() : context(MLIRContext::Threading::DISABLED) {
    DialectRegistry registry;
    registry.insert<attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, memref::MemRefDialect,
                    scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect, linalg::LinalgDialect,
                    tensor::TensorDialect>();
    registerLlvmConversions(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Runs the kernel of `text`, and returns all of its result.
  std::vector<double> run(const std::string &text, const std::vector<Tensor> &inputs, const std::vector<int64_t> &shape,
                          const std::vector<int64_t> &sizes = {}) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return {};
    auto target = findTarget("host");
    PassManager manager(&context);
    manager.addPass(createAttnLowerGeneric());
    if (failed(manager.run(*module))) {
      ADD_FAILURE() << text;
      return {};
    }
    auto plan = planOf(*module);
    PassManager lower(&context);
    lower.enableVerifier(false); // toLlvmModule verifies what becomes of it
    addLlvmPipeline(lower, *target);
    EXPECT_TRUE(plan && succeeded(lower.run(*module)));
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto llvmModule = toLlvmModule(*module, *plan, *target, *llvmContext, "0");
    EXPECT_TRUE(bool(llvmModule)) << (llvmModule ? "" : llvm::toString(llvmModule.takeError()));
    llvm::cantFail(optimize(**llvmModule, *target));
    auto kernel = JitKernel::create(std::move(*llvmModule), std::move(llvmContext), *plan, *target);
    EXPECT_TRUE(bool(kernel)) << (kernel ? "" : llvm::toString(kernel.takeError()));

    std::vector<std::vector<char>> memory;
    std::vector<const void *> pointers;
    for (size_t k = 0; k < inputs.size(); ++k)
      memory.push_back(bytes(inputs[k].values, plan->inputs[k].type));
    for (const auto &input : memory)
      pointers.push_back(input.data());
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    int64_t width = bytesOf(plan->outputs.front().type);
    std::vector<char> output((count + 16) * width, char(0x5a)); // the kernel must not write after the end
    Exec exec;
    exec.workspaceBytes = (*kernel)->workspaceBytes(sizes, 1);
    std::vector<char> workspace(exec.workspaceBytes + 64, char(0xff)); // NaN wherever nothing was written
    exec.workspace = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
    int status = (*kernel)->run(pointers, output.data(), sizes, exec);
    EXPECT_EQ(status, 0) << statusText(status);
    for (size_t n = count * width; n < output.size(); ++n)
      EXPECT_EQ(output[n], char(0x5a)) << "written behind the end";
    std::vector<double> values;
    for (int64_t n = 0; n < count; ++n) {
      uint32_t bits = 0;
      std::memcpy(&bits, &output[n * width], width);
      values.push_back(decode(bits, plan->outputs.front().type));
    }
    return values;
  }

  std::vector<double> judge(const std::string &text, const std::vector<Tensor> &inputs, std::vector<int64_t> &shape) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return {};
    reference::Interpreter interpreter(*module->getOps<func::FuncOp>().begin(), inputs);
    shape = interpreter.resultShape();
    std::vector<double> values;
    for (const auto &leading : reference::sampleRows(shape, 1 << 20, 1)) {
      auto row = interpreter.row(leading);
      EXPECT_TRUE(row) << row.reason;
      if (!row)
        return {};
      values.insert(values.end(), row->begin(), row->end());
    }
    return values;
  }

  /// Compares the kernel of `text` with the reference on `text`, or on `meaning` if the reference cannot interpret
  /// `text`.
  void check(const std::string &text, const std::vector<Tensor> &inputs, const std::vector<int64_t> &sizes = {},
             double tolerance = 2e-6, const std::string &meaning = "") {
    std::vector<int64_t> shape;
    std::vector<double> expected = judge(meaning.empty() ? text : meaning, inputs, shape);
    std::vector<double> actual = run(text, inputs, shape, sizes);
    ASSERT_EQ(actual.size(), expected.size());
    ASSERT_FALSE(expected.empty());
    double largest = 1e-30;
    for (double value : expected)
      if (std::isfinite(value))
        largest = std::max(largest, std::fabs(value));
    for (size_t n = 0; n < expected.size(); ++n)
      if (std::isnan(expected[n]))
        EXPECT_TRUE(std::isnan(actual[n])) << "element " << n << " is " << actual[n];
      else if (std::isinf(expected[n]))
        EXPECT_EQ(actual[n], expected[n]) << "element " << n;
      else
        EXPECT_LE(std::fabs(actual[n] - expected[n]), tolerance * largest)
            << "element " << n << " is " << actual[n] << ", not " << expected[n];
  }

  MLIRContext context;
};

TEST_F(GenericKernelTest, AttentionWithRelativeRows) {
  // Sizes that are no multiple of a vector.
  check(
      R"ir(func.func @f(%q: tensor<2x13x19xf32>, %k: tensor<2x13x19xf32>, %v: tensor<2x13x11xf32>, %t: tensor<25x19xf32>)
      -> tensor<2x13x11xf32> {
    %c = attn.einsum "h i d, h j d -> h i j" (%q, %k) : (tensor<2x13x19xf32>, tensor<2x13x19xf32>) -> tensor<2x13x13xf32>
    %r = attn.einsum "h i d, (j - i + 12) d -> h i j" sizes {j = 13 : i64} (%q, %t)
      : (tensor<2x13x19xf32>, tensor<25x19xf32>) -> tensor<2x13x13xf32>
    %s = arith.addf %c, %r : tensor<2x13x13xf32>
    %scale = arith.constant dense<0.23> : tensor<2x13x13xf32>
    %x = arith.mulf %s, %scale : tensor<2x13x13xf32>
    %p = attn.softmax "h i j" over "j" (%x) : tensor<2x13x13xf32>
    %o = attn.einsum "h i j, h j e -> h i e" (%p, %v) : (tensor<2x13x13xf32>, tensor<2x13x11xf32>) -> tensor<2x13x11xf32>
    return %o : tensor<2x13x11xf32> })ir",
      {normal({2, 13, 19}, 1), normal({2, 13, 19}, 2), normal({2, 13, 11}, 3), normal({25, 19}, 4)});
}

TEST_F(GenericKernelTest, MaskedNaNContributesNothing) {
  Tensor scores = normal({9, 9}, 1), values = normal({9, 35}, 2), gate = normal({9, 9}, 3);
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = i; j < 9; ++j)
      scores.values[i * 9 + j] = gate.values[i * 9 + j] = NAN;
  for (int64_t e = 0; e < 35; ++e)
    values.values[8 * 35 + e] = NAN; // no query sees key 8
  values.values[3 * 35 + 5] = NAN;   // queries 4 … 8 see this
  // Row 0 sees no key. The weights are scaled before the product.
  check(R"ir(func.func @f(%s: tensor<9x9xf32>, %v: tensor<9x35xf32>, %g: tensor<9x9xf32>) -> tensor<9x35xf32> {
    %p = attn.softmax "i j" over "j" where "j < i" (%s) : tensor<9x9xf32>
    %w = arith.mulf %p, %g : tensor<9x9xf32>
    %o = attn.einsum "i j, j e -> i e" (%w, %v) : (tensor<9x9xf32>, tensor<9x35xf32>) -> tensor<9x35xf32>
    return %o : tensor<9x35xf32> })ir",
        {scores, values, gate});
}

TEST_F(GenericKernelTest, AVisibleNaNIsSeen) {
  Tensor scores = normal({3, 4}, 1), values = normal({4, 9}, 2);
  scores.values[5] = NAN;
  scores.values[8] = std::numeric_limits<double>::infinity();
  check(R"ir(func.func @f(%s: tensor<3x4xf32>, %v: tensor<4x9xf32>) -> tensor<3x9xf32> {
    %p = attn.softmax "i j" over "j" where "j < 3" (%s) : tensor<3x4xf32>
    %o = attn.einsum "i j, j e -> i e" (%p, %v) : (tensor<3x4xf32>, tensor<4x9xf32>) -> tensor<3x9xf32>
    return %o : tensor<3x9xf32> })ir",
        {scores, values});
}

TEST_F(GenericKernelTest, GuardedReadsStayInside) {
  // Offsets outside -2 … 2 have no row; on the value side as well (Shaw's window without clamping).
  check(R"ir(func.func @f(%q: tensor<12x16xf32>, %a: tensor<5x16xf32>, %b: tensor<5x16xf32>) -> tensor<12x16xf32> {
    %s = attn.einsum "i d, (j - i + 2) d -> i j" where "abs(i - j) <= 2" sizes {j = 12 : i64} (%q, %a)
      : (tensor<12x16xf32>, tensor<5x16xf32>) -> tensor<12x12xf32>
    %p = attn.softmax "i j" over "j" (%s) : tensor<12x12xf32>
    %o = attn.einsum "i j, (j - i + 2) e -> i e" where "abs(i - j) <= 2" (%p, %b)
      : (tensor<12x12xf32>, tensor<5x16xf32>) -> tensor<12x16xf32>
    return %o : tensor<12x16xf32> })ir",
        {normal({12, 16}, 1), normal({5, 16}, 2), normal({5, 16}, 3)});
}

TEST_F(GenericKernelTest, IndexMapsOneAfterTheOther) {
  check(R"ir(func.func @f(%x: tensor<2x5x9xf32>) -> tensor<4x3x2x2xf32> {
    %a = attn.pad %x low [0, 0, 1] high [0, 0, 0] value -3.0 : tensor<2x5x9xf32> to tensor<2x5x10xf32>
    %b = attn.reshape %a : tensor<2x5x10xf32> to tensor<2x10x5xf32>
    %c = attn.slice %b offsets [0, 1, 0] strides [1, 1, 1] : tensor<2x10x5xf32> to tensor<2x5x5xf32>
    %d = attn.gather %c dimension 1 indices dense<[[4, 0, 1, 1], [2, 3, 0, 4], [0, 1, 2, 3]]> : tensor<3x4xi64>
      : tensor<2x5x5xf32> to tensor<2x3x4x5xf32>
    %e = attn.slice %d offsets [0, 0, 0, 0] strides [1, 1, 1, 4] : tensor<2x3x4x5xf32> to tensor<2x3x4x2xf32>
    %f = attn.rearrange "h a (x y) z -> (x h) a y z" sizes {x = 2 : i64} %e : tensor<2x3x4x2xf32> to tensor<4x3x2x2xf32>
    return %f : tensor<4x3x2x2xf32> })ir",
        {normal({2, 5, 9}, 1)});
}

TEST_F(GenericKernelTest, SkewAndPositionsAndConstants) {
  check(R"ir(func.func @f(%x: tensor<3x6x11xf32>) -> tensor<3x6x6xf32> {
    %s = attn.skew %x : tensor<3x6x11xf32> to tensor<3x6x6xf32>
    %distance = attn.position "i j" = "select(j < i, (i - j) floordiv 2, (j - i) * (i mod 3))" : tensor<6x6xf32>
    %slope = arith.constant dense<[0.5, -0.25, 2.0]> : tensor<3xf32>
    %bias = attn.einsum "i j, h -> h i j" (%distance, %slope) : (tensor<6x6xf32>, tensor<3xf32>) -> tensor<3x6x6xf32>
    %t = arith.subf %s, %bias : tensor<3x6x6xf32>
    %u = math.tanh %t : tensor<3x6x6xf32>
    %one = arith.constant dense<1.5> : tensor<3x6x6xf32>
    %w = arith.maximumf %u, %one : tensor<3x6x6xf32>
    %y = math.exp %u : tensor<3x6x6xf32>
    %z = arith.addf %w, %y : tensor<3x6x6xf32>
    return %z : tensor<3x6x6xf32> })ir",
        {normal({3, 6, 11}, 1)});
}

TEST_F(GenericKernelTest, RandomIndexExpressions) {
  // The emitted arithmetic against the reference's own evaluator; six expressions a kernel.
  subscript::testing::RandomExpr random(11);
  for (int kernel = 0; kernel < 8; ++kernel) {
    std::string text = "func.func @f(%x: tensor<6x5x7xf32>) -> tensor<6x5x7xf32> {\n";
    std::string sum = "%x";
    for (int n = 0; n < 6; ++n) {
      // Kept small, so that f32 holds it.
      std::string e = print(mod(n % 3 ? random.index(4) : random.predicate(3), subscript::Expr(1009)));
      std::string name = std::to_string(n);
      text += "%p" + name + " = attn.position \"i j k\" = \"" + e + "\" : tensor<6x5x7xf32>\n";
      text += "%s" + name + " = arith.addf " + sum + ", %p" + name + " : tensor<6x5x7xf32>\n";
      sum = "%s" + name;
    }
    check(text + "return " + sum + " : tensor<6x5x7xf32> }", {normal({6, 5, 7}, 1)});
    if (HasFailure())
      FAIL() << text;
  }
}

TEST_F(GenericKernelTest, RunTimeSizesInFront) {
  const char *text = R"ir(func.func @f(
      %x: tensor<?x3x8xf32> {attn.name = "x", attn.shape = ["batch", 3, 8]},
      %y: tensor<?x?x8xf32> {attn.name = "y", attn.shape = ["batch", "frames", 8]})
      -> (tensor<?x?x3xf32> {attn.shape = ["batch", "frames", 3]}) attributes {attn.sizes = ["frames", "batch"]} {
    %zero = arith.constant 0 : index
    %two = arith.constant 2.0 : f32
    %n = tensor.dim %x, %zero : tensor<?x3x8xf32>
    %twos = tensor.splat %two[%n] : tensor<?x3x8xf32>
    %a = arith.mulf %x, %twos : tensor<?x3x8xf32>
    %b = arith.addf %a, %a : tensor<?x3x8xf32>
    %s = attn.einsum "b j d, b i d -> b i j" (%b, %y) : (tensor<?x3x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x3xf32>
    %p = attn.softmax "b i j" over "j" (%s) : tensor<?x?x3xf32>
    %m = arith.negf %p : tensor<?x?x3xf32>
    return %m : tensor<?x?x3xf32> })ir";
  for (int64_t batch : {1, 3})
    for (int64_t frames : {1, 5})
      check(text, {normal({batch, 3, 8}, 1), normal({batch, frames, 8}, 2)}, {frames, batch});
}

TEST_F(GenericKernelTest, RunningSums) {
  // Running sums from both ends, with and without the element, along the last axis and another one, of products too, at
  // lengths near those of vectors and chains. Elements outside are not read.
  for (const char *guard : {"t <= i", "t < i", "i <= t", "t > i"})
    for (int64_t size : {1, 8, 19, 37, 600}) {
      std::string n = std::to_string(size), x = "tensor<2x" + n + "x45xf32>", g = "tensor<" + n + "xf32>";
      for (std::string result : {"b i d", "b d i"}) {
        std::string type = result == "b i d" ? x : "tensor<2x45x" + n + "xf32>";
        check("func.func @f(%x: " + x + ", %g: " + g + ") -> " + type + " {\n%r = attn.einsum \"b t d, t -> " + result +
                  "\" where \"" + guard + "\" sizes {i = " + n + " : i64} (%x, %g) : (" + x + ", " + g + ") -> " +
                  type + "\nreturn %r : " + type + " }",
              {normal({2, size, 45}, 1), normal({size}, 2)});
      }
      std::string line = "tensor<3x" + n + "xf32>";
      Tensor values = normal({3, size}, 3);
      values.values[size / 2] = NAN;
      check("func.func @f(%x: " + line + ") -> " + line + " {\n%r = attn.einsum \"b t -> b i\" where \"" +
                std::string(guard) + "\" sizes {i = " + n + " : i64} (%x) : (" + line + ") -> " + line +
                "\nreturn %r : " + line + " }",
            {values});
    }
}

TEST_F(GenericKernelTest, Extrema) {
  const std::pair<std::string, std::string> forms[] = {{"a b c -> a b", "2x67"},
                                                       {"a b c -> c a", "53x2"},
                                                       {"a b c -> ", ""},
                                                       {"(x y) b c -> b x", "67x1"},
                                                       {"a b c -> a b c", "2x67x53"}};
  for (bool least : {false, true})
    for (const auto &[spec, shape] : forms) {
      Tensor x = normal({2, 67, 53}, 1);
      for (double &value : x.values)
        value = least ? std::fabs(value) : -std::fabs(value); // all are on one side of 0
      x.values[3] = NAN, x.values[2 * 67 * 53 - 1] = least ? -7 : 7;
      std::string type = "tensor<" + shape + (shape.empty() ? "f32>" : "xf32>");
      check("func.func @f(%x: tensor<2x67x53xf32>) -> " + type + " {\n%r = attn.extremum " + (least ? "least " : "") +
                "\"" + spec + "\" " + (spec[0] == '(' ? "sizes {x = 1 : i64} " : "") +
                "(%x) : tensor<2x67x53xf32> -> " + type + "\nreturn %r : " + type + " }",
            {x});
    }
}

TEST_F(GenericKernelTest, ExtremaOfRunTimeSizes) {
  const char *text = R"ir(func.func @f(%x: tensor<?x5x11xf32> {attn.name = "x", attn.shape = ["batch", 5, 11]})
      -> (tensor<5x11xf32>) attributes {attn.sizes = ["batch"]} {
    %r = attn.extremum "b i j -> i j" (%x) : tensor<?x5x11xf32> -> tensor<5x11xf32>
    return %r : tensor<5x11xf32> })ir";
  for (int64_t batch : {1, 4})
    check(text, {normal({batch, 5, 11}, 1)}, {batch});
}

TEST_F(GenericKernelTest, ComparisonsChoose) {
  Tensor x = normal({9, 21}, 1), y = normal({9, 21}, 2);
  for (int64_t k = 0; k < 60; k += 3)
    y.values[k] = x.values[k]; // equal
  x.values[1] = y.values[2] = x.values[4] = y.values[4] = NAN;
  for (const char *symbol : {"<", "<=", "==", "!="})
    check(R"ir(func.func @f(%x: tensor<9x21xf32>, %y: tensor<9x21xf32>) -> tensor<9x21xf32> {
      %c = attn.apply ")ir" +
              std::string(symbol) +
              R"ir("(%x, %y) : tensor<9x21xf32>
      %two = arith.constant dense<2.0> : tensor<9x21xf32>
      %r = attn.apply "?:"(%c, %two, %y) : tensor<9x21xf32>
      return %r : tensor<9x21xf32> })ir",
          {x, y});
}

TEST_F(GenericKernelTest, NarrowTypesAreSummedWide) {
  for (std::string type : {"f16", "bf16"}) {
    std::string q = "tensor<5x64x" + type + ">", o = "tensor<5x9x" + type + ">", k = "tensor<9x64x" + type + ">";
    std::string text =
        "func.func @f(%q: " + q + ", %k: " + k + ") -> " + o + " {\n" +
        "%s = attn.einsum \"i d, j d -> i j\" (%q, %k) : (" + q + ", " + k + ") -> tensor<5x9xf32>\n" +
        "%p = attn.softmax \"i j\" over \"j\" (%s) : tensor<5x9xf32>\n%o = arith.truncf %p : tensor<5x9xf32> to " + o +
        "\nreturn %o : " + o + " }";
    ElementType element = type == "f16" ? ElementType::F16 : ElementType::BF16;
    std::vector<Tensor> inputs = {normal({5, 64}, 1), normal({9, 64}, 2)};
    for (Tensor &input : inputs)
      for (double &value : input.values)
        value = decode(encode(value * 0.1, element), element);
    check(text, inputs, {}, type == "f16" ? 6e-4 : 4e-3);
    inputs[0].values[70] = NAN; // stays one when rounded
    check(text, inputs, {}, type == "f16" ? 6e-4 : 4e-3);
  }
}

TEST_F(GenericKernelTest, AttentionAmongOtherOperations) {
  std::vector<Tensor> inputs = {normal({2, 10, 12}, 1), normal({12, 8}, 2), normal({2, 10, 8}, 3), normal({19, 8}, 4)};
  std::string head = R"ir(func.func @f(%x: tensor<?x10x12xf32> {attn.name = "x", attn.shape = ["batch", 10, 12]},
      %w: tensor<12x8xf32>, %v: tensor<?x10x8xf32> {attn.name = "v", attn.shape = ["batch", 10, 8]}, %t: tensor<19x8xf32>)
      -> (tensor<?x10x8xf32> {attn.shape = ["batch", 10, 8]}) attributes {attn.sizes = ["batch"]} {
    %q = attn.einsum "b n c, c d -> b n d" (%x, %w) : (tensor<?x10x12xf32>, tensor<12x8xf32>) -> tensor<?x10x8xf32>
)ir";
  std::string tail = R"ir(
    %r = arith.addf %o, %v : tensor<?x10x8xf32>
    return %r : tensor<?x10x8xf32> })ir";
  std::string fused = R"ir(
    %o = attn.attention "b (iy ix) (jy jx)" where "jx + 5 * jy <= ix + 5 * iy" sizes {iy = 2 : i64, ix = 5 : i64, jy = 2 : i64, jx = 5 : i64}
        value "b (jy jx) e -> b (iy ix) e" (%v) score {
      attn.term "b (iy ix) d, b (jy jx) d" (%q, %v) scale 2.5e-01 : tensor<?x10x8xf32>, tensor<?x10x8xf32>
      attn.term "b (iy ix) d, (jx - ix + 9) d" (%q, %t) scale 5.0e-01 where "jy == iy" : tensor<?x10x8xf32>, tensor<19x8xf32>
      attn.term "" () times "jy - iy" scale 1.25e-01
    } : tensor<?x10x8xf32> -> tensor<?x10x8xf32>
)ir";
  std::string written = R"ir(
    %c = attn.einsum "b (iy ix) d, b (jy jx) d -> b (iy ix) (jy jx)" sizes {iy = 2 : i64, ix = 5 : i64, jy = 2 : i64, jx = 5 : i64} (%q, %v)
      : (tensor<?x10x8xf32>, tensor<?x10x8xf32>) -> tensor<?x10x10xf32>
    %g = attn.einsum "b (iy ix) d, (jx - ix + 9) d -> b (iy ix) (jy jx)" where "jy == iy"
      sizes {iy = 2 : i64, ix = 5 : i64, jy = 2 : i64, jx = 5 : i64} (%q, %t)
      : (tensor<?x10x8xf32>, tensor<19x8xf32>) -> tensor<?x10x10xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %x, %zero : tensor<?x10x12xf32>
    %one = arith.constant 0.125 : f32
    %eighths = tensor.splat %one[%n] : tensor<?xf32>
    %p = attn.position "(iy ix) (jy jx)" = "jy - iy" sizes {ix = 5 : i64, jx = 5 : i64} : tensor<10x10xf32>
    %bias = attn.einsum "i j, b -> b i j" (%p, %eighths) : (tensor<10x10xf32>, tensor<?xf32>) -> tensor<?x10x10xf32>
    %quarter = arith.constant 0.25 : f32
    %half = arith.constant 0.5 : f32
    %quarters = tensor.splat %quarter[%n] : tensor<?x10x10xf32>
    %halves = tensor.splat %half[%n] : tensor<?x10x10xf32>
    %c4 = arith.mulf %c, %quarters : tensor<?x10x10xf32>
    %g2 = arith.mulf %g, %halves : tensor<?x10x10xf32>
    %s1 = arith.addf %c4, %g2 : tensor<?x10x10xf32>
    %s = arith.addf %s1, %bias : tensor<?x10x10xf32>
    %w8 = attn.softmax "b i j" over "j" where "j <= i" (%s) : tensor<?x10x10xf32>
    %o = attn.einsum "b i j, b j e -> b i e" (%w8, %v) : (tensor<?x10x10xf32>, tensor<?x10x8xf32>) -> tensor<?x10x8xf32>
)ir";
  check(head + fused + tail, inputs, {2}, 2e-6, head + written + tail);
  check(head + written + tail, inputs, {2});
}

// No fused kernel takes values that all batch rows share: the scores are computed row by row, with a value term and the
// lse.
TEST_F(GenericKernelTest, RowsOfScoresHaveAnLse) {
  std::vector<Tensor> inputs = {normal({3, 2, 5, 4}, 1), normal({2, 5, 3}, 2), normal({5, 3}, 3)};
  std::string head = R"ir(func.func @f(%q: tensor<?x2x5x4xf32> {attn.name = "q", attn.shape = ["batch", 2, 5, 4]},
      %v: tensor<2x5x3xf32>, %t: tensor<5x3xf32>) -> (tensor<?x2x5xf32> {attn.shape = ["batch", 2, 5]}) attributes {attn.sizes = ["batch"]} {
)ir";
  std::string fused = R"ir(
    %o, %lse = attn.attention "b h i j" where "j <= i" value "h j e -> b h i e" (%v) score {
      attn.term "b h i d, b h j d" (%q, %q) scale 1.0 : tensor<?x2x5x4xf32>, tensor<?x2x5x4xf32>
    } values {
      attn.term "j e" (%t) scale 1.0 : tensor<5x3xf32>
    } : tensor<2x5x3xf32> -> tensor<?x2x5x3xf32> lse tensor<?x2x5xf32>
    %r = attn.einsum "b h i e -> b h i" (%o) : (tensor<?x2x5x3xf32>) -> tensor<?x2x5xf32>
    %both = arith.addf %r, %lse : tensor<?x2x5xf32>
    return %both : tensor<?x2x5xf32> })ir";
  std::string written = R"ir(
    %s = attn.einsum "b h i d, b h j d -> b h i j" (%q, %q) : (tensor<?x2x5x4xf32>, tensor<?x2x5x4xf32>) -> tensor<?x2x5x5xf32>
    %lse = attn.logsumexp "b h i j" over "j" where "j <= i" (%s) : tensor<?x2x5x5xf32> -> tensor<?x2x5xf32>
    %p = attn.softmax "b h i j" over "j" where "j <= i" (%s) : tensor<?x2x5x5xf32>
    %a = attn.einsum "b h i j, h j e -> b h i" (%p, %v) : (tensor<?x2x5x5xf32>, tensor<2x5x3xf32>) -> tensor<?x2x5xf32>
    %b = attn.einsum "b h i j, j e -> b h i" (%p, %t) : (tensor<?x2x5x5xf32>, tensor<5x3xf32>) -> tensor<?x2x5xf32>
    %r = arith.addf %a, %b : tensor<?x2x5xf32>
    %both = arith.addf %r, %lse : tensor<?x2x5xf32>
    return %both : tensor<?x2x5xf32> })ir";
  check(head + fused, inputs, {3}, 2e-6, head + written);
}

TEST_F(GenericKernelTest, ArgumentsAndConstantsCanBeResults) {
  check(R"ir(func.func @f(%x: tensor<3x5xf32>) -> tensor<3x5xf32> { return %x : tensor<3x5xf32> })ir",
        {normal({3, 5}, 1)});
  check(R"ir(func.func @f(%x: tensor<3x5xf32>) -> tensor<2xf32> {
    %c = arith.constant dense<[1.0, 2.5]> : tensor<2xf32>
    return %c : tensor<2xf32> })ir",
        {normal({3, 5}, 1)});
}

TEST_F(GenericKernelTest, WhatIsNotLoweredIsNamed) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  auto module = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> { return %x : tensor<3xf64> }", &context);
  ASSERT_TRUE(module);
  PassManager manager(&context);
  manager.addPass(createAttnLowerGeneric());
  EXPECT_TRUE(failed(manager.run(*module)));
  EXPECT_NE(message.find("f32, f16, bf16, i32, i8 and f8E4M3FN"), std::string::npos) << message;
}

TEST(KernelPlanTest, WhatIsAttachedIsReadBack) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  EXPECT_FALSE(planOf(*module));
  KernelPlan plan;
  plan.name = "layer";
  plan.inputs = {{"q", ElementType::BF16, {{"batch", 1}, {"", 7}}}};
  plan.outputs = {{"o", ElementType::F16, {{"", 3}}}};
  plan.sizes = {"batch"};
  plan.phases = {{"layer_pack", "pack", {4, 0, {}}}, {"layer_attend", "attend", {0, 12, {"batch"}}}};
  plan.sharedBytes = {64, 128, {"batch"}};
  plan.localBytes = 192;
  ASSERT_TRUE(succeeded(attachPlan(*module, plan)));
  auto read = planOf(*module);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "layer");
  ASSERT_EQ(read->inputs.size(), 1u);
  EXPECT_EQ(read->inputs[0].name, "q");
  EXPECT_EQ(read->inputs[0].type, ElementType::BF16);
  ASSERT_EQ(read->inputs[0].shape.size(), 2u);
  EXPECT_EQ(read->inputs[0].shape[0].name, "batch");
  EXPECT_EQ(read->inputs[0].shape[1].fixed, 7);
  EXPECT_EQ(read->outputs.front().type, ElementType::F16);
  EXPECT_EQ(read->sizes, plan.sizes);
  ASSERT_EQ(read->phases.size(), 2u);
  EXPECT_EQ(read->phases[1].function, "layer_attend");
  EXPECT_EQ(read->phases[1].items.scaled, 12);
  EXPECT_EQ(read->phases[1].items.factors, plan.sizes);
  EXPECT_EQ(read->sharedBytes.fixed, 64);
  EXPECT_EQ(read->sharedBytes.scaled, 128);
  EXPECT_EQ(read->localBytes, 192);
}
} // namespace

TEST(KernelPlanTest, APlanThatBreaksAConstraintIsNotAttached) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  KernelPlan plan;
  plan.name = "layer";
  plan.outputs = {{"o", ElementType::F32, {{"batch", 1}}}};
  EXPECT_TRUE(failed(attachPlan(*module, plan)));
  EXPECT_NE(message.find("argument 'o' depends on 'batch', which is none of the kernel's sizes (plan_c8)"),
            std::string::npos)
      << message;
  EXPECT_FALSE(planOf(*module));
}
