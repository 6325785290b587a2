// Reads and constant tables within an expression, and the conditions under which their values matter.
#include "dialect/Subscript/Checks.h"
#include <unordered_map>

namespace skewer::subscript {

namespace {
using Condition = std::optional<Expr>;
Condition both(const Condition &a, const Condition &b) { return a && b ? Condition(logicalAnd(*a, *b)) : a ? a : b; }

class LookupVisitor {
public:
  explicit LookupVisitor(const std::function<void(const Expr &, const Condition &)> &visit) : visit(visit) {}

  void walk(const Expr &e, const Condition &where) {
    if (!looksUp(e) || !seen.insert({e.identity(), where ? where->hash() : 0}).second)
      return;
    const auto &o = e.operands();
    switch (e.kind()) {
    case Kind::Select:
      walk(o[0], where);
      walk(o[1], both(where, o[0]));
      walk(o[2], both(where, logicalNot(o[0])));
      return;
    case Kind::And:
    case Kind::Or: {
      // Either operand decides alone if it can be computed without a lookup. The second operand may rely on the first,
      // which has been walked.
      bool conjunction = e.kind() == Kind::And;
      walk(o[0], both(where, undecided(o[1], conjunction)));
      walk(o[1], both(where, conjunction ? o[0] : logicalNot(o[0])));
      return;
    }
    default:
      for (const Expr &operand : o)
        walk(operand, where);
      if (e.kind() == Kind::Read || e.kind() == Kind::Table)
        visit(e, where);
    }
  }

private:
  bool looksUp(const Expr &e) {
    auto known = lookups.find(e.identity());
    if (known != lookups.end())
      return known->second;
    bool any = e.kind() == Kind::Read || e.kind() == Kind::Table;
    for (const Expr &operand : e.operands())
      any |= looksUp(operand);
    return lookups[e.identity()] = any;
  }

  /// Returns the condition that the lookup-free parts of an operand do not decide the connective.
  Condition undecided(const Expr &e, bool conjunction) {
    if (e.kind() == (conjunction ? Kind::And : Kind::Or))
      return both(undecided(e.operands()[0], conjunction), undecided(e.operands()[1], conjunction));
    if (looksUp(e))
      return std::nullopt;
    return conjunction ? e : logicalNot(e);
  }

  const std::function<void(const Expr &, const Condition &)> &visit;
  std::unordered_map<const void *, bool> lookups;
  std::set<std::pair<const void *, size_t>> seen;
};
} // namespace

void visitLookups(const Expr &e, const Condition &where,
                  const std::function<void(const Expr &, const Condition &)> &visit) {
  LookupVisitor(visit).walk(e, where);
}

Proof proveLookup(const Expr &at, Range rows, const Domain &domain, const Condition &condition) {
  Proof proof = proveWithin(at, rows, domain);
  return proof.outcome == Proof::Proven || !condition ? proof : proveWithin(at, rows, domain, condition);
}

std::optional<TableOutside> findTableOutside(const Expr &e, const Domain &domain, const Condition &where) {
  std::optional<TableOutside> bad;
  visitLookups(e, where, [&](const Expr &node, const Condition &condition) {
    if (bad || node.kind() != Kind::Table)
      return;
    Range rows{0, static_cast<int64_t>(node.table().size()) - 1};
    Proof proof = proveLookup(node.operands()[0], rows, domain, condition);
    if (proof.outcome != Proof::Proven)
      bad = TableOutside{node, proof};
  });
  return bad;
}

} // namespace skewer::subscript
