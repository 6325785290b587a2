// RUN: skewer-opt %s -attn-compose-concat -split-input-file | FileCheck %s

// The example of the pass's description: rotate_half.
// CHECK-LABEL: func.func @example
// CHECK: %[[S:.*]] = arith.constant dense<[-1.000000e+00, -1.000000e+00, 1.000000e+00, 1.000000e+00]> : tensor<4xf32>
// CHECK: %[[R:.*]] = attn.einsum "d0 ((d1 + 2) mod 4), d1 -> d0 d1"(%arg0, %[[S]]) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[R]]
func.func @example(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %a = attn.slice %x offsets [0, 2] strides [1, 1] : tensor<3x4xf32> to tensor<3x2xf32>
  %n = arith.negf %a : tensor<3x2xf32>
  %b = attn.slice %x offsets [0, 0] strides [1, 1] : tensor<3x4xf32> to tensor<3x2xf32>
  %r = attn.concat %n, %b dimension 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----
// A table with repeated columns; a negation below the slice; a run-time size.
// CHECK-LABEL: func.func @twice
// CHECK-NOT: attn.concat
// CHECK: %[[R:.*]] = attn.einsum "d0 d1x -> d0 (d1y d1x)" sizes {d1y = 2 : i64}(%arg0) : (tensor<?x3xf32>) -> tensor<?x6xf32>
// CHECK: %[[N:.*]] = arith.constant dense<[1.000000e+00, 1.000000e+00, -1.000000e+00]> : tensor<3xf32>
// CHECK: %[[S:.*]] = attn.einsum "d0 ((d1 + 1) mod 3), d1 -> d0 d1"(%arg0, %[[N]])
// CHECK: return %[[R]], %[[S]]
func.func @twice(%x: tensor<?x3xf32>) -> (tensor<?x6xf32>, tensor<?x3xf32>) {
  %r = attn.concat %x, %x dimension 1 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x6xf32>
  %n = arith.negf %x : tensor<?x3xf32>
  %a = attn.slice %x offsets [0, 1] strides [1, 1] : tensor<?x3xf32> to tensor<?x2xf32>
  %b = attn.slice %n offsets [0, 0] strides [1, 1] : tensor<?x3xf32> to tensor<?x1xf32>
  %s = attn.concat %a, %b dimension 1 : (tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x3xf32>
  return %r, %s : tensor<?x6xf32>, tensor<?x3xf32>
}

// -----
// Two tensors, every second element, and a missing part are no rotation.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: attn.concat
// CHECK: return
func.func @others(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<3xf32>) {
  %r = attn.concat %x, %y dimension 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %a = attn.slice %x offsets [1] strides [2] : tensor<4xf32> to tensor<2xf32>
  %b = attn.slice %x offsets [0] strides [1] : tensor<4xf32> to tensor<2xf32>
  %s = attn.concat %a, %b dimension 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %c = attn.slice %x offsets [3] strides [1] : tensor<4xf32> to tensor<1xf32>
  %t = attn.concat %b, %c dimension 0 : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
  return %r, %s, %t : tensor<8xf32>, tensor<4xf32>, tensor<3xf32>
}
