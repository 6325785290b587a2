// Expands a score, or any tensor, into a sum of products of operands that are read through index expressions.
#pragma once
#include "dialect/IR/ElementFunction.h"
#include "mlir/IR/Location.h"
#include "passes/Analysis/AxisNames.h"
#include "llvm/ADT/DenseSet.h"
#include <functional>
#include <optional>

namespace skewer {

/// An operand and its subscripts.
struct Factor {
  mlir::Value operand;
  std::vector<subscript::Expr> subscripts;
  bool inverse = false; // divides instead; only with ExpansionOptions::scaledContractions
};

/// scale × value × function × Σ over contracted axes of Π factors; 0 where `guard` is 0. A factor that is an argument
/// of the function is not part of the product. The symbols are those of the caller's `at` and the contracted axes,
/// whose names ("c0", "c1", …) are unique within one `Expansion`.
struct Summand {
  double scale = 1;
  std::vector<Factor> factors;
  std::optional<subscript::Expr> value;
  std::optional<attn::Application> application; // its operands are indices into `factors`
  subscript::Expr guard = 1;
  subscript::AxisSizes contracted;
  int64_t sum = 0; // if a score is a function of several sums: the number of this summand's sum
  mlir::Location location;
  explicit Summand(mlir::Location location) : location(location) {}
};

/// Returns whether moved numbers may be combined into this one: 0, or within 2^-100 … 2^100. That range leaves room on
/// both sides when a factor moves from one operand to another: neither the factor nor its product leaves the range of
/// f32.
bool isScale(double number);

/// The operations that an expansion may look through.
struct ExpansionOptions {
  bool arithmetic = true;     // sums, differences and products by numbers
  bool scaledOperands = true; // an operand of an einsum that is a multiple of another tensor
  /// Whether an operand that is looked through may be read by a contracted axis inside a product, "(h d)", at a stride.
  bool products = false;
  /// Contracted axes may read operands in any way; the caller later finds what replaces such an axis.
  bool uneven = false;
  /// A contraction may have further factors and divisors: they move to its vectors (VectorScaling).
  bool scaledContractions = false;
  /// A product of vectors that depends on the query alone, or on the key alone, stays a tensor of its own.
  bool keepsRows = false;
  /// The query axis and the key axis of scores. Empty: every contraction counts as a product of the score.
  std::string query, key;
  bool functions = false; // a plugin's function of elements and positions becomes part of the summand
  /// Whether zeros that pad an operand where `inside` is 0 may become part of the summand's guard. Unset: none may.
  std::function<bool(const subscript::Expr &inside)> guards;
  mlir::Value whole;           // a tensor that is never looked through
  std::set<std::string> plain; // heads: read at even strides only, unless a subscript has one alone
};

/// Traces a tensor back to the tensors that it is computed from, and composes index maps with einsums.
class Expansion {
public:
  /// `domain` holds the ranges of the symbols; `assumed` is a predicate that holds wherever the result matters (a
  /// mask).
  Expansion(subscript::Domain domain, std::optional<subscript::Expr> assumed, ExpansionOptions options = {})
      : domain(std::move(domain)), assumed(std::move(assumed)), options(options) {}

  /// Returns the summands of `tensor[at…]`. A tensor that cannot be looked through is a factor itself, and so is a sum
  /// that would be written out too often (`sharedSums`).
  std::vector<Summand> expand(mlir::Value tensor, const std::vector<subscript::Expr> &at);

  /// Returns an expression that is equal where `assumed` and `guard` hold.
  subscript::Expr simplified(const subscript::Expr &, const subscript::Expr &guard = 1) const;
  /// Returns the predicate simplified under `assumed`: 1 if it follows.
  subscript::Expr predicate(const subscript::Expr &) const;
  /// If the factor's operand is a view or a multiple of another tensor, makes the factor read that tensor.
  void lookThroughOperand(Summand &, Factor &) const;
  subscript::Domain domain;

private:
  std::vector<Summand> expandBelow(mlir::Value tensor, const std::vector<subscript::Expr> &at);
  std::vector<Summand> expandEinsum(attn::EinsumOp, const std::vector<subscript::Expr> &at);
  std::optional<std::vector<Summand>> expandView(mlir::Operation *, const attn::IndexMap &,
                                                 const std::vector<subscript::Expr> &at);
  std::optional<std::vector<Summand>> expandArithmetic(mlir::Operation *, const std::vector<subscript::Expr> &at);
  std::vector<Summand> expandProduct(mlir::Operation *, const std::vector<subscript::Expr> &at);
  std::optional<std::vector<Summand>> expandQuotient(mlir::Operation *, const std::vector<subscript::Expr> &at);
  std::optional<Summand> expandApplication(attn::ApplyOp, const std::vector<subscript::Expr> &at);
  std::optional<Summand> expandPosition(attn::PositionOp, const std::vector<subscript::Expr> &at) const;
  std::optional<std::vector<Summand>> expandSum(mlir::Operation *, const std::vector<subscript::Expr> &at);
  std::vector<Summand> scaled(mlir::Value, double number, bool divides, const std::vector<subscript::Expr> &at);
  std::vector<Summand> asOne(std::vector<Summand> summands, mlir::Value of, const std::vector<subscript::Expr> &at);
  bool isOfPairs(const Summand &) const;
  bool isProduct(const Summand &) const;
  bool holdsProduct(const std::vector<Summand> &) const;
  std::optional<Summand> addPositions(const Summand &, const Summand &) const;
  bool isStep(const Summand &) const;
  bool takeOutRepetitions(Summand &) const;
  std::optional<Summand> composeEinsum(attn::EinsumOp, const std::vector<subscript::Expr> &at);
  Summand leaf(mlir::Value, const std::vector<subscript::Expr> &at) const;

  std::optional<subscript::Expr> assumed;
  ExpansionOptions options;
  unsigned contractedCount = 0;
  llvm::DenseSet<mlir::Value> shared; // tensors that are not looked through
};

} // namespace skewer
