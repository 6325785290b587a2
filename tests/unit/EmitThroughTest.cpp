// Tests the function of a score on numbers and on vectors, and the functions of phases.
#include "passes/Emit/EmitThrough.h"
#include "EmittedTesting.h"
#include "mlir/IR/Verifier.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Emit/PhaseFunction.h"
#include <cmath>

using namespace skewer;
using mlir::Value;
using skewer::testing::runEmitted;
namespace arith = mlir::arith;

namespace {

/// max(2·x - y, 0.25) of two sums; the 2 is outside the region.
struct Function {
  explicit Function(mlir::ImplicitLocOpBuilder &b) {
    Value two = arith::ConstantOp::create(b, b.getF32FloatAttr(2));
    mlir::OpBuilder::InsertionGuard guard(b);
    mlir::Block *block = b.createBlock(&region, {}, {b.getF32Type(), b.getF32Type()}, {b.getLoc(), b.getLoc()});
    Value least = arith::ConstantOp::create(b, b.getF32FloatAttr(0.25f));
    Value difference =
        arith::SubFOp::create(b, arith::MulFOp::create(b, block->getArgument(0), two), block->getArgument(1));
    mlir::func::ReturnOp::create(b, arith::MaximumFOp::create(b, difference, least).getResult());
  }
  mlir::Region region;
};
float expected(float x, float y) { return std::max(2 * x - y, 0.25f); }

TEST(EmitThrough, OfNumbersAndOfVectorsIsTheSame) {
  auto got = runEmitted(4 + 4 + 1, [&](VectorBuilder &b, Value out) {
    Function function(b.builder);
    Value x = arith::SIToFPOp::create(b.builder, b.vector, laneNumbers(b));
    b.store(emitThrough(b.builder, function.region, {x, b.constant(1.5f)}), out, b.index(0));
    b.loop(b.index(0), b.index(4), 1, [&](Value n) {
      Value number = emitThrough(b.builder, function.region, {b.number(n), b.constantScalar(1.5f)});
      b.storeScalar(number, out, b.add(n, 4));
    });
    Value wide = emitThrough(b.builder, function.region, {b.widen(b.constantScalar(3)), b.widen(b.constantScalar(1))});
    EXPECT_TRUE(wide.getType().isF64());
    b.storeScalar(b.narrow(wide), out, b.index(8));
  });
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(got[n], expected(float(n), 1.5f));
    EXPECT_EQ(got[4 + n], expected(float(n), 1.5f));
  }
  EXPECT_EQ(got[8], expected(3, 1));
}

/// The emitter asks for a better way to compute each operation, with its arguments.
TEST(EmitThrough, OperationsMayBeComputedInAnotherWay) {
  std::vector<std::string> asked;
  auto got = runEmitted(1, [&](VectorBuilder &b, Value out) {
    Function function(b.builder);
    auto own = [&](mlir::Operation *op, mlir::ValueRange operands) -> Value {
      asked.push_back(op->getName().getStringRef().str());
      return mlir::isa<arith::MaximumFOp>(op) ? b.addf(operands[0], b.constantScalar(100)) : Value();
    };
    b.storeScalar(emitThrough(b.builder, function.region, {b.constantScalar(3), b.constantScalar(1)}, own), out,
                  b.index(0));
  });
  EXPECT_EQ(asked, (std::vector<std::string>{"arith.mulf", "arith.subf", "arith.maximumf"}));
  EXPECT_EQ(got[0], 105);
}

TEST(EmitThrough, WithoutAFunctionTheFirstSumIsTheScore) {
  runEmitted(1, [&](VectorBuilder &b, Value out) {
    mlir::Region none;
    Value x = b.constantScalar(3);
    EXPECT_EQ(emitThrough(b.builder, none, {x, b.constantScalar(4)}), x);
    b.storeScalar(x, out, b.index(0));
  });
}

TEST(PhaseFunction, IsCalledWithWhatThePlanSays) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, arith::ArithDialect, mlir::memref::MemRefDialect>();
  mlir::ImplicitLocOpBuilder builder(mlir::UnknownLoc::get(&context), &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder.getLoc());
  KernelPlan plan;
  plan.name = "layer";
  plan.inputs = {{"q", ElementType::BF16, {{"batch", 0}, {"", 8}}, std::nullopt},
                 {"rows", ElementType::I32, {{"", 4}}, std::nullopt}};
  plan.outputs = {{"o", ElementType::F16, {{"batch", 0}}, std::nullopt}};
  plan.sizes = {"batch", "pages"};
  PhaseFunction first = createPhase(builder, *module, plan, "pack"),
                second = createPhase(builder, *module, plan, "pack"),
                third = createPhase(builder, *module, plan, "pack");
  EXPECT_EQ(first.function.getSymName(), "layer_pack");
  EXPECT_EQ(second.function.getSymName(), "layer_pack_2");
  EXPECT_EQ(third.function.getSymName(), "layer_pack_3");
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
  auto elementOf = [](Value memory) { return mlir::cast<mlir::MemRefType>(memory.getType()).getElementType(); };
  ASSERT_EQ(third.inputs.size(), 2u);
  EXPECT_TRUE(elementOf(third.inputs[0]).isBF16());
  EXPECT_TRUE(elementOf(third.inputs[1]).isInteger(32));
  ASSERT_EQ(third.outputs.size(), 1u);
  EXPECT_TRUE(elementOf(third.outputs[0]).isF16());
  EXPECT_TRUE(elementOf(third.shared).isInteger(8));
  EXPECT_TRUE(elementOf(third.local).isInteger(8));
  EXPECT_TRUE(third.begin.getType().isIndex() && third.end.getType().isIndex());
  EXPECT_EQ(third.function.getNumArguments(), 2u + 1 + 2 + 4);
  EXPECT_EQ(third.end, third.function.getArgument(8));
  // Extents of run-time size are arguments of the phase; others are numbers.
  EXPECT_EQ(extentIn(third, builder, plan, {"pages", 0}), third.sizes[1]);
  auto number = extentIn(third, builder, plan, {"", 8}).getDefiningOp<arith::ConstantIndexOp>();
  ASSERT_TRUE(number);
  EXPECT_EQ(number.value(), 8);
}
} // namespace
