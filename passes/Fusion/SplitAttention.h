// Divides the positions of an attention: a query axis and the corresponding key axis become a new leading axis and the
// rest of each.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {

/// A pair of a query axis and a key axis that is divided. Position = step * class + rest (chunks), step * rest + class
/// (residues), or, on a map, the class alone. A query sees keys of its own class.
struct Split {
  std::string query, key;
  int64_t step;
  bool isChunk;
  int64_t classes, rest; // numbers of classes and of rests; 0: no rest
  /// The keys of a class, if a class has more keys than queries and shares them with other classes: `keys` keys from
  /// position step * class + first on. That position lies in [0, last].
  struct Window {
    int64_t first, last, keys;
  };
  std::optional<Window> window = std::nullopt;

  subscript::Expr queryAt(const subscript::Expr &whichClass, const subscript::Expr &query) const;
  subscript::Expr keyAt(const subscript::Expr &whichClass, const subscript::Expr &key) const;
};

/// Divides the attention. Returns false, and changes nothing, if the result cannot be written or the mask hides
/// everything.
bool splitAttention(attn::AttentionOp, const Split &);

} // namespace skewer
