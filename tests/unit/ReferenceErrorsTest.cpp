// Tests what the float64 reference refuses: inputs that are not the kernel's, unknown operations, rows that do not
// exist. It gives an error, and no result.
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace {
using namespace mlir;
using namespace skewer::reference;

Tensor ones(std::vector<int64_t> shape) {
  Tensor tensor{std::move(shape), {}};
  tensor.values.assign(size_t(tensor.elements()), 1);
  return tensor;
}

class ReferenceErrors : public ::testing::Test {
protected:
  ReferenceErrors() {
    context.loadDialect<skewer::attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect,
                        tensor::TensorDialect>();
  }

  /// Returns the error of the row at these indices; empty if it is computed.
  std::string errorOf(const std::string &text, std::vector<Tensor> inputs, const std::vector<int64_t> &leading = {0},
                      size_t result = 0) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return "does not parse";
    Interpreter interpreter(*module->getOps<func::FuncOp>().begin(), std::move(inputs));
    auto row = interpreter.row(leading, result);
    EXPECT_EQ(row.has_value(), row.reason.empty());
    EXPECT_EQ(row.reason, interpreter.row(leading, result).reason) << "asked again it says the same";
    return row.reason;
  }
  std::string errorOfBody(const std::string &body, const std::string &type = "tensor<3x4xf32>") {
    return errorOf("func.func @f(%x: tensor<3x4xf32>) -> " + type + " {\n" + body + "\nreturn %r : " + type + "\n}",
                   {ones({3, 4})});
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr const char *kIdentity =
    "func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> { return %x : tensor<3x4xf32> }";

TEST_F(ReferenceErrors, InputsAreThoseOfTheKernel) {
  EXPECT_EQ(errorOf(kIdentity, {ones({3, 4})}), "");
  EXPECT_EQ(errorOf(kIdentity, {}), "the kernel has 1 arguments, got 0 inputs");
  EXPECT_EQ(errorOf(kIdentity, {ones({3, 4}), ones({1})}), "the kernel has 1 arguments, got 2 inputs");
  EXPECT_EQ(errorOf(kIdentity, {ones({12})}), "input 0 has the wrong rank");
  EXPECT_EQ(errorOf(kIdentity, {ones({3, 5})}), "input 0 has size 5 in dimension 1, the kernel wants 4");
  EXPECT_EQ(errorOf(kIdentity, {{{3, 4}, {1, 2, 3}}}), "input 0 has 3 elements, its shape 12");
}

TEST_F(ReferenceErrors, RowsAreThoseOfTheResult) {
  EXPECT_EQ(errorOf(kIdentity, {ones({3, 4})}, {2}), "");
  EXPECT_EQ(errorOf(kIdentity, {ones({3, 4})}, {}), "a row of this result has 1 leading indices, got 0");
  EXPECT_EQ(errorOf(kIdentity, {ones({3, 4})}, {0, 0}), "a row of this result has 1 leading indices, got 2");
  EXPECT_NE(errorOf(kIdentity, {ones({3, 4})}, {3}).find("there is no row"), std::string::npos);
  EXPECT_NE(errorOf(kIdentity, {ones({3, 4})}, {-1}).find("there is no row"), std::string::npos);
  EXPECT_EQ(errorOf(kIdentity, {ones({3, 4})}, {0}, 1), "there is no result 1");
}

TEST_F(ReferenceErrors, OperationsThatItDoesNotKnowAreNamed) {
  EXPECT_EQ(errorOfBody("%r = math.exp %x : tensor<3x4xf32>"), "");
  for (const char *body : {"%r = math.atan %x : tensor<3x4xf32>", "%r = math.acos %x : tensor<3x4xf32>",
                           "%y = tensor.empty() : tensor<3x4xf32>\n%r = arith.addf %x, %y : tensor<3x4xf32>",
                           "%r = arith.remf %x, %x : tensor<3x4xf32>"}) {
    std::string error = errorOfBody(body);
    EXPECT_FALSE(error.empty()) << body;
    std::string name = std::string(body).substr(5, std::string(body).find_first_of(" (", 5) - 5);
    EXPECT_EQ(error.find(name), 0u) << error << " of " << body;
  }
  EXPECT_NE(errorOfBody("%r = arith.constant dense<1> : tensor<3x4xi32>", "tensor<3x4xi32>").find("floating point"),
            std::string::npos);
}

TEST_F(ReferenceErrors, SizesAtRunTimeAreFound) {
  const char *position = R"ir(func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %r = attn.position "i j" = "j" : tensor<?x4xf32>
    return %r : tensor<?x4xf32> })ir";
  EXPECT_EQ(errorOf(position, {ones({3, 4}), ones({3, 4})}), "") << "all run-time sizes are one";
  EXPECT_NE(errorOf(position, {ones({3, 4}), ones({5, 4})}).find("run-time size is not known"), std::string::npos);
  const char *splat = R"ir(func.func @f(%x: tensor<?x4xf32>) -> tensor<?xf32> {
    %zero = arith.constant 0 : index
    %size = tensor.dim %x, %zero : tensor<?x4xf32>
    %twice = arith.addi %size, %size : index
    %one = arith.constant 1.0 : f32
    %r = tensor.splat %one[%twice] : tensor<?xf32>
    return %r : tensor<?xf32> })ir";
  EXPECT_NE(errorOf(splat, {ones({3, 4})}, {}).find("does not know this operation on integers"), std::string::npos);
}

TEST_F(ReferenceErrors, WhatIsReadOutsideIsSaid) {
  // The verifier refuses only what it can prove. Index operands promise a range, and their tensors may break the
  // promise.
  const char *read =
      R"ir(func.func @f(%t: tensor<5x4xf32>, %row: tensor<3xi32> {attn.name = "row", attn.range = array<i64: 0, 4>})
      -> tensor<3x4xf32> {
    %r = attn.einsum "(row[i]) d -> i d" sizes {i = 3 : i64} indices(row = %row : tensor<3xi32>) (%t)
        : (tensor<5x4xf32>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32> })ir";
  EXPECT_EQ(errorOf(read, {ones({5, 4}), {{3}, {0, 4, 2}}}, {1}), "");
  for (double outside : {-1.0, 5.0})
    EXPECT_FALSE(errorOf(read, {ones({5, 4}), {{3}, {0, outside, 2}}}, {1}).empty()) << outside;
}
} // namespace
