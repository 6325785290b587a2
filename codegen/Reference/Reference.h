// The reference: a float64 interpreter of the einsum form (level 1) with its own evaluator of subscripts. `skewer run`,
// the C API and the tests compare results with it. It shares no code with the passes, so it cannot share their
// mistakes, and it evaluates only the requested elements.
#pragma once
#include "codegen/Reference/OrError.h"
#include "codegen/Reference/Rounding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <memory>
#include <vector>

namespace skewer::reference {

/// A tensor in float64, row-major.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> values;
  int64_t elements() const {
    int64_t product = 1;
    for (int64_t size : shape)
      product *= size;
    return product;
  }
};

class Interpreter {
public:
  /// Creates an interpreter of `kernel`, a level 1 function. `inputs` has one tensor for each of its arguments, in
  /// order, with run-time sizes filled in.
  Interpreter(mlir::func::FuncOp kernel, std::vector<Tensor> inputs);
  ~Interpreter();
  /// Disturbs all later results as arithmetic in the types of the function would (Rounding.h); without roundings, none.
  void disturb(std::optional<Roundings>);
  /// Returns the shape of a result (by its number) with run-time sizes filled in.
  std::vector<int64_t> resultShape(size_t result = 0) const;
  /// Returns one row of a result: the elements along its last dimension at the given leading indices. A result without
  /// dimensions has one row with its one element, at no indices. Returns an error if the function contains an operation
  /// that the interpreter does not know, or an index leaves its tensor.
  OrError<std::vector<double>> row(const std::vector<int64_t> &leading, size_t result = 0);

private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

/// Returns the rows to check: all rows if there are at most `limit`, else `limit` seeded ones that include the corners
/// (first and last index of each leading dimension). Each entry holds the leading indices. A result without dimensions
/// has one row.
std::vector<std::vector<int64_t>> sampleRows(const std::vector<int64_t> &shape, int64_t limit, uint64_t seed);

} // namespace skewer::reference
