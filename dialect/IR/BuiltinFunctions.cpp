// Functions of single numbers that the language itself calls: comparisons, and the choice between two numbers. Their
// names are operators, so no function of a specification or a plugin can have the same name.
#include "dialect/IR/BuiltinFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace skewer::attn {

namespace {
Value constantLike(OpBuilder &b, Location at, Value like, double number) {
  FloatAttr scalar = b.getF32FloatAttr(static_cast<float>(number));
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    return arith::ConstantOp::create(b, at, DenseElementsAttr::get(vector, scalar.getValue()));
  return arith::ConstantOp::create(b, at, scalar);
}

/// A comparison: 1 if it holds, else 0. A NaN is unequal to everything, and neither less nor greater.
class Comparison : public ElementFunction {
public:
  Comparison(StringRef symbol, arith::CmpFPredicate predicate, bool (*holds)(double, double))
      : symbol(symbol), predicate(predicate), holds(holds) {}
  StringRef name() const override { return symbol; }
  ArrayRef<StringLiteral> arguments() const override {
    static constexpr StringLiteral names[] = {"left", "right"};
    return names;
  }
  double evaluate(ArrayRef<double> x) const override { return holds(x[0], x[1]); }
  Value emit(OpBuilder &b, Location at, ValueRange x) const override {
    Value one = arith::CmpFOp::create(b, at, predicate, x[0], x[1]);
    return arith::SelectOp::create(b, at, one, constantLike(b, at, x[0], 1), constantLike(b, at, x[0], 0));
  }

private:
  StringRef symbol;
  arith::CmpFPredicate predicate;
  bool (*holds)(double, double);
};

/// The choice: the second argument if the first is not 0, else the third. The argument that is not chosen may be a NaN.
class Choice : public ElementFunction {
public:
  StringRef name() const override { return kChoice; }
  ArrayRef<StringLiteral> arguments() const override {
    static constexpr StringLiteral names[] = {"condition", "yes", "no"};
    return names;
  }
  double evaluate(ArrayRef<double> x) const override { return x[0] != 0 ? x[1] : x[2]; }
  Value emit(OpBuilder &b, Location at, ValueRange x) const override {
    Value chosen = arith::CmpFOp::create(b, at, arith::CmpFPredicate::UNE, x[0], constantLike(b, at, x[0], 0));
    return arith::SelectOp::create(b, at, chosen, x[1], x[2]);
  }
};
} // namespace

void addBuiltinFunctions(ElementFunctions &functions) {
  using Predicate = arith::CmpFPredicate;
  functions.add(std::make_unique<Comparison>("<", Predicate::OLT, [](double a, double b) { return a < b; }));
  functions.add(std::make_unique<Comparison>("<=", Predicate::OLE, [](double a, double b) { return a <= b; }));
  functions.add(std::make_unique<Comparison>("==", Predicate::OEQ, [](double a, double b) { return a == b; }));
  functions.add(std::make_unique<Comparison>("!=", Predicate::UNE, [](double a, double b) { return a != b; }));
  functions.add(std::make_unique<Choice>());
}

std::optional<std::string> builtinText(StringRef name, ArrayRef<std::string> operands) {
  if (name == kChoice && operands.size() == 3)
    return operands[1] + " if " + operands[0] + " else " + operands[2];
  if (isBuiltinFunction(name) && operands.size() == 2)
    return operands[0] + " " + name.str() + " " + operands[1];
  return std::nullopt;
}

bool isBuiltinFunction(StringRef name) { return !name.empty() && !llvm::isAlpha(name[0]); }

} // namespace skewer::attn
