// RUN: skewer-opt %s -attn-propagate-masks -split-input-file | FileCheck %s
// exp of what a condition leaves, and -inf elsewhere, is nothing there.

// CHECK-LABEL: func.func @decay
// CHECK: %[[E:.*]] = math.exp %arg0
// CHECK: %[[W:.*]] = attn.einsum "i j -> i j" where "j <= i"(%[[E]])
// CHECK: return %[[W]]
func.func @decay(%l: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %shown = attn.einsum "i j -> i j" where "j <= i"(%l) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %inf = arith.constant dense<0xFF800000> : tensor<8x8xf32>
  %hidden = attn.einsum "a b -> a b" where "a < b"(%inf) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = arith.addf %shown, %hidden : tensor<8x8xf32>
  %e = math.exp %sum : tensor<8x8xf32>
  return %e : tensor<8x8xf32>
}

// -----
// Where the conditions leave elements that neither names, or both, exp sees numbers there.
// CHECK-LABEL: func.func @apart
// CHECK: math.exp %{{.*}} : tensor<8x8xf32>
// CHECK-NEXT: return
func.func @apart(%l: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %shown = attn.einsum "i j -> i j" where "j < i"(%l) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %inf = arith.constant dense<0xFF800000> : tensor<8x8xf32>
  %hidden = attn.einsum "i j -> i j" where "i < j"(%inf) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = arith.addf %shown, %hidden : tensor<8x8xf32>
  %e = math.exp %sum : tensor<8x8xf32>
  return %e : tensor<8x8xf32>
}
