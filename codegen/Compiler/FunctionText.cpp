// Writes operators between their operands, with parentheses around weaker ones, and other operations as calls.
#include "codegen/Compiler/FunctionText.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/BuiltinFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>

using namespace mlir;

namespace skewer {
namespace {
enum Binding { Choice, Comparison, Sum, Product, Whole };
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

/// Returns the text of a comparison. Comparisons are 1 or 0, so a test that such a number is not 0 is printed as the
/// inner comparison itself.
Text comparisonText(arith::CmpFPredicate predicate, llvm::ArrayRef<Text> operands) {
  const char *sign = llvm::StringSwitch<const char *>(arith::stringifyCmpFPredicate(predicate).drop_front())
                         .Case("lt", "<")
                         .Case("le", "<=")
                         .Case("gt", ">")
                         .Case("ge", ">=")
                         .Case("eq", "==")
                         .Default("!=");
  if (operands[0].binding == Comparison && operands[1].text == "0" && llvm::StringRef(sign) == "!=")
    return operands[0];
  return operatorText({inParentheses(operands[0], Sum), Whole}, sign, {inParentheses(operands[1], Sum), Whole},
                      Comparison, true);
}

Text choiceText(llvm::ArrayRef<Text> operands) {
  if (operands[0].binding == Comparison && operands[1].text == "1" && operands[2].text == "0")
    return operands[0];
  return {fmt::format("{} if {} else {}", inParentheses(operands[1], Comparison), operands[0].text,
                      inParentheses(operands[2], Choice)),
          Choice};
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

/// Returns the texts of the operands for a comparison or a choice.
std::vector<std::string> namesOf(llvm::ArrayRef<Text> operands, Binding atLeast) {
  std::vector<std::string> names;
  for (const Text &operand : operands)
    names.push_back(inParentheses(operand, atLeast));
  return names;
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
      .Case([&](arith::CmpFOp comparison) { return comparisonText(comparison.getPredicate(), operands); })
      .Case([&](arith::SelectOp) { return choiceText(operands); })
      .Case([&](attn::ApplyOp apply) -> Text {
        bool isChoice = apply.getFunction() == attn::kChoice;
        if (auto text = attn::builtinText(apply.getFunction(), namesOf(operands, isChoice ? Comparison : Sum)))
          return {*text, isChoice ? Choice : Comparison};
        return callText(op, operands);
      })
      .Case([&](arith::NegFOp) -> Text { return {"-" + inParentheses(operands[0], Whole), Whole}; })
      .Default([&](Operation *) { return callText(op, operands); });
}

Text textOfValue(Value value, const std::function<std::string(Value)> &nameOf) {
  if (std::string name = nameOf(value); !name.empty())
    return {name, Whole};
  Operation *op = value.getDefiningOp();
  if (!op)
    return {"?", Whole};
  if (isa<arith::ExtFOp, arith::TruncFOp, tensor::SplatOp>(op))
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
  auto textOfOperand = [&](Value operand) { // constants may be outside the region
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

} // namespace skewer
