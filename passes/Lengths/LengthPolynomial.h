// A number that depends on the lengths of a layer, as a sum of products of different lengths: "2*N - 1", "H*W". Sizes,
// numbers of index expressions and extents of kernels with lengths are such polynomials. They are found from the values
// at a few lengths.
#pragma once
#include "dialect/Subscript/Expr.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skewer {

using Lengths = std::map<std::string, int64_t>;

/// Returns the lengths at which a layer is compiled to find how it depends on them: each length at its bound or one
/// less, in all combinations (bit k of the number is for the k-th length), then one more point that checks the guess.
/// Bounds are at least kLeastFitted.
std::vector<Lengths> fittingPoints(const Lengths &bounds);
constexpr int64_t kLeastFitted = 16;

/// The polynomial. `terms[S]` is the coefficient of the product of the lengths whose bits are in S; lengths are in
/// alphabetical order.
class LengthPolynomial {
public:
  /// Returns the polynomial with these values at fittingPoints; nothing if it misses the last value.
  static std::optional<LengthPolynomial> through(llvm::ArrayRef<int64_t> values, const Lengths &bounds);

  bool isConstant() const { return terms.empty() || (terms.size() == 1 && terms.begin()->first == 0); }
  /// Returns the polynomial over symbols with the lengths' names, or over the expressions in `lengths` for them.
  subscript::Expr expression(const subscript::Substitution &lengths = {}) const;
  bool operator==(const LengthPolynomial &o) const { return terms == o.terms && names == o.names; }

private:
  std::map<unsigned, int64_t> terms; // none is 0
  std::vector<std::string> names;
};

} // namespace skewer
