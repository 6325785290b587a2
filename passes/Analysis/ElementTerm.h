// A term at one query and one key, over the memory of its operands.
#pragma once
#include "dialect/IR/Term.h"

namespace skewer {

/// scale · factor · function · Σ over the contracted axes of Π operand[offset], and 0 where the guard does not hold.
struct ElementTerm {
  std::vector<unsigned> arguments;                         // numbers in operandsOf(attention)
  std::vector<subscript::Expr> offsets;                    // flat places in the operands, over all axes
  std::vector<std::pair<std::string, int64_t>> contracted; // axes and their sizes
  std::optional<subscript::Expr> factor;                   // a function of positions
  std::optional<attn::Application> application;            // a plugin's function; its operands count in `arguments`
  std::optional<subscript::Expr> guard;
  double scale = 1;
  uint64_t sum = 0; // of those that the score is a function of

  /// Whether the operand at a place is an argument of the function rather than a factor.
  bool isArgument(size_t place) const { return application && application->takes(place); }
};

/// The term over flat places, with no guard: the caller says which one holds.
ElementTerm flatTermOf(const attn::Term &, llvm::ArrayRef<mlir::Value> operands);

/// The term's guard, but none where it only repeats the mask: those scores are hidden anyway.
std::optional<subscript::Expr> ownGuardOf(const attn::Term &, const std::optional<subscript::Expr> &mask);
/// The guard of a term that is computed for hidden pairs too: its own, and the mask where that alone keeps an operand's
/// subscripts inside.
std::optional<subscript::Expr> guardOf(const attn::Term &, const std::optional<subscript::Expr> &mask);

/// The index expressions that the term depends on, but for the offsets of the operands at `left` places.
std::vector<subscript::Expr> expressionsOf(const ElementTerm &, llvm::ArrayRef<unsigned> left = {});

} // namespace skewer
