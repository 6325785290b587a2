// Prepares the data that a kernel runs on: values from files or from a seed, and the run-time sizes that follow from
// them. `run`, `bench`, `plot`, the fuzzers and the tests call it. The same seed gives the same values with every C++
// library.
#pragma once
#include "tools/skewer/Tensors.h"
#include "llvm/Support/Error.h"
#include <map>

namespace skewer::driver {

struct Operands {
  std::vector<std::string> seeded;                // names of the arguments without a file
  std::vector<Array> inputs;                      // in the plan's order, rounded to the arguments' types
  std::vector<int64_t> sizes;                     // run-time sizes, in the plan's order
  std::vector<std::vector<int64_t>> outputShapes; // of each result
  std::map<std::string, int64_t> sizeByName;
};

/// Reads the arguments that have an entry in `files` and seeds the others. Seeded values are normal numbers with the
/// mean and the standard deviation that the argument declares (else 0 and 1), or uniform numbers of its range. They
/// depend on the seed and the argument's number only. Index operands get whole numbers within the declared range, or
/// from 0 to the largest compile-time size of the result except its last one. Origins of a part (q0, k0, head0) are 0
/// unless `origins` has them. A run-time size comes from the files' shapes, else from `sizes`, else it is 1. Errors
/// name the argument, the expected and the found value.
llvm::Expected<Operands> prepareOperands(const KernelPlan &, const std::map<std::string, std::string> &files,
                                         const std::map<std::string, int64_t> &sizes, uint64_t seed,
                                         const std::map<std::string, int64_t> &origins = {});

/// Returns `count` normal numbers: Box-Muller over a 64-bit Mersenne twister, so that every C++ library gives the same
/// numbers.
std::vector<double> normalNumbers(int64_t count, uint64_t seed);

/// Returns the values of an argument without a file, before they are rounded to the argument's type. `indices` is the
/// range of an index operand that declares no range.
std::vector<double> seededValues(const TensorArgument &, int64_t count, uint64_t seed, IndexRange indices);

/// Returns a text such as "[batch, 4, 196, 128]".
std::string textOf(llvm::ArrayRef<Extent>);

} // namespace skewer::driver
