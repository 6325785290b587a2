// RUN: skewer-opt %s -attn-split-products | FileCheck %s
// Weights that are divided by their sum, through maps alone: the sum is one tensor, and waits for the product.
// CHECK-LABEL: func.func @sum
// CHECK: %[[W:.*]] = math.exp %arg0
// CHECK: %[[S:.*]] = attn.einsum "h i j -> h i"(%[[W]])
// CHECK: %[[O:.*]] = attn.einsum "h i j, h j c -> h i c"(%[[W]], %arg1)
// CHECK: %[[R:.*]] = attn.einsum "h i -> h i c" sizes {c = 8 : i64}(%[[S]])
// CHECK: arith.divf %[[O]], %[[R]] : tensor<2x4x8xf32>
func.func @sum(%s: tensor<2x4x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %w = math.exp %s : tensor<2x4x4xf32>
  %t = attn.einsum "h i j -> h i"(%w) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
  %r = attn.rearrange "h i -> h i j" sizes {j = 4 : i64} %t : tensor<2x4xf32> to tensor<2x4x4xf32>
  %d = arith.divf %w, %r : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%d, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
