// RUN: skewer-opt %s -attn-split-blocks -split-input-file | FileCheck %s

// Blocks of 4 x 4 of a map of 16 x 12 see what is 1 around them: 6 x 6 keys, of which those outside the map are masked,
// and read as 0. The row of a table by key - query is one of the block's.
// CHECK-LABEL: func.func @halo
// CHECK: %[[K:.*]] = attn.einsum "(48*h + 12*jy + 4*g + jx - 13) d -> h g (jy jx) d" where "0 < 4*g + jx and 0 < 4*h + jy and 4*g + jx <= 12 and 4*h + jy <= 16" {{.*}}(%arg1)
// CHECK: %[[V:.*]] = attn.einsum "(48*h + 12*jy + 4*g + jx - 13) e -> h g (jy jx) e" where "0 < 4*g + jx and 0 < 4*h + jy and 4*g + jx <= 12 and 4*h + jy <= 16" {{.*}}(%arg2)
// CHECK: %[[O:.*]], %[[L:.*]] = attn.attention "h g (iy ix) (jy jx)" where "0 < 4*g + jx and 0 < 4*h + jy and 4*g + jx <= 12 and 4*h + jy <= 16"
// CHECK-SAME: value "h g (jy jx) e -> (h iy g ix) e"(%[[V]])
// CHECK: attn.term "(h iy g ix) d, h g (jy jx) d"(%arg0, %[[K]])
// CHECK: attn.term "(h iy g ix) d, (jy - iy + 4) d"(%arg0, %arg3)
// CHECK: attn.rearrange "h g (iy ix) -> (h iy g ix)" {{.*}}%[[L]]
func.func @halo(%q: tensor<192x8xf32>, %k: tensor<192x8xf32>, %v: tensor<192x8xf32>, %t: tensor<11x8xf32>) -> (tensor<192x8xf32>, tensor<192xf32>) {
  %o, %lse = attn.attention "(i0 i1 i2 i3) (jy jx)" where "jy <= 4*i0 + 4 and 4*i0 <= jy + 1 and jx <= 4*i2 + 4 and 4*i2 <= jx + 1" sizes {i0 = 4 : i64, i1 = 4 : i64, i2 = 3 : i64, i3 = 4 : i64, jy = 16 : i64, jx = 12 : i64} value "(jy jx) e -> (i0 i1 i2 i3) e"(%v) score {
    attn.term "(i0 i1 i2 i3) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<192x8xf32>, tensor<192x8xf32>
    attn.term "(i0 i1 i2 i3) d, (jy - 4*i0 - i1 + 5) d"(%q, %t) scale 1.000000e+00 : tensor<192x8xf32>, tensor<11x8xf32>
  } : tensor<192x8xf32> -> tensor<192x8xf32> lse tensor<192xf32>
  return %o, %lse : tensor<192x8xf32>, tensor<192xf32>
}

// -----
// Blocks of 4 on a map of 18 x 11: of the last blocks two lines are there, or three columns. Queries of those that are
// not are 0, and what comes of them, as of a map of 20 x 12, is cut off, numbers of rows too.
// CHECK-LABEL: func.func @ragged
// CHECK: %[[Q:.*]] = attn.einsum "(44*h + 11*iy + 4*g + ix) d -> h g (iy ix) d" where "4*g + ix <= 10 and 4*h + iy <= 17" {{.*}}(%arg0)
// CHECK: %[[K:.*]] = attn.einsum "(44*h + 11*jy + 4*g + jx - 12) d -> h g (jy jx) d" where "0 < 4*g + jx and 0 < 4*h + jy and 4*g + jx <= 11 and 4*h + jy <= 18" {{.*}}(%arg1)
// CHECK: %[[O:.*]], %[[L:.*]] = attn.attention "h g (iy ix) (jy jx)"
// CHECK-SAME: e -> (h iy g ix) e"
// CHECK: attn.term "h g (iy ix) d, h g (jy jx) d"(%[[Q]], %[[K]])
// CHECK: tensor<240x8xf32> lse tensor<5x3x16xf32>
// CHECK: %[[R:.*]] = attn.einsum "(12*iy + ix) e -> (iy ix) e" sizes {e = 8 : i64, ix = 11 : i64, iy = 18 : i64}(%[[O]]) : (tensor<240x8xf32>) -> tensor<198x8xf32>
// CHECK: %[[ROWS:.*]] = attn.rearrange "h g (iy ix) -> (h iy g ix)" {{.*}}%[[L]] : tensor<5x3x16xf32> to tensor<240xf32>
// CHECK: %[[M:.*]] = attn.einsum "(12*iy + ix) -> (iy ix)" {{.*}}(%[[ROWS]]) : (tensor<240xf32>) -> tensor<198xf32>
// CHECK: return %[[R]], %[[M]]
func.func @ragged(%q: tensor<198x8xf32>, %k: tensor<198x8xf32>, %v: tensor<198x8xf32>) -> (tensor<198x8xf32>, tensor<198xf32>) {
  %o, %lse = attn.attention "(iy ix) (jy jx)" where "jy <= 4*(iy floordiv 4) + 4 and 4*(iy floordiv 4) <= jy + 1 and jx <= 4*(ix floordiv 4) + 4 and 4*(ix floordiv 4) <= jx + 1" sizes {iy = 18 : i64, ix = 11 : i64, jy = 18 : i64, jx = 11 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<198x8xf32>, tensor<198x8xf32>
  } : tensor<198x8xf32> -> tensor<198x8xf32> lse tensor<198xf32>
  return %o, %lse : tensor<198x8xf32>, tensor<198xf32>
}

