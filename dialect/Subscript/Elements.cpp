// Elements of run-time operands: replaces them by symbols, and finds which of them an expression reads.
#include "dialect/Subscript/Elements.h"

namespace skewer::subscript {

std::string elementsOf(const std::string &operand) { return operand + "[]"; } // no parsed symbol has this name

static void collect(const Expr &e, std::set<const void *> &seen, const std::function<bool(const Expr &)> &enter) {
  if (e.operands().empty() || !seen.insert(e.identity()).second || !enter(e))
    return;
  for (const Expr &operand : e.operands())
    collect(operand, seen, enter);
}

std::set<std::string> readsOf(const Expr &e) {
  std::set<std::string> names;
  std::set<const void *> seen;
  collect(e, seen, [&](const Expr &node) {
    if (node.kind() == Kind::Read)
      names.insert(node.name());
    return true;
  });
  return names;
}

std::vector<Expr> readNodes(const Expr &e) {
  std::vector<Expr> nodes;
  std::set<const void *> seen;
  collect(e, seen, [&](const Expr &node) {
    if (node.kind() == Kind::Read)
      nodes.push_back(node);
    return true;
  });
  return nodes;
}

std::set<std::string> symbolsOutsideReads(const Expr &e) {
  if (e.isSymbol())
    return {e.name()};
  std::set<std::string> names;
  std::set<const void *> seen;
  collect(e, seen, [&](const Expr &node) {
    if (node.kind() == Kind::Read)
      return false;
    for (const Expr &operand : node.operands())
      if (operand.isSymbol())
        names.insert(operand.name());
    return true;
  });
  return names;
}

Expr Elements::replace(const Expr &e) {
  if (e.operands().empty() || readsOf(e).empty())
    return e;
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands())
    operands.push_back(replace(operand));
  if (e.kind() != Kind::Read)
    return e.withOperands(std::move(operands));
  for (Expr &operand : operands)
    operand = simplify(operand, boxes);
  Expr read = e.withOperands(std::move(operands));
  std::string name = print(read);
  reads.insert({name, read});
  if (auto range = boxes.find(elementsOf(e.name())); range != boxes.end())
    boxes.insert({name, range->second});
  return Expr::symbol(name);
}

bool Elements::contradicts(const Assignment &point) const {
  for (auto a = reads.begin(); a != reads.end(); ++a)
    for (auto b = std::next(a); b != reads.end(); ++b) {
      const Expr &x = a->second, &y = b->second;
      auto first = point.find(a->first), second = point.find(b->first);
      if (x.name() != y.name() || x.operands().size() != y.operands().size() || first == point.end() ||
          second == point.end() || first->second == second->second)
        continue;
      bool same = true;
      for (size_t k = 0; same && k < x.operands().size(); ++k)
        same = evaluate(simplify(x.operands()[k] - y.operands()[k], boxes), point).value_or(1) == 0;
      if (same)
        return true;
    }
  return false;
}

} // namespace skewer::subscript
