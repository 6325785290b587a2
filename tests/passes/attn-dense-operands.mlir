// RUN: skewer-opt %s -attn-dense-operands -split-input-file | FileCheck %s

// The example of the pass's description: windows of a larger map that overlap.
// CHECK-LABEL: func.func @example
// CHECK-DAG: %[[V:.*]] = attn.einsum "(2*y + jy) (jx + 1) e -> y (jy jx) e" sizes {{[{].*[}]}}(%arg2) : (tensor<8x6x8xf32>) -> tensor<3x16x8xf32>
// CHECK-DAG: %[[K:.*]] = attn.einsum "(2*y + jy) (jx + 1) d -> y (jy jx) d" sizes {{[{].*[}]}}(%arg1) : (tensor<8x6x8xf32>) -> tensor<3x16x8xf32>
// CHECK: value "y (jy jx) e -> y i e"(%[[V]])
// CHECK: attn.term "y i d, y (jy jx) d"(%arg0, %[[K]])
func.func @example(%q: tensor<3x4x8xf32>, %k: tensor<8x6x8xf32>, %v: tensor<8x6x8xf32>) -> tensor<3x4x8xf32> {
  %o = attn.attention "y i (jy jx)" sizes {jy = 4 : i64, jx = 4 : i64} value "(2*y + jy) (jx + 1) e -> y i e"(%v) score {
    attn.term "y i d, (2*y + jy) (jx + 1) d"(%q, %k) scale 1.000000e+00 : tensor<3x4x8xf32>, tensor<8x6x8xf32>
  } : tensor<8x6x8xf32> -> tensor<3x4x8xf32>
  return %o : tensor<3x4x8xf32>
}

// -----
// Even strides stay: keys of a whole map, and a table with a row for each place of one axis.
// CHECK-LABEL: func.func @even
// CHECK-NOT: attn.einsum
// CHECK: return
func.func @even(%q: tensor<4x8xf32>, %k: tensor<3x5x8xf32>, %v: tensor<15x8xf32>, %t: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i (jy jx)" sizes {jy = 3 : i64, jx = 5 : i64} value "(jy jx) e -> i e"(%v) score {
    attn.term "i d, jy jx d"(%q, %k) scale 1.000000e+00 : tensor<4x8xf32>, tensor<3x5x8xf32>
    attn.term "i d, jy d"(%q, %t) scale 1.000000e+00 : tensor<4x8xf32>, tensor<3x8xf32>
  } : tensor<15x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Tokens in the other order: keys column by column.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[K:.*]] = attn.einsum "jx jy d -> (jy jx) d"
// CHECK: attn.term "i d, (jy jx) d"(%arg0, %[[K]])
func.func @transposed(%q: tensor<4x8xf32>, %k: tensor<5x3x8xf32>, %v: tensor<15x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i (jy jx)" sizes {jy = 3 : i64, jx = 5 : i64} value "(jy jx) e -> i e"(%v) score {
    attn.term "i d, jx jy d"(%q, %k) scale 1.000000e+00 : tensor<4x8xf32>, tensor<5x3x8xf32>
  } : tensor<15x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
