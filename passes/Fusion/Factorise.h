// Whether positions that expressions take apart by division are better named by the axes of a map.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace skewer {

/// Of a function: positions that masks and tables take apart by division stay whole. Of a layer that is compared with
/// itself at other lengths, which the divisors may not divide.
constexpr llvm::StringLiteral kWholePositions = "attn.whole_positions";

/// The sizes of the axes, outermost first, into which the expressions take `symbol` (0 .. size-1) apart: {H, W} where
/// all of `symbol floordiv W` and `symbol mod W` agree. One entry, `size`, where nothing divides it or divisors
/// disagree. A number of whole lines that does not divide the map (blocks of them, of which the last one is shorter) is
/// left to the axis of lines.
std::vector<int64_t> factorsOf(const std::string &symbol, int64_t size,
                               const std::vector<subscript::Expr> &expressions);

/// The expression where `symbol` is divided by numbers of whole lines that do not divide the map: the number of the
/// line, `symbol floordiv W`, is divided by them instead. `factors` as above.
subscript::Expr byLines(const subscript::Expr &, const std::string &symbol, llvm::ArrayRef<int64_t> factors);

} // namespace skewer
