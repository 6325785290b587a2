// RUN: skewer-opt %s -attn-form-attention -split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t
// Weights with a reader other than a product with values are a result of their attention.

// CHECK-LABEL: func.func @returned
// CHECK-NEXT: %result, %weights = attn.attention "h i j" where "j <= i" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: } : tensor<2x5x8xf32> -> tensor<2x4x8xf32> weights tensor<2x4x5xf32>
// CHECK-NEXT: return %result, %weights
func.func @returned(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x5xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x5x8xf32>) -> tensor<2x4x5xf32>
  %p = attn.softmax "h i j" over "j" where "j <= i"(%s) : tensor<2x4x5xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x5xf32>, tensor<2x5x8xf32>) -> tensor<2x4x8xf32>
  return %o, %p : tensor<2x4x8xf32>, tensor<2x4x5xf32>
}

// -----
// In another order they are rearranged; their earlier readers stand after the attention now.
// CHECK-LABEL: func.func @turned
// CHECK: %result, %weights = attn.attention "h i j"
// CHECK: %[[T:.*]] = attn.rearrange "h i j -> h j i" %weights
// CHECK: %[[A:.*]] = math.absf %[[T]]
func.func @turned(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x4xf32>) {
  %s = attn.einsum "h i d, h j d -> h j i"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h j i" over "j"(%s) : tensor<2x4x4xf32>
  %n = math.absf %p : tensor<2x4x4xf32>
  %m = arith.negf %n : tensor<2x4x4xf32>
  %o = attn.einsum "h j i, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %m : tensor<2x4x8xf32>, tensor<2x4x4xf32>
}

// -----
// Weights without a softmax too, next to their sum.
// CHECK-LABEL: func.func @direct
// CHECK: %result, %total, %weights = attn.attention "h i j"
// CHECK: direct : tensor<2x4x8xf32> -> tensor<2x4x8xf32> total tensor<2x4xf32> weights tensor<2x4x4xf32>
func.func @direct(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<2x4x4xf32>
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = arith.maximumf %s, %zero : tensor<2x4x4xf32>
  %t = attn.einsum "h i j -> h i"(%p) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %t, %p : tensor<2x4x8xf32>, tensor<2x4xf32>, tensor<2x4x4xf32>
}

// -----
// An attention cannot read the weights that it stores.
// REMARK: not fused: what the weights meet is made of them
// CHECK-LABEL: func.func @entangled
// CHECK-NOT: attn.attention
func.func @entangled(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %t = attn.einsum "h i j -> h j"(%p) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
  %w = attn.einsum "h j d, h j -> h j d"(%v, %t) : (tensor<2x4x8xf32>, tensor<2x4xf32>) -> tensor<2x4x8xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %w) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
