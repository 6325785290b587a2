// RUN: skewer-opt %s -attn-flatten-positions -split-input-file | FileCheck %s

// The axes of a map become one axis each, which index expressions divide.
// CHECK-LABEL: func.func @map
// CHECK: attn.attention "i j" sizes {i = 24 : i64, j = 24 : i64} value "j e -> i e"(%arg2)
// CHECK: attn.term "i d, j d"(%arg0, %arg1)
// CHECK: attn.term "i d, (j floordiv 6 - i floordiv 6 + 3) d"(%arg0, %arg3)
func.func @map(%q: tensor<24x8xf32>, %k: tensor<24x8xf32>, %v: tensor<24x8xf32>, %r: tensor<7x8xf32>) -> tensor<24x8xf32> attributes {attn.flat_positions} {
  %o = attn.attention "(iy ix) (jy jx)" sizes {iy = 4 : i64, ix = 6 : i64, jy = 4 : i64, jx = 6 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<24x8xf32>, tensor<24x8xf32>
    attn.term "(iy ix) d, (jy - iy + 3) d"(%q, %r) scale 1.000000e+00 : tensor<24x8xf32>, tensor<7x8xf32>
  } : tensor<24x8xf32> -> tensor<24x8xf32>
  return %o : tensor<24x8xf32>
}

// -----
// An einsum, and a rearrangement, which becomes an einsum of one operand.
// CHECK-LABEL: func.func @others
// CHECK: attn.einsum "y d, (y floordiv 6) d -> y" sizes {d = 8 : i64, y = 24 : i64}(%arg0, %arg1)
// CHECK: attn.einsum "(6*(x mod 4) + x floordiv 4) d -> x d" sizes {d = 8 : i64, x = 24 : i64}(%arg0)
// CHECK: return
func.func @others(%x: tensor<24x8xf32>, %r: tensor<4x8xf32>) -> (tensor<24xf32>, tensor<24x8xf32>) attributes {attn.flat_positions} {
  %s = attn.einsum "(y x) d, y d -> (y x)" sizes {y = 4 : i64, x = 6 : i64}(%x, %r) : (tensor<24x8xf32>, tensor<4x8xf32>) -> tensor<24xf32>
  %t = attn.rearrange "(y x) d -> (x y) d" sizes {y = 4 : i64, x = 6 : i64} %x : tensor<24x8xf32> to tensor<24x8xf32>
  return %s, %t : tensor<24xf32>, tensor<24x8xf32>
}

// -----
// Without the attribute everything stays.
// CHECK-LABEL: func.func @stays
// CHECK: attn.attention "(iy ix) (jy jx)"
func.func @stays(%q: tensor<24x8xf32>, %k: tensor<24x8xf32>, %v: tensor<24x8xf32>) -> tensor<24x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" sizes {iy = 4 : i64, ix = 6 : i64, jy = 4 : i64, jx = 6 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<24x8xf32>, tensor<24x8xf32>
  } : tensor<24x8xf32> -> tensor<24x8xf32>
  return %o : tensor<24x8xf32>
}
