// The memory layout of a kernel's argument struct, and the conditions on a plan to have one. The entries, the header,
// the manifest and in-process kernels all use this one layout.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "llvm/Support/Error.h"

namespace skewer {

/// The struct's fields after `uint32_t size, version`: each is 8 bytes wide, so field k is the 64-bit word 1 + k.
struct ArgumentLayout {
  std::vector<std::string> inputs, outputs, sizes; // names in C, in the plan's order

  std::vector<unsigned> inputWords; // the word of each input; for an origin, its word q0, k0 or head0

  unsigned inputWord(size_t input) const { return inputWords[input]; }
  unsigned outputWord(size_t output) const { return 1 + tensors() + output; }
  unsigned sizeWord(size_t size) const { return 1 + tensors() + outputs.size() + size; }
  /// Returns the first of the three words q0, k0, head0.
  unsigned originWord() const { return 1 + tensors() + outputs.size() + sizes.size(); }
  /// Returns the number of inputs that are tensors of the caller.
  unsigned tensors() const { return inputs.size() - origins; }
  unsigned origins = 0;
  unsigned words() const { return originWord() + 3; }
  unsigned bytes() const { return 8 * words(); }
};

/// Returns the layout. The names are the plan's; names that C, C++ or the struct already uses get a `_` at the end.
ArgumentLayout layoutOf(const KernelPlan &);

/// Returns an error whose message begins with the kernel's name.
llvm::Error kernelError(const KernelPlan &, const llvm::Twine &what);
/// Checks that the plan can have a C interface: the name is a C identifier that neither the language nor libc or libm
/// uses, expressions name known sizes, fixed sizes are positive and their products fit in 63 bits.
llvm::Error validate(const KernelPlan &);
/// Checks only the plan's name, arguments and results.
llvm::Error validateSignature(const KernelPlan &);

/// Returns the product of a tensor's fixed extents and its element's bytes. Only after `validate`.
int64_t fixedBytes(const TensorArgument &);

/// Returns a text such as "f32[batch, 4, 196, 128]".
std::string textOf(const TensorArgument &);
/// Returns a text such as "0..31".
std::string textOf(const IndexRange &);
/// Returns the inputs whose elements have a range to check, in order. SKEWER_BAD_INDEX + k concerns the k-th of them.
std::vector<size_t> rangedInputs(const KernelPlan &);
/// Returns a text such as "64 + 128 * batch".
std::string textOf(const SizeExpression &);

} // namespace skewer
