// Implements the base of all parts of the typer.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {

const Axis *Scope::axis(const std::string &name) const {
  for (const Axis &axis : axes)
    if (axis.name == name)
      return &axis;
  return nullptr;
}

typed::Tensor *TyperPart::append(const Node &node, typed::Operation operation, ArrayRef<typed::Tensor *> operands,
                                 const Dimensions &dimensions, typed::Element element) {
  return kernel.append({std::move(operation), operands.vec(), dimensions, element, node.text, diagnostics.openCalls()});
}

Value TyperPart::tensorValue(typed::Tensor *tensor, Dimensions dimensions) const {
  Value value;
  value.kind = ValueKind::Tensor;
  value.tensor = tensor;
  value.dimensions = std::move(dimensions);
  return value;
}

Value TyperPart::evaluate(const Node &node) { return typer.expressions.evaluate(node); }

Value TyperPart::error(StringRef place, const std::string &message) {
  diagnostics.error(place, message);
  return {};
}

const Axis *TyperPart::findAxis(const std::string &name) const { return scope ? scope->axis(name) : nullptr; }

} // namespace skewer::language
