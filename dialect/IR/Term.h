// What the terms of an attention say, with every text parsed and every axis sized.
//
// The operations hold texts: that is what people read and what verifiers check. Passes, cost models and code generators
// ask `viewOf` instead. It parses and resolves an attention once for each state of the operation, and all who ask
// afterwards get the same values.
#pragma once
#include "dialect/IR/ElementFunction.h"
#include <memory>

namespace skewer::attn {

/// scale · factor · function · Σ over the contracted axes of Π operand[subscripts], and 0 where the guard does not
/// hold: a summand of the score of a query and a key, or of the values of a key.
struct Term {
  TermOp op;
  /// The axes of the score, on the side of the values those of the values too. It outlives the term.
  const ScoreSpace *space = nullptr;
  /// The operands' subscripts, over the space's axes and the contracted ones, and the guard.
  ResolvedEinsum einsum;
  std::optional<subscript::Expr> factor; // a function of positions that multiplies: the attribute `value`
  std::optional<Application> application; // a plugin's function: `apply`
  double scale = 1;
  uint64_t sum = 0; // the score may be a function of several sums: the number of that which the term is part of
  bool isOfValues = false;
  std::vector<std::vector<int64_t>> shapes; // of each operand
  subscript::Domain domain;                 // of all axes, and of the elements of the kernel's index operands

  /// Number of operands.
  size_t size() const { return shapes.size(); }
  /// The size of a contracted axis.
  int64_t sizeOf(const std::string &axis) const { return einsum.sizes.at(axis); }
  /// Whether the mask hides exactly those scores in whose place the guard puts 0. Such a guard says nothing.
  bool repeats(const std::optional<subscript::Expr> &mask) const;
  /// Whether every subscript stays inside its operand wherever `guard` holds; everywhere, if there is none.
  bool staysInside(const std::optional<subscript::Expr> &guard) const;
};

/// An attention: its axes, its mask and its terms.
struct AttentionView {
  ScoreSpace space;
  subscript::Domain domain; // of the space's axes, and of the elements of the kernel's index operands
  std::optional<subscript::Expr> mask;
  ResolvedEinsum value;            // how the values are read; its result's dimensions are those of the attention's
  std::vector<Term> score, values; // in the operations' order

  /// The names of all axes of the space, of the values and of the terms: a new axis has none of them.
  std::vector<std::string> namesTaken() const;
  /// Whether a term applies a function of its operands: its texts are not the whole of what it says.
  bool hasFunctions() const;
};

/// A term's subscripts over the space's axes (on the value side those of the values' own too) and its contracted axes.
ResolvedEinsum resolve(TermOp, const ScoreSpace &);

/// Of the axes of these sizes, and of the elements of the index operands that the space knows.
subscript::Domain domainOf(const subscript::AxisSizes &, const ScoreSpace &);
/// Of the space's axes and elements.
subscript::Domain domainOf(const ScoreSpace &);

/// The view of an attention that is verified. It stays as it is when the operation changes: ask again then.
std::shared_ptr<const AttentionView> viewOf(AttentionOp);
/// The term's part of its attention's view.
std::shared_ptr<const Term> termOf(TermOp);

/// Whether every subscript of an operand stays inside it wherever `guard` holds; everywhere, if there is none.
bool staysInside(mlir::Value operand, llvm::ArrayRef<subscript::Expr> subscripts, const subscript::Domain &,
                 const std::optional<subscript::Expr> &guard);

} // namespace skewer::attn
