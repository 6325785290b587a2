// Run-time sizes with a bound: reads the extents that operations and arguments declare.
#include "dialect/IR/Attn.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

Expr skewer::attn::readOfLength(const std::string &name) { return Expr::read(name, {Expr(0)}); }

/// Parses "2*N - 1" and replaces the names of lengths by reads of their elements.
static Expr extentFrom(StringRef text) {
  auto parsed = parse(std::string_view(text));
  if (!parsed)
    return Expr(kRuntime);
  Substitution lengths;
  for (const std::string &name : symbolsOf(*parsed))
    lengths[name] = readOfLength(name);
  return substitute(*parsed, lengths);
}

std::vector<Expr> skewer::attn::extentsOf(Value value) {
  std::vector<Expr> extents;
  for (int64_t size : shapeOf(value))
    extents.push_back(Expr(size));
  ArrayAttr stated;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
    stated = function ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "attn.shape") : ArrayAttr();
  } else {
    stated = value.getDefiningOp()->getAttrOfType<ArrayAttr>(kExtents);
  }
  for (size_t d = 0; stated && d < stated.size() && d < extents.size(); ++d)
    if (auto text = dyn_cast<StringAttr>(stated[d]); text && !extents[d].isConstant(kRuntime))
      extents[d] = extentFrom(text.getValue());
  return extents;
}

Substitution skewer::attn::axisExtentsOf(Operation *op) {
  Substitution extents;
  if (auto stated = op->getAttrOfType<DictionaryAttr>(kAxisExtents))
    for (NamedAttribute axis : stated)
      if (auto text = dyn_cast<StringAttr>(axis.getValue()))
        extents[axis.getName().str()] = extentFrom(text.getValue());
  return extents;
}
