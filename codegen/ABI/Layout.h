// How a kernel's argument struct lies in memory, and what a plan must satisfy to have one.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "llvm/Support/Error.h"

namespace skewer {

/// The struct's fields after `uint32_t size, version`: each is 8 bytes wide, so field k is the 64-bit word 1 + k.
struct ArgumentLayout {
  std::vector<std::string> inputs, outputs, sizes; // names in C, in the plan's order

  std::vector<unsigned> inputWords; // of each input; of an origin its word q0, k0 or head0

  unsigned inputWord(size_t input) const { return inputWords[input]; }
  unsigned outputWord(size_t output) const { return 1 + tensors() + output; }
  unsigned sizeWord(size_t size) const { return 1 + tensors() + outputs.size() + size; }
  /// First of the three words q0, k0, head0.
  unsigned originWord() const { return 1 + tensors() + outputs.size() + sizes.size(); }
  /// Inputs that are tensors of the caller's.
  unsigned tensors() const { return inputs.size() - origins; }
  unsigned origins = 0;
  unsigned words() const { return originWord() + 3; }
  unsigned bytes() const { return 8 * words(); }
};

/// Names are the plan's, with a `_` behind those that C, C++ or the struct has taken.
ArgumentLayout layoutOf(const KernelPlan &);

/// Whether the plan can be given a C interface: the name is a C identifier that neither the language nor libc or libm
/// takes, expressions name known sizes, fixed sizes are positive and their products fit in 63 bits.
llvm::Error validate(const KernelPlan &);
/// The same of its name, arguments and results alone.
llvm::Error validateSignature(const KernelPlan &);

/// Bytes of the fixed part of a tensor's shape times its element. Only after `validate`.
int64_t fixedBytes(const TensorArgument &);

/// "f32[batch, 4, 196, 128]"
std::string textOf(const TensorArgument &);
/// "0..31"
std::string textOf(const IndexRange &);
/// The inputs whose elements have a range to be checked, in order: SKEWER_BAD_INDEX + k is the k-th of them.
std::vector<size_t> rangedInputs(const KernelPlan &);
/// "64 + 128 * batch"
std::string textOf(const SizeExpression &);

} // namespace skewer
