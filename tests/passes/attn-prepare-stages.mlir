// RUN: skewer-opt %s -attn-prepare-stages -split-input-file | FileCheck %s

// Operands of f16 are widened, and the result is rounded once.
// CHECK-LABEL: func.func @halves
// CHECK-DAG: %[[Q:.*]] = arith.extf %arg0 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-DAG: %[[K:.*]] = arith.extf %arg1 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK-DAG: %[[V:.*]] = arith.extf %arg2 : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK: %[[O:.*]] = attn.attention "i j" value "j e -> i e"(%[[V]])
// CHECK: attn.term "i d, j d"(%[[Q]], %[[K]])
// CHECK: %[[R:.*]] = arith.truncf %[[O]] : tensor<4x8xf32> to tensor<4x8xf16>
// CHECK: return %[[R]]
func.func @halves(%q: tensor<4x8xf16>, %k: tensor<4x8xf16>, %v: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %o = attn.attention "i j" value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.000000e+00 : tensor<4x8xf16>, tensor<4x8xf16>
  } : tensor<4x8xf16> -> tensor<4x8xf16>
  return %o : tensor<4x8xf16>
}

// -----
// Two equal stages become one.
// CHECK-LABEL: func.func @twice
// CHECK: %[[A:.*]] = attn.einsum
// CHECK-NOT: attn.einsum
// CHECK: arith.addf %[[A]], %[[A]]
// CHECK: arith.subf %[[A]], %[[A]]
func.func @twice(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = attn.einsum "i d, d e -> i e"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = attn.einsum "i d, d e -> i e"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %r = arith.addf %a, %b : tensor<4x8xf32>
  %s = arith.subf %a, %b : tensor<4x8xf32>
  return %r, %s : tensor<4x8xf32>, tensor<4x8xf32>
}
