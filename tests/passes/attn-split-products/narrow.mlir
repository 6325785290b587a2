// RUN: skewer-opt %s -attn-split-products -split-input-file | FileCheck %s
// Operations on values that are stored in 16 bits are in f32, and a result of 16 bits is rounded once, at the end.

// A factor of the heads waits for the result, so that the values stay as they are.
// CHECK-LABEL: func.func @factor
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: %[[O:.*]] = attn.einsum "h i j, h j c -> h i c"(%[[P]], %arg2) : {{.*}} -> tensor<2x4x8xf32>
// CHECK: attn.einsum "h i c, h -> h i c"(%[[O]], %arg1)
func.func @factor(%s: tensor<2x4x4xf32>, %lambda: tensor<2xf32>, %v: tensor<2x4x8xbf16>) -> tensor<2x4x8xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %l = attn.rearrange "h -> h i j" sizes {i = 4 : i64, j = 4 : i64} %lambda : tensor<2xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %l, %p : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// A factor of the keys is multiplied with the values, in f32.
// CHECK-LABEL: func.func @keys
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: %[[V:.*]] = attn.einsum "h j c, h j -> h j c"(%arg2, %arg1) : {{.*}} -> tensor<2x4x8xf32>
// CHECK: attn.einsum "h i j, h j c -> h i c"(%[[P]], %[[V]])
func.func @keys(%s: tensor<2x4x4xf32>, %gate: tensor<2x4xf32>, %v: tensor<2x4x8xbf16>) -> tensor<2x4x8xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %g = attn.rearrange "h j -> h i j" sizes {i = 4 : i64} %gate : tensor<2x4xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %g, %p : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xbf16>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// So is the third operand.
// CHECK-LABEL: func.func @operand
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: %[[V:.*]] = attn.einsum "j h, h j c -> h j c"(%arg1, %arg2) : {{.*}} -> tensor<2x4x8xf32>
// CHECK: attn.einsum "h i j, h j c -> h i c"(%[[P]], %[[V]])
func.func @operand(%s: tensor<2x4x4xf32>, %delta: tensor<4x2xf32>, %v: tensor<2x4x8xf16>) -> tensor<2x4x8xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, j h, h j c -> h i c"(%p, %delta, %v)
      : (tensor<2x4x4xf32>, tensor<4x2xf32>, tensor<2x4x8xf16>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// The difference of two softmaxes, one with a number a query (Differential Transformer), is rounded as it is stored.
// CHECK-LABEL: func.func @difference
// CHECK: %[[A:.*]] = attn.einsum "h i j, h j c -> h i c"({{.*}}, %arg3) : {{.*}} -> tensor<2x4x8xf32>
// CHECK: %[[B:.*]] = attn.einsum "h i j, h j c -> h i c"({{.*}}, %arg3) : {{.*}} -> tensor<2x4x8xf32>
// CHECK: %[[L:.*]] = attn.einsum "h i c, h i -> h i c"(%[[B]], %arg2)
// CHECK: %[[D:.*]] = arith.subf %[[A]], %[[L]] : tensor<2x4x8xf32>
// CHECK: arith.truncf %[[D]] : tensor<2x4x8xf32> to tensor<2x4x8xbf16>
func.func @difference(%s: tensor<2x4x4xf32>, %t: tensor<2x4x4xf32>, %lambda: tensor<2x4xf32>, %v: tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %r = attn.softmax "h i j" over "j"(%t) : tensor<2x4x4xf32>
  %l = attn.rearrange "h i -> h i j" sizes {j = 4 : i64} %lambda : tensor<2x4xf32> to tensor<2x4x4xf32>
  %x = arith.mulf %l, %r : tensor<2x4x4xf32>
  %w = arith.subf %p, %x : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
  return %o : tensor<2x4x8xbf16>
}