// -----
// A bias that a query of those that are not there would read behind its end: the map stays whole.
// CHECK-LABEL: func.func @behind
// CHECK: attn.attention "(iy ix) (jy jx)"
func.func @behind(%q: tensor<306x8xf32>, %k: tensor<306x8xf32>, %v: tensor<306x8xf32>, %t: tensor<18x18xf32>) -> tensor<306x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" where "jy <= 4*(iy floordiv 4) + 4 and 4*(iy floordiv 4) <= jy + 1" sizes {iy = 18 : i64, ix = 17 : i64, jy = 18 : i64, jx = 17 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<306x8xf32>, tensor<306x8xf32>
    attn.term "iy jy"(%t) scale 1.000000e+00 : tensor<18x18xf32>
  } : tensor<306x8xf32> -> tensor<306x8xf32>
  return %o : tensor<306x8xf32>
}

// -----
// Three quarters of the map: it stays whole.
// CHECK-LABEL: func.func @wide
// CHECK: attn.attention "(i0 i1 i2 i3) (jy jx)"
func.func @wide(%q: tensor<64x8xf32>, %k: tensor<64x8xf32>, %v: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %o = attn.attention "(i0 i1 i2 i3) (jy jx)" where "jy <= 4*i0 + 5 and 4*i0 <= jy + 2 and jx <= 4*i2 + 5 and 4*i2 <= jx + 2" sizes {i0 = 2 : i64, i1 = 4 : i64, i2 = 2 : i64, i3 = 4 : i64, jy = 8 : i64, jx = 8 : i64} value "(jy jx) e -> (i0 i1 i2 i3) e"(%v) score {
    attn.term "(i0 i1 i2 i3) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<64x8xf32>, tensor<64x8xf32>
  } : tensor<64x8xf32> -> tensor<64x8xf32>
  return %o : tensor<64x8xf32>
}

// -----
// Blocks of 3 of a line of 4 queries: what comes of the two that are not there is cut off.
// CHECK-LABEL: func.func @line
// CHECK: %[[O:.*]], %[[L:.*]] = attn.attention "h i (jy jx)"
// CHECK: lse tensor<2x3xf32>
// CHECK: %[[R:.*]] = attn.einsum "(min(i, 5)) e -> i e" sizes {e = 8 : i64, i = 4 : i64}(%[[O]]) : (tensor<6x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[ROWS:.*]] = attn.rearrange "h i -> (h i)" %[[L]] : tensor<2x3xf32> to tensor<6xf32>
// CHECK: %[[M:.*]] = attn.einsum "(min(i, 5)) -> i" {{.*}}(%[[ROWS]]) : (tensor<6xf32>) -> tensor<4xf32>
// CHECK: return %[[R]], %[[M]]
func.func @line(%q: tensor<4x8xf32>, %k: tensor<63x8xf32>, %v: tensor<63x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %o, %lse = attn.attention "i (jy jx)" where "i floordiv 3 == jy" sizes {i = 4 : i64, jy = 21 : i64, jx = 3 : i64} value "(jy jx) e -> i e"(%v) score {
    attn.term "i d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<4x8xf32>, tensor<63x8xf32>
  } : tensor<63x8xf32> -> tensor<4x8xf32> lse tensor<4xf32>
  return %o, %lse : tensor<4x8xf32>, tensor<4xf32>
}
