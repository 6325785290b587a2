// RUN: skewer-opt %s -attn-tabulate-offsets -split-input-file | FileCheck %s
// Functions of offsets get a row for each offset: as many as queries and keys together, and not as their product.

// A published closed form (a kernel of distances with two parameters a head): both parameters stay axes of the table.
// CHECK-LABEL: func.func @kernel_of_distances
// CHECK: %[[V0:.*]] = attn.einsum "h (max(-r1, -31) + 31) (max(r1, 31) - 31) -> h r1" sizes {r1 = 71 : i64}(%{{.*}})
// CHECK: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term "h (j - i + 31)"(%[[V0]]) scale 1.000000e+00
func.func @kernel_of_distances(%q: tensor<2x32x8xf32>, %v: tensor<2x40x8xf32>, %a: tensor<2xf32>, %p: tensor<2xf32>) -> tensor<2x32x8xf32> {
  %d = attn.position "h i j" = "abs(i - j)" : tensor<2x32x40xf32>
  %wa = attn.rearrange "h -> h i j" sizes {i = 32 : i64, j = 40 : i64} %a : tensor<2xf32> to tensor<2x32x40xf32>
  %wp = attn.rearrange "h -> h i j" sizes {i = 32 : i64, j = 40 : i64} %p : tensor<2xf32> to tensor<2x32x40xf32>
  %x = arith.mulf %wa, %d : tensor<2x32x40xf32>
  %l = math.log1p %x : tensor<2x32x40xf32>
  %f = arith.mulf %wp, %l : tensor<2x32x40xf32>
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term "h i d, h j d"(%q, %v) scale 1.0 : tensor<2x32x8xf32>, tensor<2x40x8xf32>
    attn.term "h i j"(%f) scale 1.0 : tensor<2x32x40xf32>
  } : tensor<2x40x8xf32> -> tensor<2x32x8xf32>
  return %o : tensor<2x32x8xf32>
}

// -----
// A function of a relative table: the table is read by the offset, so that its function is one of the offset.
// CHECK-LABEL: func.func @function_of_a_table
// CHECK: %[[V0:.*]] = attn.einsum "(max(-r0, -31) + 31) (max(r0, 31) - 31) -> r0" sizes {r0 = 63 : i64}(%{{.*}})
// CHECK: attn.term "i d, j d"(%arg0, %arg0) scale 1.000000e+00
// CHECK-NEXT: attn.term "(j - i + 31)"(%[[V0]]) scale 2.000000e+00
func.func @function_of_a_table(%q: tensor<32x8xf32>, %t: tensor<63xf32>) -> tensor<32x8xf32> {
  %b = attn.einsum "(j - i + 31) -> i j" sizes {i = 32 : i64, j = 32 : i64}(%t) : (tensor<63xf32>) -> tensor<32x32xf32>
  %s = math.tanh %b : tensor<32x32xf32>
  %o = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<32x8xf32>, tensor<32x8xf32>
    attn.term "i j"(%s) scale 2.0 : tensor<32x32xf32>
  } : tensor<32x8xf32> -> tensor<32x8xf32>
  return %o : tensor<32x8xf32>
}

// -----
// Under a mask: rows for the offsets that it leaves; masked pairs read one of them too.
// CHECK-LABEL: func.func @causal_window
// CHECK: sizes {r1 = 8 : i64}
// CHECK: attn.term "h (clamp(j - i + 7, 0, 7))"
func.func @causal_window(%q: tensor<2x32x8xf32>, %v: tensor<2x40x8xf32>, %a: tensor<2xf32>) -> tensor<2x32x8xf32> {
  %d = attn.position "h i j" = "abs(i - j)" : tensor<2x32x40xf32>
  %wa = attn.rearrange "h -> h i j" sizes {i = 32 : i64, j = 40 : i64} %a : tensor<2xf32> to tensor<2x32x40xf32>
  %x = arith.mulf %wa, %d : tensor<2x32x40xf32>
  %f = math.log1p %x : tensor<2x32x40xf32>
  %o = attn.attention "h i j" where "j <= i and i - j < 8" value "h j e -> h i e"(%v) score {
    attn.term "h i d, h j d"(%q, %v) scale 1.0 : tensor<2x32x8xf32>, tensor<2x40x8xf32>
    attn.term "h i j"(%f) scale 1.0 : tensor<2x32x40xf32>
  } : tensor<2x40x8xf32> -> tensor<2x32x8xf32>
  return %o : tensor<2x32x8xf32>
}

