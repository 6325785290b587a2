// Dividing the positions of an attention: an axis of queries, and that of keys, become a new leading axis and what is
// left of them.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include <optional>

namespace skewer {

/// What is divided: an axis of queries with that of keys. Position = step * class + rest (chunks), step * rest + class
/// (residues), or, on a map, the class alone; a query sees keys of its own class.
struct Split {
  std::string query, key;
  int64_t step;
  bool isChunk;
  int64_t classes, rest; // how many there are of each; 0: no rest
  /// The keys of a class where they are more than its queries, and those of others too: so many from the position
  /// step * class + first on, which lies in [0, last].
  struct Window {
    int64_t first, last, keys;
  };
  std::optional<Window> window = std::nullopt;

  subscript::Expr queryAt(const subscript::Expr &whichClass, const subscript::Expr &query) const;
  subscript::Expr keyAt(const subscript::Expr &whichClass, const subscript::Expr &key) const;
};

/// Divides the attention, whose mask is `mask`. False, and nothing is changed, where the result cannot be written, or
/// the mask hides everything.
bool splitAttention(attn::AttentionOp, const attn::ScoreSpace &, const Split &, const subscript::Expr &mask);

/// What an attention is once its positions are divided.
struct DividedAttention {
  subscript::Dimensions dimensions; // leading axes, queries, keys
  llvm::SmallVector<int64_t> rows;  // the shape of a number for each query
  subscript::AxisSizes sizes;
  subscript::Expr mask;
  subscript::Einsum valueSpec;
  mlir::Value value;
  mlir::RankedTensorType type; // of the result
};
/// From what a divided attention makes to what there was, which has the type.
using BroughtBack = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Type, mlir::Value)>;
/// Puts the divided attention, with the terms that there were, in its place. Its result is brought back to the type of
/// the one that there was by `whole`, its numbers of rows by `together`. Terms say what they said, until the caller
/// writes them anew.
attn::AttentionOp replaceByDivided(attn::AttentionOp, const DividedAttention &, BroughtBack whole,
                                   BroughtBack together);

/// attn-split-blocks: where a mask leaves blocks of a map the keys in and around them, the number of the block becomes
/// a leading axis, and keys those that the block sees; what lies outside the map is read as 0, and masked. Last blocks
/// that the map cuts short are filled up with queries that are 0, and what comes of those is cut off. Of functions,
/// before a schedule is chosen for a processor.
std::unique_ptr<mlir::Pass> createSplitBlocks();

/// attn-split-windows: where a mask leaves a window of each line of a map, blocks of the line's queries become a
/// leading axis, and keys those that they reach; then most of what a tile computes is seen. Of functions, before a
/// schedule is chosen for a processor.
std::unique_ptr<mlir::Pass> createSplitWindows();

} // namespace skewer
