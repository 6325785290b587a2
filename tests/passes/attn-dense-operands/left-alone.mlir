// RUN: skewer-opt %s -attn-dense-operands -split-input-file | FileCheck %s

// A read through run-time indices has no view; neither has a read that may be outside under a mask.
// CHECK-LABEL: func.func @indices
// CHECK-NOT: attn.einsum
// CHECK: return
func.func @indices(%q: tensor<4x8xf32>, %k: tensor<9x8xf32>, %v: tensor<6x8xf32>,
                   %at: tensor<6xi32> {attn.name = "at", attn.range = array<i64: 0, 8>}) -> tensor<4x8xf32> {
  %o = attn.attention "i (jy jx)" where "2*jy + 2*jx <= 5" sizes {jy = 2 : i64, jx = 3 : i64} value "(jy jx) e -> i e"(%v) score {
    attn.term "i d, (at[3*jy + jx]) d" indices(at = %at : tensor<6xi32>)(%q, %k) scale 1.000000e+00 : tensor<4x8xf32>, tensor<9x8xf32>
    attn.term "i d, (2*jy + 2*jx) d"(%q, %v) scale 1.000000e+00 : tensor<4x8xf32>, tensor<6x8xf32>
  } : tensor<6x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Queries of a map that is read in steps of two, backwards along the other axis; each head has its own.
// CHECK-LABEL: func.func @queries
// CHECK: %[[Q:.*]] = attn.einsum "h (2*iy) (3 - ix) d -> h (iy ix) d"{{.*}}(%arg0) : (tensor<2x5x4x8xf32>) -> tensor<2x12x8xf32>
// CHECK: attn.term "h (iy ix) d, h j d"(%[[Q]], %arg1)
func.func @queries(%q: tensor<2x5x4x8xf32>, %k: tensor<2x6x8xf32>) -> tensor<2x12x8xf32> {
  %o = attn.attention "h (iy ix) j" sizes {iy = 3 : i64, ix = 4 : i64} value "h j e -> h (iy ix) e"(%k) score {
    attn.term "h (2*iy) (3 - ix) d, h j d"(%q, %k) scale 1.000000e+00 : tensor<2x5x4x8xf32>, tensor<2x6x8xf32>
  } : tensor<2x6x8xf32> -> tensor<2x12x8xf32>
  return %o : tensor<2x12x8xf32>
}

// -----
// An axis of one element has no stride: keys of one line of a map have an even stride.
// CHECK-LABEL: func.func @one_line
// CHECK-NOT: attn.einsum
// CHECK: return
func.func @one_line(%q: tensor<4x8xf32>, %k: tensor<7x5x8xf32>, %v: tensor<5x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i (jy jx)" sizes {jy = 1 : i64, jx = 5 : i64} value "(jy jx) e -> i e"(%v) score {
    attn.term "i d, (3*jy) jx d"(%q, %k) scale 1.000000e+00 : tensor<4x8xf32>, tensor<7x5x8xf32>
  } : tensor<5x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Lines with room between them.
// CHECK-LABEL: func.func @room_between
// CHECK: %[[V:.*]] = attn.einsum "jy (jx + 1) e -> (jy jx) e"{{.*}}(%arg1) : (tensor<3x5x8xf32>) -> tensor<12x8xf32>
// CHECK: value "(jy jx) e -> i e"(%[[V]])
func.func @room_between(%q: tensor<4x8xf32>, %v: tensor<3x5x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i (jy jx)" sizes {jy = 3 : i64, jx = 4 : i64} value "jy (jx + 1) e -> i e"(%v) score {
    attn.term "i d, jy (4 - jx) d"(%q, %v) scale 1.000000e+00 : tensor<4x8xf32>, tensor<3x5x8xf32>
  } : tensor<3x5x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
