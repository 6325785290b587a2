// RUN: skewer-opt %s -attn-split-products -split-input-file | FileCheck %s
// Factors are multiplied with values in the values' own type: what is stored in 16 bits would be rounded once more, so products
// with such values stay whole.

// The factor of the keys stays with the weights.
// CHECK-LABEL: func.func @factor
// CHECK: %[[W:.*]] = arith.mulf
// CHECK: attn.einsum "h i j, h j c -> h i c"(%[[W]], %arg2)
func.func @factor(%s: tensor<2x4x4xf32>, %lambda: tensor<2xf32>, %v: tensor<2x4x8xbf16>) -> tensor<2x4x8xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %l = attn.rearrange "h -> h i j" sizes {i = 4 : i64, j = 4 : i64} %lambda : tensor<2xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %l, %p : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// The third operand is not multiplied with the values.
// CHECK-LABEL: func.func @operand
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: attn.einsum "h i j, j h, h j c -> h i c"(%[[P]], %arg1, %arg2)
func.func @operand(%s: tensor<2x4x4xf32>, %delta: tensor<4x2xf32>, %v: tensor<2x4x8xf16>) -> tensor<2x4x8xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, j h, h j c -> h i c"(%p, %delta, %v)
      : (tensor<2x4x4xf32>, tensor<4x2xf32>, tensor<2x4x8xf16>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
