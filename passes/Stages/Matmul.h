// Einsums that are matrix products: recognised by their subscripts.
#pragma once
#include "dialect/IR/Attn.h"
#include <optional>

namespace skewer {

/// result[batch, row, column] = Σ_depth rows[batch, row, depth] · columns[batch, depth, column], each of the four a
/// product of axes.
struct Matmul {
  unsigned rowsInput = 0, columnsInput = 1;                // numbers of the einsum's operands
  std::vector<std::string> batch;                          // of any size: a product for each of their values
  std::vector<std::string> outer;                          // row axes up to the last one of run-time size
  std::vector<std::string> rowAxes, columnAxes, depthAxes; // of static size; rows and columns in the result's order
  int64_t rows = 1, columns = 1, depth = 1;                // products of their sizes
  int64_t columnStride = 0, columnDepthStride = 0; // of the columns' operand, in elements, even over the products
  int64_t columnBase = 0;
  std::optional<int64_t> rowDepthStride; // of the rows' operand, where it is even
};

/// Nothing where subscripts are not affine, the columns' operand is not walked with even strides, the product is too
/// small for tiles, or one of a batch too large for a worker to pack its columns.
std::optional<Matmul> matmulOf(attn::EinsumOp);

} // namespace skewer
