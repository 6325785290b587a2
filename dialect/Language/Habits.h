// Hints below errors: how to write here what NumPy, PyTorch, JAX, einops, Python and C write differently. The parser
// and the typer add them as notes.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace skewer::language {

/// Returns a hint for a function of another language: "a product of tensors is an einsum: …"; empty if there is none.
llvm::StringRef insteadOfFunction(llvm::StringRef name);
/// Returns a hint for `receiver.member`, called or not: k.T, scores.softmax(-1), np.einsum(…).
std::string insteadOfMember(llvm::StringRef receiver, llvm::StringRef member, bool isCalled);
/// Returns a hint for a named argument: softmax(x, dim = -1).
llvm::StringRef insteadOfArgument(llvm::StringRef function, llvm::StringRef argument);
/// Returns a hint for an operator that does not exist here: "@", "&".
llvm::StringRef insteadOfOperator(llvm::StringRef symbol);
/// Returns a hint for a word that begins a statement or a declaration in another language: for, let, def, import.
llvm::StringRef insteadOfWord(llvm::StringRef word);
/// Returns a hint for a constant that has a name in another language: True, pi.
llvm::StringRef insteadOfConstant(llvm::StringRef name);
/// Returns the element type for a name of another language: "f32" for float32; empty if the name means none.
llvm::StringRef elementTypeFor(llvm::StringRef name);

} // namespace skewer::language
