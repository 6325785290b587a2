// Helpers for the text of an einsum that need no emitter.
#pragma once
#include "dialect/Subscript/Einsum.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::language {

/// Calls in index expressions, other than of their own functions, become symbols of the same length; `calls` has their
/// texts.
std::string withCallSymbols(llvm::StringRef text, std::map<std::string, llvm::StringRef> &calls);
/// `len(i)` becomes the symbol `len_i_` of the same length, so that places in the text stay what they are.
std::string withLengthSymbols(llvm::StringRef text);

/// Adds the sizes that the operands tell: lone axes, and the one unknown factor of a product.
void learnSizes(const subscript::Einsum &, llvm::ArrayRef<std::vector<int64_t>> shapes, subscript::AxisSizes &);

} // namespace skewer::language
