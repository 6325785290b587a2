// Rewrites the texts of operations that name axes.
#include "dialect/IR/Texts.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
enum class TextKind { Einsum, Dimensions, Expression };
struct TextAttribute {
  StringLiteral name;
  TextKind kind;
};
/// The attributes that hold texts. An attribute of one name is a text of one kind, whichever operation has it.
constexpr TextAttribute kTexts[] = {
    {"spec", TextKind::Einsum},      {"subscripts", TextKind::Einsum},   {"value_spec", TextKind::Einsum},
    {"axes", TextKind::Dimensions},  {"over", TextKind::Dimensions},     {"space", TextKind::Dimensions},
    {"mask", TextKind::Expression},  {"guard", TextKind::Expression},    {"expression", TextKind::Expression},
    {"value", TextKind::Expression}, {"arguments", TextKind::Expression}};

/// Returns the rewritten text; the text itself if it does not parse, such as "#0", the operand that is an argument.
std::string rewritten(StringRef text, TextKind kind, const TextRewrite &rewrite) {
  std::string_view view(text);
  if (kind == TextKind::Expression) {
    auto expression = parse(view);
    return expression ? print(rewrite.expression(*expression)) : text.str();
  }
  if (kind == TextKind::Dimensions) {
    auto dimensions = parseDimensions(view);
    return dimensions ? print(rewrite.dimensions(std::move(*dimensions))) : text.str();
  }
  auto spec = parseEinsum(view);
  if (!spec)
    return text.str();
  for (Dimensions &operand : spec->operands)
    operand = rewrite.dimensions(std::move(operand));
  if (spec->result)
    spec->result = rewrite.dimensions(std::move(*spec->result));
  return print(*spec);
}
} // namespace

void skewer::attn::rewriteTexts(Operation *op, const TextRewrite &rewrite) {
  for (const TextAttribute &text : kTexts) {
    auto replaced = [&](StringAttr before) -> Attribute {
      return StringAttr::get(op->getContext(), rewritten(before.getValue(), text.kind, rewrite));
    };
    Attribute attribute = op->getAttr(text.name);
    if (auto one = dyn_cast_or_null<StringAttr>(attribute))
      op->setAttr(text.name, replaced(one));
    else if (auto several = dyn_cast_or_null<ArrayAttr>(attribute))
      op->setAttr(text.name,
                  ArrayAttr::get(op->getContext(), llvm::map_to_vector(several.getAsRange<StringAttr>(), replaced)));
  }
}

static const std::string &newNameOf(const std::string &axis, const AxisRenaming &names) {
  auto name = names.find(axis);
  return name == names.end() ? axis : name->second;
}

Expr skewer::attn::renamed(const Expr &expression, const AxisRenaming &names) {
  Substitution substitution;
  for (const auto &[axis, name] : names)
    substitution[axis] = Expr::symbol(name);
  return substitute(expression, substitution);
}

Dimensions skewer::attn::renamed(Dimensions dimensions, const AxisRenaming &names) {
  for (Dimension &dimension : dimensions) {
    for (std::string &axis : dimension.axes)
      axis = newNameOf(axis, names);
    dimension.index = renamed(dimension.index, names);
  }
  return dimensions;
}

void skewer::attn::renameAxes(Operation *op, const AxisRenaming &names) {
  rewriteTexts(op, {[&](Dimensions dimensions) { return renamed(std::move(dimensions), names); },
                    [&](const Expr &expression) { return renamed(expression, names); }});
  auto before = op->getAttrOfType<DictionaryAttr>("sizes");
  if (!before)
    return;
  AxisSizes sizes;
  for (const auto &[axis, size] : sizesFrom(before))
    sizes[newNameOf(axis, names)] = size;
  if (!sizes.empty())
    op->setAttr("sizes", sizesTo(op->getContext(), sizes));
}
