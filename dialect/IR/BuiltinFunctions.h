// Functions of single numbers that the language itself calls. Their names are operators, not words.
#pragma once
#include "dialect/IR/ElementFunction.h"

namespace skewer::attn {

/// `?:` of (condition, yes, no); comparisons are called `<`, `<=`, `==` and `!=`.
constexpr llvm::StringLiteral kChoice = "?:";
void addBuiltinFunctions(ElementFunctions &);
/// Returns whether the function is built in. A built-in function never rounds: it returns one of its arguments, or 1 or
/// 0.
bool isBuiltinFunction(llvm::StringRef name);
/// Returns the comparison or choice in source form, "left <= right"; nothing for other functions.
std::optional<std::string> builtinText(llvm::StringRef name, llvm::ArrayRef<std::string> operands);

} // namespace skewer::attn
