// RUN: skewer-opt %s -attn-split-products | FileCheck %s
// Weights that are taken apart and put into another order: the product reads those of the softmax.
// CHECK-LABEL: func.func @apart
// CHECK: %[[W:.*]] = attn.softmax
// CHECK: attn.einsum "h i (y x), h y x d -> i h d"(%[[W]], %arg1)
func.func @apart(%s: tensor<2x4x12xf32>, %v: tensor<2x3x4x8xf32>) -> tensor<4x2x8xf32> {
  %w = attn.softmax "h i j" over "j"(%s) : tensor<2x4x12xf32>
  %a = attn.reshape %w : tensor<2x4x12xf32> to tensor<2x4x3x4xf32>
  %t = attn.rearrange "h i y x -> i h y x" %a : tensor<2x4x3x4xf32> to tensor<4x2x3x4xf32>
  %o = attn.einsum "i h y x, h y x d -> i h d"(%t, %v) : (tensor<4x2x3x4xf32>, tensor<2x3x4x8xf32>) -> tensor<4x2x8xf32>
  return %o : tensor<4x2x8xf32>
}
// A slice of the weights is not all of them.
// CHECK-LABEL: func.func @part
// CHECK: attn.einsum "h i j, h j d -> h i d"(%{{.*}}, %arg1)
// CHECK-NOT: attn.einsum
func.func @part(%s: tensor<2x4x12xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %w = attn.softmax "h i j" over "j"(%s) : tensor<2x4x12xf32>
  %p = attn.slice %w offsets [0, 0, 0] strides [1, 1, 2] : tensor<2x4x12xf32> to tensor<2x4x6xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
// Values and their factor are read at the same places, shared heads: the factor multiplies the values.
// CHECK-LABEL: func.func @shared
// CHECK: %[[W:.*]] = attn.softmax
// CHECK: %[[V:.*]] = attn.einsum {{.*}}(%arg1, %arg2) : (tensor<2x6x8xf32>, tensor<2x6xf32>) -> tensor<2x6x8xf32>
// CHECK: attn.einsum "h i j, (h floordiv 2) j d -> h i d"(%[[W]], %[[V]])
func.func @shared(%s: tensor<4x5x6xf32>, %v: tensor<2x6x8xf32>, %f: tensor<2x6xf32>) -> tensor<4x5x8xf32> {
  %w = attn.softmax "h i j" over "j"(%s) : tensor<4x5x6xf32>
  %r = attn.einsum "(h floordiv 2) j -> h i j" sizes {h = 4 : i64, i = 5 : i64}(%f) : (tensor<2x6xf32>) -> tensor<4x5x6xf32>
  %p = arith.mulf %w, %r : tensor<4x5x6xf32>
  %o = attn.einsum "h i j, (h floordiv 2) j d -> h i d"(%p, %v) : (tensor<4x5x6xf32>, tensor<2x6x8xf32>) -> tensor<4x5x8xf32>
  return %o : tensor<4x5x8xf32>
}
// A factor of the row, and values of shared heads: it multiplies the result.
// CHECK-LABEL: func.func @rows
// CHECK: %[[W:.*]] = attn.softmax
// CHECK: %[[O:.*]] = attn.einsum "h i j, (h floordiv 2) j d -> h i d"(%[[W]], %arg1)
// CHECK: attn.einsum "h i d, h i -> h i d"(%[[O]], %arg2)
func.func @rows(%s: tensor<4x5x6xf32>, %v: tensor<2x6x8xf32>, %f: tensor<4x5xf32>) -> tensor<4x5x8xf32> {
  %w = attn.softmax "h i j" over "j"(%s) : tensor<4x5x6xf32>
  %r = attn.rearrange "h i -> h i j" sizes {j = 6 : i64} %f : tensor<4x5xf32> to tensor<4x5x6xf32>
  %p = arith.mulf %w, %r : tensor<4x5x6xf32>
  %o = attn.einsum "h i j, (h floordiv 2) j d -> h i d"(%p, %v) : (tensor<4x5x6xf32>, tensor<2x6x8xf32>) -> tensor<4x5x8xf32>
  return %o : tensor<4x5x8xf32>
}
// What has no axis of the keys is multiplied afterwards.
// CHECK-LABEL: func.func @projected
// CHECK: %[[W:.*]] = attn.softmax
// CHECK: %[[O:.*]] = attn.einsum "h i j, (h floordiv 2) j d -> h i d"(%[[W]], %arg1) : {{.*}} -> tensor<4x5x8xf32>
// CHECK: attn.einsum "h i d, h d e -> i e"(%[[O]], %arg2)
func.func @projected(%s: tensor<4x5x6xf32>, %v: tensor<2x6x8xf32>, %p: tensor<4x8x3xf32>) -> tensor<5x3xf32> {
  %w = attn.softmax "h i j" over "j"(%s) : tensor<4x5x6xf32>
  %o = attn.einsum "h i j, (h floordiv 2) j d, h d e -> i e"(%w, %v, %p) : (tensor<4x5x6xf32>, tensor<2x6x8xf32>, tensor<4x8x3xf32>) -> tensor<5x3xf32>
  return %o : tensor<5x3xf32>
}
