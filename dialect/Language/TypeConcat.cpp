// concat: joins tensors one after another along a dimension.
#include "dialect/Language/Typer.h"
#include "dialect/Subscript/Arithmetic.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// Adds the conditions of a part that begins at `start` to those of the whole. They apply only inside the part.
void Moves::joinPart(Value &whole, const Value &part, size_t along, int64_t start) const {
  if (part.present.empty() && part.finite.empty())
    return;
  std::string name = placeName(along);
  Expr index = Expr::symbol(name);
  Value moved;
  moved.dimensions = whole.dimensions;
  typer.absent.moveConditions(moved, part, {{name, index - Expr(start)}});
  Expr before = less(index, Expr(start)), behind = lessEqual(Expr(start + part.dimensions[along].size), index);
  auto add = [&](Conditions &all, Conditions own) {
    for (Condition &condition : own) {
      condition.holds = logicalOr(logicalOr(before, behind), condition.holds);
      all.push_back(std::move(condition));
    }
  };
  add(whole.present, std::move(moved.present));
  add(whole.finite, std::move(moved.finite));
}

/// Evaluates concat(a, b, …, dim = k). In the other dimensions, a part of size 1 is repeated, and missing dimensions
/// are put in front.
Value Moves::typeConcat(const Node &node) {
  StringRef usage = "concat(a, b, dim = 1)";
  if (!typer.expressions.checkArguments(node, 1, SIZE_MAX, {"dim"}, usage))
    return {};
  std::vector<Value> parts;
  size_t rank = 0;
  bool sameType = true;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    auto part = typer.expressions.tensorArgument(node, k, /*movesElements=*/true);
    if (!part)
      return {};
    rank = std::max(rank, part->dimensions.size());
    parts.push_back(std::move(*part));
    sameType &= parts[k].tensor->element == parts[0].tensor->element;
  }
  int64_t along = 0;
  const Node *place = typer.expressions.keyword(node, "dim");
  if (place) {
    auto given = typer.expressions.evaluateWhole(*place, "'dim'");
    if (!given)
      return {};
    along = *given < 0 ? *given + static_cast<int64_t>(rank) : *given;
  }
  if (along < 0 || along >= static_cast<int64_t>(rank))
    return error(place ? place->text : node.text,
                 "the tensors have " + std::to_string(rank) +
                     " dimensions, counted from 0; found dim = " + std::to_string(along));
  // The dimensions that every part must have, except the joined one.
  Dimensions common(rank, Dimension{1, "", {}});
  int64_t total = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (!sameType)
      parts[k] = typer.arithmetic.widen(*node.operands[k], parts[k]);
    const Dimensions &own = parts[k].dimensions;
    for (size_t d = 0; d < own.size(); ++d) {
      size_t at = d + rank - own.size();
      if (static_cast<int64_t>(at) == along) {
        if (own[d].isRuntime())
          return error(node.operands[k]->text, "tensors are joined along a size known at compile time, but dimension " +
                                                   std::to_string(at) + " has the run-time size '" + own[d].runtime +
                                                   "'");
        auto sum = subscript::checkedAdd(total, own[d].size);
        if (!sum)
          return error(node.operands[k]->text, "the size of the result does not fit 64 bits");
        total = *sum;
      } else if (common[at].size == 1 && !common[at].isRuntime()) {
        common[at] = own[d];
      } else if ((own[d].size != 1 || own[d].isRuntime()) &&
                 (own[d].size != common[at].size || own[d].runtime != common[at].runtime)) {
        auto size = [](const Dimension &d) { return d.isRuntime() ? d.runtime : std::to_string(d.size); };
        return error(node.operands[k]->text,
                     "dimension " + std::to_string(at) + " has size " + size(own[d]) + ", but " + size(common[at]) +
                         " in a part before; only along dim = " + std::to_string(along) + " may sizes differ");
      }
    }
    if (static_cast<int64_t>(rank - own.size()) > along)
      ++total; // a missing dimension has size 1
  }
  Value target;
  target.kind = ValueKind::Tensor;
  target.dimensions = common;
  std::vector<typed::Tensor *> inputs;
  for (size_t k = 0; k < parts.size(); ++k) {
    const Dimensions &own = parts[k].dimensions;
    int64_t missing = static_cast<int64_t>(rank - own.size());
    target.dimensions[along].size = along < missing ? 1 : own[along - missing].size;
    if (!typer.arithmetic.alignByPosition(*node.operands[k], parts[k], target))
      return {};
    inputs.push_back(parts[k].tensor);
  }
  if (inputs.size() == 1)
    return parts[0];
  common[along] = {total, "", {}};
  Value result = tensorValue(append(node, typed::Concat{along}, inputs, common, inputs[0]->element), common);
  int64_t start = 0;
  for (const Value &part : parts) {
    joinPart(result, part, size_t(along), start);
    start += part.dimensions[along].size;
  }
  return result;
}

} // namespace skewer::language
