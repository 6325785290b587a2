// Collects the parts of a layer's texts that masks may simplify.
#include "passes/Fusion/VaryingMasks.h"
#include "dialect/IR/Attn.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;
using subscript::Kind;

/// Adds the largest parts of the expression that depend on the order of numbers, or on a quotient.
static void collect(const Expr &e, std::vector<std::string> &parts) {
  switch (e.kind()) {
  case Kind::Constant:
  case Kind::Symbol:
    return;
  case Kind::Add:
  case Kind::Mul:
  case Kind::Table:
  case Kind::Read:
    for (const Expr &operand : e.operands())
      collect(operand, parts);
    return;
  default:
    parts.push_back(subscript::print(e));
  }
}

static std::vector<std::string> decisionsOf(func::FuncOp layer) {
  std::vector<std::string> parts;
  auto collectText = [&](StringRef text) {
    if (auto e = subscript::parse(std::string_view(text)))
      collect(*e, parts);
  };
  layer.walk([&](Operation *op) {
    for (const char *name : {"mask", "guard"})
      if (auto text = op->getAttrOfType<StringAttr>(name))
        parts.push_back(text.getValue().str());
    if (auto position = dyn_cast<attn::PositionOp>(op))
      collectText(position.getExpression());
    if (auto einsum = dyn_cast<attn::EinsumOp>(op))
      if (auto spec = subscript::parseEinsum(std::string_view(einsum.getSpec())))
        for (const subscript::Dimensions &operand : spec->operands)
          for (const subscript::Dimension &dimension : operand)
            if (!dimension.isProduct())
              collect(dimension.index, parts);
  });
  return parts;
}

bool skewer::decideByLengths(ArrayRef<func::FuncOp> layers) {
  std::vector<std::string> first = decisionsOf(layers[0]);
  return llvm::any_of(layers.drop_front(), [&](func::FuncOp layer) { return decisionsOf(layer) != first; });
}
