// Runs functions in the float64 interpreter, for tests that compare a program before rewrites and after them.
#pragma once
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <gtest/gtest.h>
#include <random>

namespace skewer::testing {

/// Tests of modules whose first function is judged.
class RewriteTest : public ::testing::Test {
protected:
  RewriteTest() {
    context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                        mlir::tensor::TensorDialect>();
  }

  static mlir::func::FuncOp kernel(mlir::ModuleOp module) { return *module.getOps<mlir::func::FuncOp>().begin(); }

  static std::vector<reference::Tensor> randomInputs(mlir::func::FuncOp function, unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<reference::Tensor> inputs;
    for (mlir::Type type : function.getArgumentTypes()) {
      reference::Tensor tensor{attn::shapeOf(type), {}};
      for (int64_t k = 0; k < tensor.elements(); ++k)
        tensor.values.push_back(number(engine));
      inputs.push_back(std::move(tensor));
    }
    return inputs;
  }

  /// Returns all elements of the function's result.
  static std::vector<double> evaluate(mlir::func::FuncOp function, const std::vector<reference::Tensor> &inputs) {
    reference::Interpreter interpreter(function, inputs);
    std::vector<double> elements;
    for (const auto &leading : reference::sampleRows(interpreter.resultShape(), 1 << 20, 1)) {
      auto row = interpreter.row(leading);
      EXPECT_TRUE(row.has_value()) << row.reason;
      if (!row)
        return {};
      elements.insert(elements.end(), row->begin(), row->end());
    }
    return elements;
  }

  mlir::MLIRContext context;
};

} // namespace skewer::testing
