// What must hold for an index expression to mean the same in 64-bit integers as in whole numbers: nothing overflows,
// and nothing is looked up outside a table.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer::subscript {

/// An innermost part of the expression that is not certain to fit 64 bits over the domain. What has no range there is
/// taken to be what it can be in a kernel: an element of a run-time operand any i32, a position along a run-time size
/// one below 2^31. Intervals only, so a part that is never evaluated counts too.
std::optional<Expr> findOverflow(const Expr &, const Domain &);

/// Calls `visit` with every Read and Table node of the expression and what holds wherever its value matters: `where`,
/// the conditions of the selects around it, and beside it what decides an `and` or an `or` without looking anything up.
/// A node that stands in several places is visited for each condition.
void visitLookups(const Expr &, const std::optional<Expr> &where,
                  const std::function<void(const Expr &node, const std::optional<Expr> &condition)> &visit);

/// A constant table that an index leaves.
struct TableOutside {
  Expr table;
  Proof proof; // Refuted with a counterexample, or Unknown
};
/// The first Table node whose row is not proven to be one where it matters.
std::optional<TableOutside> findTableOutside(const Expr &, const Domain &,
                                             const std::optional<Expr> &where = std::nullopt);

} // namespace skewer::subscript
