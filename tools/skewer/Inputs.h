// What a kernel is run on: values from files or from a seed, and the run-time sizes that follow from them.
#pragma once
#include "tools/skewer/Tensors.h"
#include "llvm/Support/Error.h"
#include <map>

namespace skewer::driver {

struct Operands {
  std::vector<std::string> seeded;                // names of the arguments that no file gave
  std::vector<Array> inputs;                      // in the plan's order, rounded to the arguments' types
  std::vector<int64_t> sizes;                     // run-time sizes, in the plan's order
  std::vector<std::vector<int64_t>> outputShapes; // of each result
  std::map<std::string, int64_t> sizeByName;
};

/// Arguments with an entry in `files` are read; the others are normal numbers of the mean and the standard deviation
/// that the argument declares, or 0 and 1, or uniform ones of its range; they depend on the seed, on the argument's
/// number and on nothing else. Of index operands they are whole numbers within the declared range, or from 0 to the
/// largest compile-time size of the result but its last one. Origins of a part (q0, k0, head0) are 0 unless `origins`
/// has them. A run-time size comes from the files' shapes, else from `sizes`, else it is 1. Errors name the argument,
/// what was expected and what was found.
llvm::Expected<Operands> prepareOperands(const KernelPlan &, const std::map<std::string, std::string> &files,
                                         const std::map<std::string, int64_t> &sizes, uint64_t seed,
                                         const std::map<std::string, int64_t> &origins = {});

/// `count` normal numbers: Box-Muller over a 64-bit Mersenne twister, so that they are the same with every C++ library.
std::vector<double> normalNumbers(int64_t count, uint64_t seed);

/// What an argument is filled with where no file gives it, before it is rounded to the argument's type. `indices` is
/// the range of an index operand that declares none.
std::vector<double> seededValues(const TensorArgument &, int64_t count, uint64_t seed, IndexRange indices);

/// "[batch, 4, 196, 128]".
std::string textOf(llvm::ArrayRef<Extent>);

} // namespace skewer::driver