// -----
// On a map: a row for each pair of offsets.
// CHECK-LABEL: func.func @both_axes
// CHECK: %[[V0:.*]] = attn.einsum "(8*max(-r0, -7) + max(-r1, -7) + 63) (8*max(r0, 7) + max(r1, 7) - 63) -> r0 r1" sizes {r0 = 15 : i64, r1 = 15 : i64}(%{{.*}})
// CHECK: attn.term "(iy ix) d, (jy jx) d"(%arg0, %arg0) scale 1.000000e+00
// CHECK-NEXT: attn.term "(jy - iy + 7) (jx - ix + 7)"(%[[V0]]) scale 1.000000e+00
func.func @both_axes(%q: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %d = attn.position "(iy ix) (jy jx)" = "abs(iy - jy) + abs(ix - jx)" sizes {iy = 8 : i64, jy = 8 : i64} : tensor<64x64xf32>
  %f = math.exp %d : tensor<64x64xf32>
  %o = attn.attention "(iy ix) (jy jx)" sizes {iy = 8 : i64, ix = 8 : i64, jy = 8 : i64, jx = 8 : i64} value "(jy jx) e -> (iy ix) e"(%q) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %q) scale 1.0 : tensor<64x8xf32>, tensor<64x8xf32>
    attn.term "(iy ix) (jy jx)"(%f) scale 1.0 : tensor<64x64xf32>
  } : tensor<64x8xf32> -> tensor<64x8xf32>
  return %o : tensor<64x8xf32>
}

// -----
// The sum of a function of offsets and what depends on the key itself is no function of offsets.
// CHECK-LABEL: func.func @with_the_key
// CHECK: attn.term "i d, j d"(%arg0, %arg0) scale 1.000000e+00
// CHECK-NEXT: attn.term "i j"(%{{.*}}) scale 1.000000e+00
func.func @with_the_key(%q: tensor<32x8xf32>, %k: tensor<32xf32>) -> tensor<32x8xf32> {
  %d = attn.position "i j" = "i - j" : tensor<32x32xf32>
  %w = attn.rearrange "j -> i j" sizes {i = 32 : i64} %k : tensor<32xf32> to tensor<32x32xf32>
  %s = arith.addf %d, %w : tensor<32x32xf32>
  %f = math.exp %s : tensor<32x32xf32>
  %o = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<32x8xf32>, tensor<32x8xf32>
    attn.term "i j"(%f) scale 1.0 : tensor<32x32xf32>
  } : tensor<32x8xf32> -> tensor<32x8xf32>
  return %o : tensor<32x8xf32>
}

// -----
// With one query there are as many offsets as keys, so that a table does not help.
// CHECK-LABEL: func.func @too_few
// CHECK: attn.term "i j"(%{{.*}}) scale 1.000000e+00
func.func @too_few(%q: tensor<1x8xf32>, %v: tensor<3x8xf32>) -> tensor<1x8xf32> {
  %d = attn.position "i j" = "abs(i - j)" : tensor<1x3xf32>
  %f = math.exp %d : tensor<1x3xf32>
  %o = attn.attention "i j" value "j e -> i e"(%v) score {
    attn.term "i j"(%f) scale 1.0 : tensor<1x3xf32>
  } : tensor<3x8xf32> -> tensor<1x8xf32>
  return %o : tensor<1x8xf32>
}
