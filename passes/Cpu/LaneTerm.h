// What a term or a mask of no tiled class needs to be evaluated for as many keys at once as a vector has lanes.
#pragma once
#include "dialect/IR/Attn.h"
#include "passes/Emit/Buffer.h"

namespace skewer {

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

} // namespace skewer
