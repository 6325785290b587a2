// Recognises einsums that are matrix products by their subscripts. The engines for processors and GPUs compute such
// einsums with packed tiles, and the division into stages asks which they are.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {

/// A matrix product: result[batch, row, column] = Σ_depth rows[batch, row, depth] · columns[batch, depth, column]. Each
/// of the four indices is a product of axes.
struct Matmul {
  unsigned rowsInput = 0, columnsInput = 1;                // indices of the einsum's operands
  std::vector<std::string> batch;                          // axes of any size: a product for each of their values
  std::vector<std::string> outer;                          // row axes up to the last one of run-time size
  std::vector<std::string> rowAxes, columnAxes, depthAxes; // of static size; rows and columns in the result's order
  int64_t rows = 1, columns = 1, depth = 1;                // products of their sizes
  /// Strides of the columns' operand, in elements, even over the products of axes.
  int64_t columnStride = 0, columnDepthStride = 0;
  int64_t columnBase = 0;
  std::optional<int64_t> rowDepthStride; // along the depth of the rows' operand, if that stride is even
};

/// Returns the matrix product. Returns nothing if subscripts are not affine, the columns' operand does not have even
/// strides, the product is too small for tiles, or the columns of a batched product are too large for a worker to pack.
/// A product of few steps is large enough if arithmetic on its elements follows.
std::optional<Matmul> matmulOf(attn::EinsumOp);

} // namespace skewer
