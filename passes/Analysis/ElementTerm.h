// A term of the score at one query and one key, in flat places of its operands' memory.
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
  uint64_t sum = 0; // number of the sum that the term is part of; the score is a function of these sums

  /// Returns whether the operand at `place` is an argument of the function, not a factor.
  bool isArgument(size_t place) const { return application && application->takes(place); }
};

/// Returns the term over flat places, without a guard: the caller sets the guard.
ElementTerm flatTermOf(const attn::Term &, llvm::ArrayRef<mlir::Value> operands);

/// Returns the guard of the term; nothing if the guard only repeats the mask, since the mask hides those scores anyway.
std::optional<subscript::Expr> ownGuardOf(const attn::Term &, const std::optional<subscript::Expr> &mask);
/// Returns the guard of a term that is computed for hidden pairs too: its own guard, and also the mask if only the mask
/// keeps the subscripts of an operand inside.
std::optional<subscript::Expr> guardOf(const attn::Term &, const std::optional<subscript::Expr> &mask);

/// Returns the index expressions that the term depends on, without the offsets of the operands at the places `left`.
std::vector<subscript::Expr> expressionsOf(const ElementTerm &, llvm::ArrayRef<unsigned> left = {});

} // namespace skewer
