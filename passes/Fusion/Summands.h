// A score, or any tensor, as a sum of products of operands read through index expressions.
#pragma once
#include "dialect/IR/ElementFunction.h"
#include "mlir/IR/Location.h"
#include "passes/Analysis/AxisNames.h"
#include "llvm/ADT/DenseSet.h"
#include <functional>
#include <optional>

namespace skewer {

/// One operand and where it is read.
struct Factor {
  mlir::Value operand;
  std::vector<subscript::Expr> subscripts;
  bool inverse = false; // divides; only with ExpansionOptions::scaledContractions
};

/// scale × value × function × Σ over contracted axes of Π factors, 0 where `guard` is 0. A factor that is an argument
/// of the function is none of the product's. Symbols are those of the caller's `at` and the contracted axes, whose
/// names ("c0", "c1", …) are unique within one `Expansion`.
struct Summand {
  double scale = 1;
  std::vector<Factor> factors;
  std::optional<subscript::Expr> value;
  std::optional<attn::Application> application; // operands are places in `factors`
  subscript::Expr guard = 1;
  subscript::AxisSizes contracted;
  int64_t sum = 0; // of a score that is a function of several, which one it is part of
  mlir::Location location;
  explicit Summand(mlir::Location location) : location(location) {}
};

/// Whether numbers that are moved may be put together to this one: 0, or within 2^-100 … 2^100. A factor moved from one
/// operand to another leaves room on both sides there: neither it nor what it multiplies leaves f32 on the way.
bool isScale(double number);

/// What an expansion may look through.
struct ExpansionOptions {
  bool arithmetic = true;     // sums, differences and products by numbers
  bool scaledOperands = true; // an einsum's operand that is a multiple of another tensor
  /// Whether an operand that is looked through may be read by a contracted axis inside a product, "(h d)": a stride.
  bool products = false;
  /// Operands may be read anyhow by contracted axes: what stands for such an axis is found later.
  bool uneven = false;
  /// A contraction may have further factors, which may divide it: they are moved to its vectors (VectorScaling).
  bool scaledContractions = false;
  /// A product of vectors that the query alone, or the key alone, decides is a tensor of its own.
  bool keepsRows = false;
  /// Of scores: the axes of queries and keys. None: every contraction is a product of the score's.
  std::string query, key;
  bool functions = false; // a plugin's function of elements and positions becomes part of the summand
  /// Whether zeros that pad an operand where `inside` is 0 may become part of the summand's guard; without it, none.
  std::function<bool(const subscript::Expr &inside)> guards;
  mlir::Value whole;           // a tensor that is not looked through, whatever makes it
  std::set<std::string> plain; // symbols by which operands may only be read at even strides (heads), or by them alone
};

/// Looks through operations, from a tensor to what it is made from: composing index maps onto einsums.
class Expansion {
public:
  /// `domain` is that of the symbols in use; `assumed`, a predicate that holds wherever the result matters (a mask).
  Expansion(subscript::Domain domain, std::optional<subscript::Expr> assumed, ExpansionOptions options = {})
      : domain(std::move(domain)), assumed(std::move(assumed)), options(options) {}

  /// The summands of `tensor[at…]`. What cannot be looked through is a factor itself, and so are sums that would be
  /// written out too often (`sharedSums`).
  std::vector<Summand> expand(mlir::Value tensor, const std::vector<subscript::Expr> &at);

  /// An equal expression where `assumed` and `guard` hold.
  subscript::Expr simplified(const subscript::Expr &, const subscript::Expr &guard = 1) const;
  /// 1 where the predicate follows from what is assumed.
  subscript::Expr predicate(const subscript::Expr &) const;
  /// Where the factor's operand is itself read from a tensor, or is a multiple of one, reads that instead.
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
