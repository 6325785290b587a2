// Decides whether the axes of a map should name positions that expressions take apart by division.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace skewer {

/// An attribute of a function: positions that masks and tables take apart by division stay whole. It is set on a layer
/// that is compared with itself at other lengths, because the divisors may not divide those lengths.
constexpr llvm::StringLiteral kWholePositions = "attn.whole_positions";

/// Returns the numbers by which the expression takes `symbol` apart, by division or by remainder.
std::set<int64_t> divisorsOf(const subscript::Expr &, const std::string &symbol);

/// Returns the sizes of the axes, outermost first, into which the expressions take `symbol` (0 .. size-1) apart: {H, W}
/// if all of `symbol floordiv W` and `symbol mod W` agree. Returns the one entry `size` if no divisor divides it or the
/// divisors disagree. A divisor of several whole lines that does not divide the map (blocks of lines, the last block
/// shorter) adds no axis: those lines stay one axis.
std::vector<int64_t> factorsOf(const std::string &symbol, int64_t size,
                               const std::vector<subscript::Expr> &expressions);

/// Rewrites divisions of `symbol` by several whole lines that do not divide the map: the expression then divides the
/// number of the line, `symbol floordiv W`. `factors` is a result of `factorsOf`.
subscript::Expr byLines(const subscript::Expr &, const std::string &symbol, llvm::ArrayRef<int64_t> factors);

} // namespace skewer
