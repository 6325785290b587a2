// Emits the scores of an attention at one query and key, from the index expressions of its terms. Attentions by rows
// use it (Attention.cpp); it needs no strategy, so it computes every term.
#pragma once
#include "dialect/IR/Term.h"
#include "passes/Generic/Contractions.h"

namespace skewer::generic {

/// A term of an attention at one query and key (for a term of the values, also one column), by its index expressions.
struct ScoreTerm {
  std::shared_ptr<const attn::Term> term;
  Contraction product;                // over the operands that are factors
  std::vector<Contraction> arguments; // single elements of each operand, for the function
};

/// The plan of an attention that is computed by its index expressions.
struct AttentionPlan {
  attn::ScoreSpace space;
  std::vector<Axis> outer, keys, width; // `outer`: leading axes and queries; `width`: columns of the values
  std::optional<subscript::Expr> mask;
  std::vector<ScoreTerm> terms, valueTerms;
  std::vector<subscript::Expr> value, result, lse, weights; // subscripts
  Symbols symbols;
};

class ScoreTerms {
public:
  ScoreTerms(mlir::ImplicitLocOpBuilder &b, PhaseCode &code, Tensors &tensors, Contractions &contractions)
      : b(b), code(code), tensors(tensors), contractions(contractions) {}

  /// Returns the plan; nothing after a diagnostic.
  std::optional<AttentionPlan> planOf(attn::AttentionOp);
  /// Returns the sum of the terms that belong to sum number `sum`.
  mlir::Value sumOf(const std::vector<ScoreTerm> &, Symbols &, uint64_t sum = 0);
  /// Returns the score of a query and a key, as the softmax gets it, or their direct weight.
  mlir::Value scoreOf(attn::AttentionOp, const AttentionPlan &, Symbols &);

private:
  mlir::ImplicitLocOpBuilder &b;
  PhaseCode &code;
  Tensors &tensors;
  Contractions &contractions;
};

} // namespace skewer::generic
