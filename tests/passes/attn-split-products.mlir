// RUN: skewer-opt %s -attn-split-products -split-input-file | FileCheck %s
// What comes out is fused.
// RUN: skewer-opt %s -attn-split-products -attn-form-attention -split-input-file | FileCheck %s --check-prefix=FUSED

// The example of the pass's description.
// CHECK-LABEL: func.func @difference
// CHECK: %[[P:.*]] = attn.softmax "i j" over "j"(%arg0)
// CHECK: %[[Q:.*]] = attn.softmax "i j" over "j"(%arg1)
// CHECK: %[[A:.*]] = attn.einsum "i j, j c -> i c"(%[[P]], %arg2)
// CHECK: %[[B:.*]] = attn.einsum "i j, j c -> i c"(%[[Q]], %arg2)
// CHECK: arith.subf %[[A]], %[[B]] : tensor<4x8xf32>
// FUSED-LABEL: func.func @difference
// FUSED-COUNT-2: attn.attention
func.func @difference(%s: tensor<4x4xf32>, %t: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %q = attn.softmax "i j" over "j"(%t) : tensor<4x4xf32>
  %w = arith.subf %p, %q : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%w, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A factor of the head goes to the values.
// CHECK-LABEL: func.func @factor
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: %[[V:.*]] = attn.einsum "h j c, h -> h j c"(%arg2, %arg1)
// CHECK: attn.einsum "h i j, h j c -> h i c"(%[[P]], %[[V]])
// FUSED-LABEL: func.func @factor
// FUSED: attn.attention
func.func @factor(%s: tensor<2x4x4xf32>, %lambda: tensor<2xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %l = attn.rearrange "h -> h i j" sizes {i = 4 : i64, j = 4 : i64} %lambda : tensor<2xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %l, %p : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// A factor of the query is multiplied afterwards.
// CHECK-LABEL: func.func @of_the_query
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: %[[O:.*]] = attn.einsum "h i j, h j c -> h i c"(%[[P]], %arg2)
// CHECK: attn.einsum "h i c, i -> h i c"(%[[O]], %arg1)
// FUSED-LABEL: func.func @of_the_query
// FUSED: attn.attention
func.func @of_the_query(%s: tensor<2x4x4xf32>, %gate: tensor<4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %l = attn.rearrange "i -> h i j" sizes {h = 2 : i64, j = 4 : i64} %gate : tensor<4xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %l, %p : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// One of the heads that share values, too; a sum of learned numbers is one factor.
// CHECK-LABEL: func.func @of_shared_values
// CHECK: %[[N:.*]] = arith.subf %arg1, %arg2
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: %[[O:.*]] = attn.einsum "g r i j, g j c -> g r i c"(%[[P]], %arg3)
// CHECK: attn.einsum "g r i c, r -> g r i c"(%[[O]], %[[N]])
// FUSED-LABEL: func.func @of_shared_values
// FUSED: attn.attention
func.func @of_shared_values(%s: tensor<3x2x4x4xf32>, %a: tensor<2xf32>, %b: tensor<2xf32>, %v: tensor<3x4x8xf32>) -> tensor<3x2x4x8xf32> {
  %n = arith.subf %a, %b : tensor<2xf32>
  %p = attn.softmax "g r i j" over "j"(%s) : tensor<3x2x4x4xf32>
  %l = attn.rearrange "r -> g r i j" sizes {g = 3 : i64, i = 4 : i64, j = 4 : i64} %n : tensor<2xf32> to tensor<3x2x4x4xf32>
  %w = arith.mulf %l, %p : tensor<3x2x4x4xf32>
  %o = attn.einsum "g r i j, g j c -> g r i c"(%w, %v) : (tensor<3x2x4x4xf32>, tensor<3x4x8xf32>) -> tensor<3x2x4x8xf32>
  return %o : tensor<3x2x4x8xf32>
}

// -----
// A factor of query and key stays where it is.
// CHECK-LABEL: func.func @of_both
// CHECK: %[[W:.*]] = arith.mulf
// CHECK: attn.einsum "i j, j c -> i c"(%[[W]], %arg2)
// FUSED-LABEL: func.func @of_both
func.func @of_both(%s: tensor<4x4xf32>, %gate: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %w = arith.mulf %gate, %p : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%w, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Weights divided by a function of their sums: divided afterwards.
// CHECK-LABEL: func.func @normalised
// CHECK: %[[W:.*]] = arith.maximumf
// CHECK: %[[S:.*]] = attn.einsum "i j -> i"(%[[W]])
// CHECK: %[[N:.*]] = arith.addf %[[S]]
// CHECK: %[[O:.*]] = attn.einsum "i j, j c -> i c"(%[[W]], %arg1)
// CHECK: %[[R:.*]] = attn.einsum "i -> i c" sizes {c = 8 : i64}(%[[N]])
// CHECK: arith.divf %[[O]], %[[R]] : tensor<4x8xf32>
// FUSED-LABEL: func.func @normalised
func.func @normalised(%s: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant dense<0.000000e+00> : tensor<4x4xf32>
  %least = arith.constant dense<1.000000e-06> : tensor<4xf32>
  %w = arith.maximumf %s, %zero : tensor<4x4xf32>
  %sum = attn.einsum "i j -> i"(%w) : (tensor<4x4xf32>) -> tensor<4xf32>
  %more = arith.addf %sum, %least : tensor<4xf32>
  %all = attn.rearrange "i -> i j" sizes {j = 4 : i64} %more : tensor<4xf32> to tensor<4x4xf32>
  %p = arith.divf %w, %all : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Divided by the sums of something else they stay as they are.
// CHECK-LABEL: func.func @divided
// CHECK: %[[P:.*]] = arith.divf
// CHECK: attn.einsum "i j, j c -> i c"(%[[P]], %arg2)
// FUSED-LABEL: func.func @divided
func.func @divided(%s: tensor<4x4xf32>, %t: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %sum = attn.einsum "i j -> i"(%t) : (tensor<4x4xf32>) -> tensor<4xf32>
  %all = attn.rearrange "i -> i j" sizes {j = 4 : i64} %sum : tensor<4xf32> to tensor<4x4xf32>
  %p = arith.divf %s, %all : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Mamba-2: decays of pairs are multiplied after the product; step sizes go to the values.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[S:.*]] = attn.einsum "i n, j n -> h i j" {{.*}}where "j <= i"{{.*}}(%arg0, %arg1)
// CHECK: %[[W:.*]] = arith.mulf %[[S]], %arg2 : tensor<2x4x4xf32>
// CHECK: %[[V:.*]] = attn.einsum "j h, j h c -> j h c"(%arg3, %arg4)
// CHECK: attn.einsum "h i j, j h c -> i h c"(%[[W]], %[[V]])
// FUSED-LABEL: func.func @pairs
func.func @pairs(%c: tensor<4x8xf32>, %b: tensor<4x8xf32>, %decay: tensor<2x4x4xf32>, %delta: tensor<4x2xf32>,
                 %x: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
  %m = attn.einsum "i n, j n, h i j -> h i j" where "j <= i"(%c, %b, %decay)
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %o = attn.einsum "h i j, j h, j h c -> i h c"(%m, %delta, %x)
      : (tensor<2x4x4xf32>, tensor<4x2xf32>, tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
  return %o : tensor<4x2x8xf32>
}
