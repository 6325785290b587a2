// Verifiers of plugin functions: attn.apply, and the application in a term.
#include "dialect/IR/ElementFunction.h"
#include "dialect/IR/Verification.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Returns the function of that name with `count` arguments. Null after an error.
static const ElementFunction *verifyFunction(Operation *op, StringRef name, size_t count, StringRef known,
                                             StringRef counted) {
  const ElementFunction *function = findElementFunction(op->getContext(), name);
  if (!function) {
    op->emitOpError() << explainMissingFunction(op->getContext(), name) << " (" << known << ")";
    return nullptr;
  }
  if (function->arguments().size() == count)
    return function;
  op->emitOpError() << "gives '" << name << "' " << count << " arguments, expected " << function->arguments().size()
                    << ": " << signatureOf(*function) << " (" << counted << ")";
  return nullptr;
}

LogicalResult ApplyOp::verify() {
  return success(succeeded(verifyShapes(*this)) &&
                 verifyFunction(*this, getFunction(), getInputs().size(), "apply_c1", "apply_c2"));
}

LogicalResult skewer::attn::verifyApplication(TermOp op, const Einsum &spec, const std::set<std::string> &axes,
                                              const AxisSizes &sizes, const std::optional<Expr> &where) {
  if (!op.getFunction())
    return success();
  ArrayAttr arguments = op.getArgumentsAttr();
  if (!verifyFunction(op, *op.getFunction(), arguments ? arguments.size() : 0, "term_c6", "term_c6"))
    return failure();
  if (op.isValueSide())
    return op.emitOpError() << "applies '" << *op.getFunction()
                            << "' among the values; functions are for terms of the score (term_c6)";
  for (auto [place, attribute] : llvm::enumerate(arguments)) {
    StringRef text = cast<StringAttr>(attribute).getValue();
    std::string role = "argument " + std::to_string(place + 1) + " of '" + op.getFunction()->str() + "'";
    if (!text.starts_with("#")) {
      if (!verifyExpression(op, role, text, axes, sizes, where))
        return failure();
      continue;
    }
    auto argument = parseArgument(text, op.getInputs().size());
    if (!argument)
      return op.emitOpError() << role << ": '" << text << "' is no operand; the term has " << op.getInputs().size()
                              << ", from #0 on (term_c6)";
    for (const Dimension &dimension : spec.operands[argument->operand])
      for (const std::string &symbol : dimension.isProduct()
                                           ? std::set<std::string>(dimension.axes.begin(), dimension.axes.end())
                                           : symbolsOf(dimension.index))
        if (!axes.count(symbol))
          return op.emitOpError() << role << ": operand " << text << " has the axis '" << symbol
                                  << "', which is none of the score's (term_c6)";
  }
  return success();
}
