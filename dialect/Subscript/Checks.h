// Checks that an index expression has the same value in 64-bit integers as in whole numbers: nothing overflows, and no
// lookup is outside a table.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer::subscript {

/// Returns an innermost part of the expression that may not fit 64 bits over the domain. A name without a range there
/// may be anything that a kernel allows: an element of a run-time operand any i32, a position along a run-time size any
/// number below 2^31. The check uses intervals only, so a part that is never evaluated counts too.
std::optional<Expr> findOverflow(const Expr &, const Domain &);

/// Calls `visit` with every Read and Table node of the expression and the condition under which its value matters:
/// `where`, the conditions of the selects around it, and, in an `and` or `or`, that the operands without lookups do not
/// decide it. A node that occurs in several places is visited for each condition.
void visitLookups(const Expr &, const std::optional<Expr> &where,
                  const std::function<void(const Expr &node, const std::optional<Expr> &condition)> &visit);

/// Returns whether a lookup stays inside `rows` where the condition holds. Most lookups do so everywhere, and one proof
/// then serves all the conditions of nested choices: therefore the proof without the condition is tried first.
Proof proveLookup(const Expr &at, Range rows, const Domain &, const std::optional<Expr> &condition);

/// A constant table whose index may be outside its rows.
struct TableOutside {
  Expr table;
  Proof proof; // Refuted with a counterexample, or Unknown
};
/// Returns the first Table node whose row is not proven to be inside the table where its value matters.
std::optional<TableOutside> findTableOutside(const Expr &, const Domain &,
                                             const std::optional<Expr> &where = std::nullopt);

} // namespace skewer::subscript
