// Decides which index expressions can be evaluated in 32-bit integer lanes, for as many keys at once as a vector has
// lanes.
#pragma once
#include "dialect/IR/Term.h"
#include "dialect/Subscript/Analysis.h"

namespace skewer {
struct OtherTerm;

/// The largest divisor of lanes that is known only at the call: see LaneIndices::quotient.
constexpr int64_t kMostDivisor = (1 << 22) - (1 << 8) - 1;
/// Returns whether the values of the expression and of all its parts stay within 30 bits over the domain, and its
/// divisors below kMostDivisor.
bool fitsLanes(const subscript::Expr &, const subscript::Domain &);
/// Appends the operands of nested sums to `parts`, in order; the expression itself if it is not a sum.
void addends(const subscript::Expr &, std::vector<subscript::Expr> &parts);
/// Splits a flat offset into a part over the leading axes and a part that depends on positions.
std::pair<subscript::Expr, subscript::Expr> splitPlace(const subscript::Expr &offset, const attn::ScoreSpace &);
/// Returns whether the elements of the term can be computed with 32-bit indices, and the term has no contraction and no
/// plugin's function.
bool fitsLanes(const OtherTerm &, const attn::ScoreSpace &);
/// Returns how many reads of tables and run-time operands are done lane by lane: reads that depend on the query and on
/// the key, and not through the last subscript of an operand alone.
int64_t readsByLane(const OtherTerm &, const attn::ScoreSpace &);

} // namespace skewer
