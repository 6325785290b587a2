// Operators between their operands, in parentheses where one binds weaker; other operations as calls.
#include "tools/skewer/FunctionText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>

using namespace mlir;

namespace skewer::driver {
namespace {
enum Binding { Sum, Product, Whole };
struct Text {
  std::string text;
  Binding binding = Whole;
};

std::string inParentheses(const Text &operand, Binding atLeast) {
  return operand.binding < atLeast ? "(" + operand.text + ")" : operand.text;
}

Text operatorText(const Text &left, const char *sign, const Text &right, Binding binding, bool associative) {
  Binding behind = associative || binding == Whole ? binding : static_cast<Binding>(binding + 1);
  return {fmt::format("{} {} {}", inParentheses(left, binding), sign, inParentheses(right, behind)), binding};
}

Text callText(Operation &op, llvm::ArrayRef<Text> operands) {
  llvm::StringRef name = op.getName().stripDialect();
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    name = "max";
  else if (isa<arith::MinimumFOp, arith::MinNumFOp>(op))
    name = "min";
  std::string text = name.str() + "(";
  for (size_t k = 0; k < operands.size(); ++k)
    text += (k ? ", " : "") + operands[k].text;
  return {text + ")", Whole};
}

Text textOf(Operation &op, llvm::ArrayRef<Text> operands) {
  return llvm::TypeSwitch<Operation *, Text>(&op)
      .Case([](arith::ConstantOp constant) -> Text {
        auto number = dyn_cast<FloatAttr>(constant.getValue());
        if (auto all = dyn_cast<SplatElementsAttr>(constant.getValue()))
          number = dyn_cast<FloatAttr>(all.getSplatValue<Attribute>());
        return {number ? fmt::format("{:.6g}", number.getValueAsDouble()) : "?", Whole};
      })
      .Case([&](arith::AddFOp) { return operatorText(operands[0], "+", operands[1], Sum, true); })
      .Case([&](arith::SubFOp) { return operatorText(operands[0], "-", operands[1], Sum, false); })
      .Case([&](arith::MulFOp) { return operatorText(operands[0], "*", operands[1], Product, true); })
      .Case([&](arith::DivFOp) { return operatorText(operands[0], "/", operands[1], Product, false); })
      .Case([&](arith::NegFOp) -> Text { return {"-" + inParentheses(operands[0], Whole), Whole}; })
      .Default([&](Operation *) { return callText(op, operands); });
}

Text textOfValue(Value value, const std::function<std::string(Value)> &nameOf) {
  if (std::string name = nameOf(value); !name.empty())
    return {name, Whole};
  Operation *op = value.getDefiningOp();
  if (!op)
    return {"?", Whole};
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return textOfValue(op->getOperand(0), nameOf);
  llvm::SmallVector<Text> operands;
  for (Value operand : op->getOperands())
    operands.push_back(textOfValue(operand, nameOf));
  return textOf(*op, operands);
}
} // namespace

std::string textOfTensor(Value value, const std::function<std::string(Value)> &nameOf) {
  return textOfValue(value, nameOf).text;
}

std::string textOfFunction(Region &through, const std::vector<std::string> &sums) {
  Block &block = through.front();
  llvm::DenseMap<Value, Text> texts;
  for (auto [argument, name] : llvm::zip(block.getArguments(), sums))
    texts[argument] = {name, Whole};
  auto textOfOperand = [&](Value operand) { // constants may stand outside
    auto constant = operand.getDefiningOp<arith::ConstantOp>();
    return constant ? textOf(*constant, {}) : texts.lookup(operand);
  };
  for (Operation &op : block.without_terminator()) {
    llvm::SmallVector<Text> operands;
    for (Value operand : op.getOperands())
      operands.push_back(textOfOperand(operand));
    texts[op.getResult(0)] = textOf(op, operands);
  }
  return textOfOperand(block.getTerminator()->getOperand(0)).text;
}

} // namespace skewer::driver
