// Plants mistakes into lowered GPU kernels, one after another, and says which of them nobody sees.
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tests/unit/GpuTesting.h"

namespace skewer::testing {

/// Changes the n-th place that it knows and returns it, or what stands there now; null if there is no such place.
using Spoil = llvm::function_ref<mlir::Operation *(mlir::gpu::GPUModuleOp, size_t)>;

/// Returns a Spoil that edits the n-th operation that `matches`.
template <typename Op>
auto editing(
    std::function<void(Op)> edit, std::function<bool(Op)> matches = [](Op) { return true; }) {
  return [=](mlir::gpu::GPUModuleOp module, size_t number) -> mlir::Operation * {
    Op found;
    module.walk([&](Op op) {
      if (!found && matches(op) && number-- == 0)
        found = op;
    });
    if (found)
      edit(found);
    return found;
  };
}
/// Returns a Spoil that erases the n-th operation that `matches`, and returns what stands behind it.
template <typename Op> auto dropping(std::function<bool(Op)> matches = [](Op) { return true; }) {
  return [=](mlir::gpu::GPUModuleOp module, size_t number) -> mlir::Operation * {
    mlir::Operation *next = nullptr;
    auto note = [&](Op op) { next = op->getNextNode(); };
    if (mlir::Operation *found = editing<Op>(note, matches)(module, number))
      found->erase();
    return next;
  };
}

/// Returns a number in front of an operation, of the type of one of its operands.
inline mlir::Value constantFor(mlir::Operation *op, unsigned operand, int64_t number) {
  mlir::OpBuilder b(op);
  mlir::Type type = op->getOperand(operand).getType();
  return mlir::LLVM::ConstantOp::create(b, op->getLoc(), type, b.getIntegerAttr(type, number));
}
/// Gives an operation a number in place of an operand.
inline void setConstant(mlir::Operation *op, unsigned operand, int64_t number) {
  op->setOperand(operand, constantFor(op, operand, number));
}
/// Combines an operand with a number by `Combine`.
template <typename Combine> void addTo(mlir::Operation *op, unsigned operand, int64_t number) {
  mlir::Value other = constantFor(op, operand, number);
  mlir::OpBuilder b(op);
  op->setOperand(operand, Combine::create(b, op->getLoc(), op->getOperand(operand), other));
}

/// A layer and its tile.
struct Subject {
  std::string text;
  GpuOptions options;
};
/// The number of places with a mistake, and the mistakes that no order of warps shows.
struct Planted {
  size_t places = 0;
  std::vector<std::string> missed;
  std::string text() const {
    std::string all = std::to_string(missed.size()) + " of " + std::to_string(places) + " are not seen:";
    for (const std::string &one : missed)
      all += "\n  " + one;
    return all;
  }
};

/// Plants one mistake after another, at most so many. `isSeen` judges the outcomes, for each order of the warps.
inline Planted plantEach(const Subject &subject, Spoil spoil, llvm::function_ref<bool(const GpuOutcome &)> isSeen,
                         size_t most, unsigned orders = 1) {
  Planted planted;
  GpuLayer compiled(subject.text);
  for (; planted.places < most; ++planted.places) {
    GpuOptions options = subject.options;
    GpuOutcome outcome = compiled.lower(options);
    EXPECT_TRUE(outcome.lowered) << outcome.messages;
    if (!outcome.lowered)
      return planted;
    bool found = false, caught = false;
    std::string what;
    options.spoil = [&](mlir::gpu::GPUModuleOp module) {
      if (mlir::Operation *place = spoil(module, planted.places)) {
        found = true;
        llvm::raw_string_ostream(what) << planted.places << ": " << *place;
      }
    };
    for (options.order = 0; options.order < orders && !caught; ++options.order) {
      compiled.interpret(options, outcome);
      options.spoil = nullptr;
      if (!found)
        return planted;
      caught = isSeen(outcome);
    }
    if (!caught)
      planted.missed.push_back("error " + std::to_string(outcome.error) + ", place " + what.substr(0, 300));
  }
  return planted;
}

} // namespace skewer::testing
