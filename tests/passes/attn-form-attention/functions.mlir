// Scores through a function, and weights without a softmax.
// RUN: skewer-opt %s -attn-form-attention -split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// CHECK-LABEL: func.func @capped
// CHECK-NEXT: attn.attention "i j" value "j e -> i e"(%arg2) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg1) scale 2.000000e-01
// CHECK-NEXT: } through {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32):
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[S]] : f32
// CHECK-NEXT: %[[C:.*]] = arith.constant 5.000000e+00 : f32
// CHECK-NEXT: %[[W:.*]] = arith.mulf %[[T]], %[[C]] : f32
// CHECK-NEXT: attn.yield %[[W]] : f32
// CHECK-NEXT: } : tensor<4x8xf32> -> tensor<4x8xf32>
func.func @capped(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %five = arith.constant dense<5.0> : tensor<4x4xf32>
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %small = arith.divf %s, %five : tensor<4x4xf32>
  %t = math.tanh %small : tensor<4x4xf32>
  %c = arith.mulf %t, %five : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%c) : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// The guard around the weights is the mask; their sum is a result, in any order.
// CHECK-LABEL: func.func @sigmoid
// CHECK: %[[O:.*]], %[[TOTAL:.*]] = attn.attention "h i j" where "j <= i" value "h j e -> h i e"(%arg2) score {
// CHECK: } through {
// CHECK: } direct : tensor<2x4x8xf32> -> tensor<2x4x8xf32> total tensor<2x4xf32>
// CHECK: %[[ROWS:.*]] = attn.einsum "h i -> i h"(%[[TOTAL]])
// CHECK: return %[[O]], %[[ROWS]]
func.func @sigmoid(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<4x2xf32>) {
  %one = arith.constant dense<1.0> : tensor<2x4x4xf32>
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %n = arith.negf %s : tensor<2x4x4xf32>
  %e = math.exp %n : tensor<2x4x4xf32>
  %d = arith.addf %one, %e : tensor<2x4x4xf32>
  %w = arith.divf %one, %d : tensor<2x4x4xf32>
  %m = attn.einsum "h i j -> h i j" where "j <= i"(%w) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%m, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %t = attn.einsum "h i j -> i h"(%m) : (tensor<2x4x4xf32>) -> tensor<4x2xf32>
  return %o, %t : tensor<2x4x8xf32>, tensor<4x2xf32>
}

// -----
// Two sums meet in the function.
// CHECK-LABEL: func.func @decay
// CHECK: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00 : tensor
// CHECK-NEXT: attn.term "h"(%arg3) times "j - i" scale 1.000000e+00 in sum 1 : tensor<2xf32>
// CHECK: ^bb0(%[[S:.*]]: f32, %[[G:.*]]: f32):
// CHECK-NEXT: %[[E:.*]] = math.exp %[[G]] : f32
// CHECK-NEXT: %[[W:.*]] = arith.mulf %[[S]], %[[E]] : f32
func.func @decay(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %rate: tensor<2xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %r = attn.rearrange "h -> h i j" sizes {i = 4 : i64, j = 4 : i64} %rate : tensor<2xf32> to tensor<2x4x4xf32>
  %p = attn.position "h i j" = "j - i" : tensor<2x4x4xf32>
  %g = arith.mulf %r, %p : tensor<2x4x4xf32>
  %e = math.exp %g : tensor<2x4x4xf32>
  %w = arith.mulf %s, %e : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// Two contents are no function of one; the message says what that costs.
// REMARK: remark: not fused: the weights are no function of one sum of products of queries and keys, and one of other terms; weights of [2,4,4] are held in memory
// CHECK-LABEL: func.func @two_contents
// CHECK-NOT: attn.attention
func.func @two_contents(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %t = attn.einsum "h i d, h j d -> h i j"(%k, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %a = math.tanh %s : tensor<2x4x4xf32>
  %b = math.exp %t : tensor<2x4x4xf32>
  %w = arith.mulf %a, %b : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// A power with a base for each head and an offset as its exponent (RetNet's decay) is a term of its own: it becomes a table of
// offsets, since the sums below it are three.
// CHECK-LABEL: func.func @power
// CHECK: %[[P:.*]] = math.powf
// CHECK: attn.attention "h i j" where "j <= i"
// CHECK: attn.term "h i d, h j d"(%arg0, %arg1)
// CHECK-NEXT: attn.term "h i j"(%[[P]]) {{.*}}sum 1
// CHECK: ^bb0(%[[S:.*]]: f32, %[[W:.*]]: f32):
// CHECK-NEXT: arith.mulf %[[S]], %[[W]] : f32
func.func @power(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>, %decay: tensor<2xf32>) -> tensor<2x64x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %base = attn.rearrange "h -> h i j" sizes {i = 64 : i64, j = 64 : i64} %decay : tensor<2xf32> to tensor<2x64x64xf32>
  %offset = attn.position "h i j" = "i - j" : tensor<2x64x64xf32>
  %power = math.powf %base, %offset : tensor<2x64x64xf32>
  %x = arith.mulf %s, %power : tensor<2x64x64xf32>
  %w = attn.einsum "h i j -> h i j" where "j <= i"(%x) : (tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%w, %v) : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %o : tensor<2x64x8xf32>
}

// -----
// A function of the query's position and of the key's, each by itself, is no function of the offset: the power is one of the scores'.
// CHECK-LABEL: func.func @power_of_places
// CHECK: attn.term "h i d, h j d"(%arg0, %arg1)
// CHECK-NEXT: attn.term "h"(%arg3) scale 1.000000e+00 in sum 1
// CHECK-NEXT: attn.term ""() times "i + j" scale 1.000000e+00 in sum 2
// CHECK: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: f32, %[[E:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = math.powf %[[B]], %[[E]] : f32
// CHECK-NEXT: arith.mulf %[[S]], %[[P]] : f32
func.func @power_of_places(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>, %decay: tensor<2xf32>) -> tensor<2x64x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> tensor<2x64x64xf32>
  %base = attn.rearrange "h -> h i j" sizes {i = 64 : i64, j = 64 : i64} %decay : tensor<2xf32> to tensor<2x64x64xf32>
  %both = attn.position "h i j" = "i + j" : tensor<2x64x64xf32>
  %power = math.powf %base, %both : tensor<2x64x64xf32>
  %x = arith.mulf %s, %power : tensor<2x64x64xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%x, %v) : (tensor<2x64x64xf32>, tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  return %o : tensor<2x64x8xf32>
}
