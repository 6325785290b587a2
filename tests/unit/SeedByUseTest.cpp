// Tests the use of an operand in a text, and the numbers that `run` seeds it with.
#include "tools/skewer/SeedByUse.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/KernelPlan.h"
#include "dialect/Language/Language.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace skewer;
using namespace skewer::driver;

namespace {

struct SeedByUse : testing::Test {
  SeedByUse() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::tensor::TensorDialect>();
  }
  mlir::func::FuncOp layer(const std::string &weights, const std::string &operand) {
    std::string text = "param N = 12, heads = 2, dim = 8\nsize batch\nkernel layer(q, k, v : f32[batch, heads, N, dim], " +
                       operand + ") -> f32[batch, heads, N, dim] {\n" +
                       "  s = einsum(\"b h i d, b h j d -> b h i j\", q, k) * dim^-0.5\n" +
                       "  return einsum(\"b h i j, b h j d -> b h i d\", " + weights + ", v)\n}\n";
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
    module = language::importSource(sources, {}, &context, llvm::errs());
    EXPECT_TRUE(module) << text;
    return *module->getOps<mlir::func::FuncOp>().begin();
  }
  OperandUse useOf(const std::string &weights, const std::string &operand) {
    return usesOf(layer(weights, operand)).back();
  }
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(SeedByUse, FollowsTheText) {
  const std::string keys = "x : f32[batch, N]", pairs = "x : f32[N, N]";
  EXPECT_EQ(useOf("softmax(s + (1 - x) * -1e9)", pairs), OperandUse::Mask);
  EXPECT_EQ(useOf("softmax(s - ((x - 1) / 1e-9)[:, None, None, :])", keys), OperandUse::Mask);
  EXPECT_EQ(useOf("softmax(s * (1 - x)[b, j])", keys), OperandUse::Gate);
  EXPECT_EQ(useOf("softmax(s - (x[b, i] - x[b, j])^2 / 800)", keys), OperandUse::Times);
  EXPECT_EQ(useOf("softmax(s + x)", pairs), OperandUse::Additive);
  EXPECT_EQ(useOf("softmax(s + x)", "x : f32[heads, N, N]"), OperandUse::Any); // a bias of each head
  EXPECT_EQ(useOf("softmax(s + (y - x))", "y, x : f32[heads, N, N]"), OperandUse::Far);
  // Arguments of exponentials stay small, and so do operands whose use is unknown.
  EXPECT_EQ(useOf("s * exp(x[b, i] - x[b, j])", keys), OperandUse::Any);
  EXPECT_EQ(useOf("softmax(s * x[b, j])", keys), OperandUse::Any);
}

TEST_F(SeedByUse, NumbersAreThoseOfTheUse) {
  mlir::func::FuncOp function = layer("softmax(s + (1 - x) * -1e9)", "x : f32[N, N]");
  KernelPlan plan = signatureOf(function);
  auto operands = prepareOperands(plan, {}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(operands));
  std::vector<double> before = operands->inputs[0].values;
  seedByUse(*operands, plan, function);
  EXPECT_EQ(operands->inputs[0].values, before);
  const std::vector<double> &mask = operands->inputs[3].values;
  size_t ones = size_t(std::count(mask.begin(), mask.end(), 1)), zeros = size_t(std::count(mask.begin(), mask.end(), 0));
  EXPECT_EQ(ones + zeros, mask.size());
  EXPECT_GT(zeros, 0u);
  EXPECT_GT(ones, zeros);

  function = layer("softmax(s - (x[b, i] - x[b, j])^2 / 800)", "x : f32[batch, N]");
  plan = signatureOf(function);
  operands = prepareOperands(plan, {}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(operands));
  seedByUse(*operands, plan, function);
  const std::vector<double> &times = operands->inputs[3].values;
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_GE(times.front(), 1000);
}
/// A declared spread, and values of files, stay as they are.
TEST_F(SeedByUse, WhatIsDeclaredStays) {
  mlir::func::FuncOp function = layer("softmax(s + (1 - x) * -1e9)", "x : f32[N, N] ~ 0..0.5");
  KernelPlan plan = signatureOf(function);
  auto operands = prepareOperands(plan, {}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(operands));
  std::vector<double> before = operands->inputs[3].values;
  seedByUse(*operands, plan, function);
  EXPECT_EQ(operands->inputs[3].values, before);
}
} // namespace
