// Helpers for the text of an einsum that need no typer.
#pragma once
#include "dialect/Subscript/Einsum.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::language {

/// Calls in index expressions, other than of their own functions, become symbols of the same length; `calls` has their
/// texts. `isDefined` says which of these functions the file has a definition of. The names that are made here have a
/// quotation mark, which no name of a text has.
std::string withCallSymbols(llvm::StringRef text, std::map<std::string, llvm::StringRef> &calls,
                            llvm::function_ref<bool(llvm::StringRef)> isDefined);
/// Names of an expression that are not called, in order; of len(i) none.
std::vector<llvm::StringRef> namesInExpression(llvm::StringRef);
/// `len(i)` becomes the symbol `len'i'` of the same length, so that places in the text stay what they are.
std::string withLengthSymbols(llvm::StringRef text);

/// Numbers that stand for axes, "b n (3 h d) -> 3 b h n d", become names of the same length; `numbers` are their
/// values. A number that is all of its parentheses is an index, and 1 by itself a dimension of size 1.
std::string withNumberAxes(std::string text, std::map<std::string, int64_t> &numbers);
/// Calls them "'3" from here on; the first that stands twice in a list is returned.
const subscript::Dimension *renameNumberAxes(subscript::Einsum &, const std::map<std::string, int64_t> &numbers,
                                             subscript::AxisSizes &sizes);

/// Adds the sizes that the operands tell: lone axes, and the one unknown factor of a product.
void learnSizes(const subscript::Einsum &, llvm::ArrayRef<std::vector<int64_t>> shapes, subscript::AxisSizes &);

} // namespace skewer::language
