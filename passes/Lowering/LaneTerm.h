// What a term or a mask of no tiled class needs to be evaluated for as many keys at once as a vector has lanes.
#pragma once
#include "dialect/IR/Attn.h"
#include "passes/Lowering/Buffer.h"

namespace skewer {
struct OtherTerm;

/// A function of the key and the leading axes, evaluated once a head: an i32 for each key. It stands in the expressions
/// of lane terms as the symbol `name`.
struct IndexLine {
  subscript::Expr expression;
  std::string name;
  Buffer buffer;
};

/// Element = scale × value × Π operand[base + place]. What of places, values and guards depends on the key alone is a
/// line.
struct LaneTerm {
  unsigned term = 0; // of AttentionShape::others
  std::vector<subscript::Expr> bases, places;
  std::optional<subscript::Expr> value, guard;
};

/// A flat offset as a part over the leading axes and a part that positions move.
std::pair<subscript::Expr, subscript::Expr> splitPlace(const subscript::Expr &offset, const attn::ScoreSpace &);
/// Whether the term's elements can be computed with 32-bit indices: no contraction, and no plugin's function.
bool fitsLanes(const OtherTerm &, const attn::ScoreSpace &);

} // namespace skewer
