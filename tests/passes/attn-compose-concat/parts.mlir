// RUN: skewer-opt %s -attn-compose-concat -split-input-file | FileCheck %s

// Three parts in the order of a rotation; parts of parts; a reshape between.
// CHECK-LABEL: func.func @three
// CHECK: %[[R:.*]] = attn.einsum "((d0 + 5) mod 9) -> d0" sizes {d0 = 9 : i64}(%arg0) : (tensor<9xf32>) -> tensor<9xf32>
// CHECK: return %[[R]]
func.func @three(%x: tensor<9xf32>) -> tensor<9xf32> {
  %a = attn.slice %x offsets [5] strides [1] : tensor<9xf32> to tensor<3xf32>
  %b = attn.slice %x offsets [8] strides [1] : tensor<9xf32> to tensor<1xf32>
  %c = attn.slice %x offsets [0] strides [1] : tensor<9xf32> to tensor<5xf32>
  %r = attn.concat %a, %b, %c dimension 0 : (tensor<3xf32>, tensor<1xf32>, tensor<5xf32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// -----
// Two negations cancel.
// CHECK-LABEL: func.func @twice_negated
// CHECK-NOT: arith.constant
// CHECK: attn.einsum "((d0 + 2) mod 4) -> d0" sizes {d0 = 4 : i64}(%arg0)
func.func @twice_negated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %m = arith.negf %x : tensor<4xf32>
  %a = attn.slice %m offsets [2] strides [1] : tensor<4xf32> to tensor<2xf32>
  %n = arith.negf %a : tensor<2xf32>
  %b = attn.slice %x offsets [0] strides [1] : tensor<4xf32> to tensor<2xf32>
  %r = attn.concat %n, %b dimension 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----
// Padding is no part of the tensor; a part with rows in another order is read in another way along two
// dimensions at once.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: attn.concat
// CHECK: return
func.func @others(%x: tensor<4x4xf32>) -> (tensor<4x5xf32>, tensor<4x8xf32>) {
  %p = attn.pad %x low [0, 1] high [0, 0] value 0.000000e+00 : tensor<4x4xf32> to tensor<4x5xf32>
  %a = attn.slice %p offsets [0, 0] strides [1, 1] : tensor<4x5xf32> to tensor<4x1xf32>
  %r = attn.concat %x, %a dimension 1 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x5xf32>
  %t = attn.rearrange "a b -> b a" %x : tensor<4x4xf32> to tensor<4x4xf32>
  %s = attn.concat %x, %t dimension 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %r, %s : tensor<4x5xf32>, tensor<4x8xf32>
}
