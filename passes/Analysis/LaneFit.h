// What can be evaluated for as many keys at once as a vector has lanes: in 32-bit integers.
#pragma once
#include "dialect/IR/Term.h"
#include "dialect/Subscript/Analysis.h"

namespace skewer {
struct OtherTerm;

/// The largest number, not known before the call, that lanes are divided by: see LaneIndices::quotient.
constexpr int64_t kMostDivisor = (1 << 22) - (1 << 8) - 1;
/// Whether the values of the expression and of everything in it stay within 30 bits over the domain, and what is divided
/// by below kMostDivisor.
bool fitsLanes(const subscript::Expr &, const subscript::Domain &);
/// Whether one of the axes occurs.
bool usesAny(const subscript::Expr &, const std::vector<std::string> &axes);
/// The operands of a sum of sums, in order; the expression itself if it is none.
void addends(const subscript::Expr &, std::vector<subscript::Expr> &parts);
/// A flat offset as a part over the leading axes and a part that positions move.
std::pair<subscript::Expr, subscript::Expr> splitPlace(const subscript::Expr &offset, const attn::ScoreSpace &);
/// Whether the term's elements can be computed with 32-bit indices: no contraction, and no plugin's function.
bool fitsLanes(const OtherTerm &, const attn::ScoreSpace &);
/// How many reads of tables and of run-time operands take one lane after the other: such as differ from query to query
/// and from key to key, and not by the last subscript of an operand alone.
int64_t readsByLane(const OtherTerm &, const attn::ScoreSpace &);

} // namespace skewer
