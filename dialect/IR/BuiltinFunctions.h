// Functions of single numbers that the language itself calls, by names that are no words.
#pragma once
#include "dialect/IR/ElementFunction.h"

namespace skewer::attn {

/// `?:` of (condition, yes, no); comparisons are called `<`, `<=`, `==` and `!=`.
constexpr llvm::StringLiteral kChoice = "?:";
void addBuiltinFunctions(ElementFunctions &);
/// Such a function rounds nothing: it gives one of its arguments, 1 or 0.
bool isBuiltinFunction(llvm::StringRef name);
/// The comparison or choice as it is written, "left <= right"; nothing of other functions.
std::optional<std::string> builtinText(llvm::StringRef name, llvm::ArrayRef<std::string> operands);

} // namespace skewer::attn
