// RUN: skewer-opt %s -attn-form-attention -split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t
// A logsumexp of a softmax's scores is the second result of their attention.

// CHECK-LABEL: func.func @beside
// CHECK-NEXT: %result, %lse = attn.attention "h i j" where "j <= i" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %result, %lse
func.func @beside(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x5x8xf32>) -> tensor<2x4x5xf32>
  %p = attn.softmax "h i j" over "j" where "j <= i"(%s) : tensor<2x4x5xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x5xf32>, tensor<2x5x8xf32>) -> tensor<2x4x8xf32>
  %l = attn.logsumexp "h i j" over "j" where "j <= i"(%s) : tensor<2x4x5xf32> -> tensor<2x4xf32>
  return %o, %l : tensor<2x4x8xf32>, tensor<2x4xf32>
}

// -----
// Scores that were written twice are one.
// CHECK-LABEL: func.func @written_twice
// CHECK-NEXT: %result, %lse = attn.attention "i j" value "j e -> i e"(%arg1) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg0) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %result, %lse
func.func @written_twice(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %t = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %l = attn.logsumexp "i j" over "j"(%t) : tensor<4x4xf32> -> tensor<4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %l : tensor<4x8xf32>, tensor<4xf32>
}

// -----
// A term of the query alone does not change the weights, but changes the logsumexp: it is added afterwards.
// REMARK: depends on the query only: softmax is invariant to it, so it is added to the lse alone
// CHECK-LABEL: func.func @query_only
// CHECK: %[[I:.*]] = arith.subf
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i -> i"(%arg2)
// CHECK-NEXT: %result, %lse = attn.attention "i j" value "j e -> i e"(%arg1) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term "i"(%[[I]]) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: %[[V1:.*]] = arith.constant dense<1.000000e+00>
// CHECK-NEXT: %[[V2:.*]] = arith.mulf %[[V0]], %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = arith.addf %lse, %[[V2]]
// CHECK-NEXT: return %result, %[[V3]]
func.func @query_only(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>, %t: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %v) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %w = attn.rearrange "i -> i j" sizes {j = 4 : i64} %t : tensor<4xf32> to tensor<4x4xf32>
  %a = arith.addf %s, %w : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%a) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = attn.logsumexp "i j" over "j"(%a) : tensor<4x4xf32> -> tensor<4xf32>
  return %o, %l : tensor<4x8xf32>, tensor<4xf32>
}

// -----
// With another mask, or of other scores, it is a stage of its own.
// CHECK-LABEL: func.func @other_mask
// CHECK: %[[V0:.*]] = attn.attention "i j" where "j <= i" value "j e -> i e"(%arg1) score {
// CHECK: %[[V1:.*]] = attn.logsumexp "i j" over "j"(%{{.*}})
func.func @other_mask(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %v) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = attn.logsumexp "i j" over "j"(%s) : tensor<4x4xf32> -> tensor<4xf32>
  return %o, %l : tensor<4x8xf32>, tensor<4xf32>
}

// -----
// Values that are made from the logsumexp cannot wait for their attention.
// CHECK-LABEL: func.func @values_of_it
// CHECK: %[[V0:.*]] = attn.logsumexp "i j" over "j"(%{{.*}})
// CHECK: %[[V1:.*]] = attn.attention "i j" value "j e -> i e"(%{{.*}}) score {
func.func @values_of_it(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %l = attn.logsumexp "i j" over "j"(%s) : tensor<4x4xf32> -> tensor<4xf32>
  %w = attn.rearrange "j -> j d" sizes {d = 8 : i64} %l : tensor<4xf32> to tensor<4x8xf32>
  %x = arith.mulf %v, %w : tensor<4x8xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %x) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Heads after queries in the result: both results are put into the program's order.
// CHECK-LABEL: func.func @other_order
// CHECK-NEXT: %result, %lse = attn.attention "h i j" value "h j e -> h i e"(%arg1) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: %[[V0:.*]] = attn.rearrange "h i e -> i h e" %result
// CHECK-NEXT: %[[V1:.*]] = attn.rearrange "h i -> i h" %lse
// CHECK-NEXT: return %[[V0]], %[[V1]]
func.func @other_order(%q: tensor<2x4x8xf32>, %v: tensor<2x5x8xf32>) -> (tensor<4x2x8xf32>, tensor<4x2xf32>) {
  %s = attn.einsum "h i d, h j d -> i h j"(%q, %v) : (tensor<2x4x8xf32>, tensor<2x5x8xf32>) -> tensor<4x2x5xf32>
  %p = attn.softmax "i h j" over "j"(%s) : tensor<4x2x5xf32>
  %o = attn.einsum "i h j, h j d -> i h d"(%p, %v) : (tensor<4x2x5xf32>, tensor<2x5x8xf32>) -> tensor<4x2x8xf32>
  %l = attn.logsumexp "i h j" over "j"(%s) : tensor<4x2x5xf32> -> tensor<4x2xf32>
  return %o, %l : tensor<4x2x8xf32>, tensor<4x2xf32>
}
