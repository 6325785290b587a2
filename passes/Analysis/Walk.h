// The walk of an operand in flat positions and strides, and the axes of a position.
#pragma once
#include "dialect/Subscript/Expr.h"
#include <optional>

namespace skewer {

enum class ElementType;

/// A flat element offset base(leading axes) + query*i + key*j + depth*d, strides in elements.
struct Walk {
  unsigned argument = 0;      // number in operandsOf(attention)
  subscript::Expr base;       // over the leading axes
  int64_t query = 0, key = 0; // for one step of the flat query or key position
  int64_t depth = 0;          // for one step of the contracted (or value) axis
  /// The offset of a row that the key picks, k[table[b, j // P], j % P], in place of a stride: over leading and key
  /// axes. It contains the base too; `base` is 0 then.
  std::optional<subscript::Expr> picked;
  int64_t run = 1, runStep = 0; // `run` picked rows, from a multiple of `run` on, lie `runStep` elements apart
  /// The type in memory, for strategies that use it (queries and keys of the content).
  ElementType element = {}; // f32

  bool operator==(const Walk &o) const {
    return argument == o.argument && base == o.base && query == o.query && key == o.key && depth == o.depth &&
           picked == o.picked;
  }
};

/// One axis of the query or key dimension: its index is (flat position floordiv inner) mod extent.
struct MapAxis {
  int64_t extent = 1, inner = 1;
  bool isWhole(int64_t positions) const { return inner == 1 && extent == positions; }
};

} // namespace skewer
