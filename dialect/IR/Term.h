// The terms of an attention with every text parsed and every axis sized.
//
// The operations hold texts: people read them and verifiers check them. Passes, cost models and code generators call
// `viewOf` instead. It parses and resolves an attention once for each state of the operation; later calls get the same
// values.
#pragma once
#include "dialect/IR/ElementFunction.h"
#include <memory>

namespace skewer::attn {

/// scale · factor · function · Σ over the contracted axes of Π operand[subscripts], and 0 where the guard does not
/// hold: a summand of the score of a query and a key, or of the values of a key.
struct Term {
  TermOp op;
  /// The axes of the score, and for a term of the values also the values' own axes. It outlives the term.
  const ScoreSpace *space = nullptr;
  /// The operands' subscripts, over the space's axes and the contracted ones, and the guard.
  ResolvedEinsum einsum;
  std::optional<subscript::Expr> factor;  // a function of positions that multiplies the term: the attribute `value`
  std::optional<Application> application; // a plugin's function: `apply`
  double scale = 1;
  uint64_t sum = 0; // the number of the sum that the term belongs to; the score may be a function of several sums
  bool isOfValues = false;
  std::vector<std::vector<int64_t>> shapes; // of each operand
  subscript::Domain domain;                 // of all axes, and of the elements of the kernel's index operands

  /// Number of operands.
  size_t size() const { return shapes.size(); }
  /// The size of a contracted axis.
  int64_t sizeOf(const std::string &axis) const { return einsum.sizes.at(axis); }
  /// Returns whether the mask hides exactly the scores at which the guard puts 0. Such a guard is redundant.
  bool repeats(const std::optional<subscript::Expr> &mask) const;
  /// Returns whether every subscript stays inside its operand wherever `guard` holds; everywhere, if there is none.
  bool staysInside(const std::optional<subscript::Expr> &guard) const;
};

/// An attention: its axes, its mask and its terms.
struct AttentionView {
  ScoreSpace space;
  subscript::Domain domain; // of the space's axes, and of the elements of the kernel's index operands
  std::optional<subscript::Expr> mask;
  /// The subscripts of the values, and the dimensions of the attention's result. Nothing if they do not resolve.
  std::optional<ResolvedEinsum> value;
  /// Whether one copy of the values serves a leading axis: its size is known only at run time, and the values lack it.
  bool sharesValues = false;
  std::vector<Term> score, values; // in the operations' order

  /// Returns the names of all axes of the space, of the values and of the terms. A new axis needs a different name.
  std::vector<std::string> namesTaken() const;
  /// Returns whether a term applies a function to its operands. The term's texts alone then do not define it.
  bool hasFunctions() const;
};

/// Returns a term's subscripts over the space's axes (on the value side also over the values' own axes), and its
/// contracted axes.
ResolvedEinsum resolve(TermOp, const ScoreSpace &);

/// Returns the domain of axes of these sizes and of the elements of the index operands that the space knows.
subscript::Domain domainOf(const subscript::AxisSizes &, const ScoreSpace &);
/// Returns the domain of the space's axes and elements.
subscript::Domain domainOf(const ScoreSpace &);

/// Returns the view of a verified attention. The view does not change when the operation changes: call again then.
std::shared_ptr<const AttentionView> viewOf(AttentionOp);
/// Returns the term's part of its attention's view.
std::shared_ptr<const Term> termOf(TermOp);

/// Returns whether every subscript of an operand stays inside it wherever `guard` holds; everywhere, if there is none.
bool staysInside(mlir::Value operand, llvm::ArrayRef<subscript::Expr> subscripts, const subscript::Domain &,
                 const std::optional<subscript::Expr> &guard);

} // namespace skewer::attn
