// Helpers for the text of an einsum that need no typer. The resolver and the typer call them.
#pragma once
#include "dialect/Subscript/Einsum.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace skewer::language {

/// Replaces calls in index expressions, except calls of the index functions themselves, by symbols of the same length;
/// `calls` receives the text of each call. `isDefined` says which of the index functions the file defines. The new
/// names contain a quotation mark, which no name of a specification does.
std::string withCallSymbols(llvm::StringRef text, std::map<std::string, llvm::StringRef> &calls,
                            llvm::function_ref<bool(llvm::StringRef)> isDefined);
/// Returns the names of an expression that are not called, in order; for len(i) none.
std::vector<llvm::StringRef> namesInExpression(llvm::StringRef);
/// Replaces `len(i)` by the symbol `len'i'` of the same length, so that places in the text stay the same.
std::string withLengthSymbols(llvm::StringRef text);

/// Replaces numbers that stand for axes, "b n (3 h d) -> 3 b h n d", by names of the same length; `numbers` receives
/// their values. A number alone in its parentheses is an index, and a 1 by itself is a dimension of size 1.
std::string withNumberAxes(std::string text, std::map<std::string, int64_t> &numbers);
/// Renames these axes to "'3". Returns the first one that appears twice in a list; null if there is none.
const subscript::Dimension *renameNumberAxes(subscript::Einsum &, const std::map<std::string, int64_t> &numbers,
                                             subscript::AxisSizes &sizes);

/// Adds the sizes that the operands give: the sizes of lone axes, and the size of the only unknown factor of a product.
void learnSizes(const subscript::Einsum &, llvm::ArrayRef<std::vector<int64_t>> shapes, subscript::AxisSizes &);

} // namespace skewer::language
