// Divides the positions of an attention: a query axis and the corresponding key axis become a new leading axis and the
// rest of each.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
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

/// Divides the attention, whose mask is `mask`. Returns false, and changes nothing, if the result cannot be written or
/// the mask hides everything.
bool splitAttention(attn::AttentionOp, const attn::ScoreSpace &, const Split &, const subscript::Expr &mask);

/// An attention after the division of its positions.
struct DividedAttention {
  subscript::Dimensions dimensions; // leading axes, queries, keys
  llvm::SmallVector<int64_t> rows;  // the shape of a tensor with one number for each query
  subscript::AxisSizes sizes;
  subscript::Expr mask;
  subscript::Einsum valueSpec;
  mlir::Value value;
  mlir::RankedTensorType type; // of the result
};
/// Turns a tensor that the divided attention computes into the original tensor of the given type.
using BroughtBack = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Type, mlir::Value)>;
/// Replaces the attention by the divided attention with the same terms. `whole` turns its result back into the original
/// type, `together` its row numbers. The terms keep their subscripts; the caller rewrites them.
attn::AttentionOp replaceByDivided(attn::AttentionOp, const DividedAttention &, BroughtBack whole,
                                   BroughtBack together);

/// Creates attn-split-blocks. If a mask leaves blocks of a map only the keys in and around them, the number of the
/// block becomes a leading axis, and the keys become those that the block sees. Positions outside the map are read as
/// 0, and masked. If the map cuts the last blocks short, queries of 0 fill them, and their results are cut off. The
/// pass runs on functions, before a schedule is chosen for a processor.
std::unique_ptr<mlir::Pass> createSplitBlocks();

/// Creates attn-split-windows. If a mask leaves a window of each line of a map, blocks of the line's queries become a
/// leading axis, and the keys become those that the blocks reach; then the mask hides little of what a tile computes.
/// The pass runs on functions, before a schedule is chosen for a processor.
std::unique_ptr<mlir::Pass> createSplitWindows();

} // namespace skewer
