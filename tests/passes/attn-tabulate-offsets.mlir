// RUN: skewer-opt %s -attn-tabulate-offsets -split-input-file | FileCheck %s

// The example of the pass's description.
// CHECK-LABEL: func.func @example
// CHECK: %[[F:.*]] = math.exp
// CHECK: %[[T:.*]] = attn.einsum "h (max(-r1, -63) + 63) (max(r1, 63) - 63) -> h r1" sizes {r1 = 127 : i64}(%[[F]]) : (tensor<2x64x64xf32>) -> tensor<2x127xf32>
// CHECK: attn.term "h (j - i + 63)"(%[[T]]) scale 1.000000e+00 : tensor<2x127xf32>
func.func @example(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>, %slope: tensor<2xf32>) -> tensor<2x64x8xf32> {
  %d = attn.position "h i j" = "abs(i - j)" : tensor<2x64x64xf32>
  %s = attn.rearrange "h -> h i j" sizes {i = 64 : i64, j = 64 : i64} %slope : tensor<2xf32> to tensor<2x64x64xf32>
  %x = arith.mulf %s, %d : tensor<2x64x64xf32>
  %f = math.exp %x : tensor<2x64x64xf32>
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term "h i d, h j d"(%q, %k) scale 1.000000e+00 : tensor<2x64x8xf32>, tensor<2x64x8xf32>
    attn.term "h i j"(%f) scale 1.000000e+00 : tensor<2x64x64xf32>
  } : tensor<2x64x8xf32> -> tensor<2x64x8xf32>
  return %o : tensor<2x64x8xf32>
}

// -----
// Query and key both matter, so there is nothing to tabulate; the same of an operand that is in memory.
// CHECK-LABEL: func.func @both
// CHECK: attn.term "i j"(%{{.*}}) scale 1.000000e+00 : tensor<64x64xf32>
// CHECK-NEXT: attn.term "i j"(%arg3) scale 1.000000e+00 : tensor<64x64xf32>
func.func @both(%q: tensor<64x8xf32>, %k: tensor<64x8xf32>, %v: tensor<64x8xf32>, %t: tensor<64x64xf32>) -> tensor<64x8xf32> {
  %d = attn.position "i j" = "i*j" : tensor<64x64xf32>
  %f = math.exp %d : tensor<64x64xf32>
  %o = attn.attention "i j" value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.000000e+00 : tensor<64x8xf32>, tensor<64x8xf32>
    attn.term "i j"(%f) scale 1.000000e+00 : tensor<64x64xf32>
    attn.term "i j"(%t) scale 1.000000e+00 : tensor<64x64xf32>
  } : tensor<64x8xf32> -> tensor<64x8xf32>
  return %o : tensor<64x8xf32>
}

// -----
// Offsets of a map, from a table that is read by them: a row for each pair of offsets.
// CHECK-LABEL: func.func @map
// CHECK: attn.einsum {{.*}} -> tensor<7x11xf32>
// CHECK: attn.term "(jy - iy + 3) (jx - ix + 5)"(%{{.*}}) scale 1.000000e+00 : tensor<7x11xf32>
func.func @map(%q: tensor<24x8xf32>, %k: tensor<24x8xf32>, %v: tensor<24x8xf32>, %t: tensor<77xf32>) -> tensor<24x8xf32> {
  %r = attn.einsum "(11*iy - 11*jy + ix - jx + 38) -> iy ix jy jx" sizes {iy = 4 : i64, ix = 6 : i64, jy = 4 : i64, jx = 6 : i64}(%t) : (tensor<77xf32>) -> tensor<4x6x4x6xf32>
  %f = math.tanh %r : tensor<4x6x4x6xf32>
  %o = attn.attention "(iy ix) (jy jx)" sizes {iy = 4 : i64, ix = 6 : i64, jy = 4 : i64, jx = 6 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<24x8xf32>, tensor<24x8xf32>
    attn.term "iy ix jy jx"(%f) scale 1.000000e+00 : tensor<4x6x4x6xf32>
  } : tensor<24x8xf32> -> tensor<24x8xf32>
  return %o : tensor<24x8xf32>
}
