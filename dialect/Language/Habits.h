// What to write here in place of what NumPy, PyTorch, JAX, einops, Python and C write: notes below errors.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace skewer::language {

/// In place of a function of theirs: "a product of tensors is an einsum: …"; empty where there is nothing to say.
llvm::StringRef insteadOfFunction(llvm::StringRef name);
/// In place of `receiver.member`, which `isCalled` or not: k.T, scores.softmax(-1), np.einsum(…).
std::string insteadOfMember(llvm::StringRef receiver, llvm::StringRef member, bool isCalled);
/// In place of a named argument: softmax(x, dim = -1).
llvm::StringRef insteadOfArgument(llvm::StringRef function, llvm::StringRef argument);
/// In place of an operator that does not exist here: "@", "&".
llvm::StringRef insteadOfOperator(llvm::StringRef symbol);
/// In place of a word that begins a statement or a declaration elsewhere: for, let, def, import.
llvm::StringRef insteadOfWord(llvm::StringRef word);
/// In place of a constant that is a name elsewhere: True, pi.
llvm::StringRef insteadOfConstant(llvm::StringRef name);
/// The element type that a name of another language means: "f32" for float32; empty where it is none.
llvm::StringRef elementTypeFor(llvm::StringRef name);

} // namespace skewer::language
