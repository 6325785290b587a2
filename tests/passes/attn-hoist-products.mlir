// RUN: skewer-opt %s -attn-hoist-products -split-input-file | FileCheck %s

// The example of the pass's description.
// CHECK-LABEL: func.func @example
// CHECK: %[[B:.*]] = attn.einsum "i j d, d -> i j"(%{{.*}}, %{{.*}}) : (tensor<4x4x8xf32>, tensor<8xf32>) -> tensor<4x4xf32>
// CHECK: attn.term "s i d, s j d"
// CHECK-NEXT: attn.term "i j"(%[[B]]) scale 1.000000e+00 : tensor<4x4xf32>
func.func @example(%q: tensor<6x4x8xf32>, %k: tensor<6x4x8xf32>, %v: tensor<6x4x8xf32>, %pair: tensor<4x4x8xf32>, %w: tensor<8xf32>) -> tensor<6x4x8xf32> {
  %o = attn.attention "s i j" value "s j e -> s i e"(%v) score {
    attn.term "s i d, s j d"(%q, %k) scale 1.000000e+00 : tensor<6x4x8xf32>, tensor<6x4x8xf32>
    attn.term "i j d, d"(%pair, %w) scale 1.000000e+00 : tensor<4x4x8xf32>, tensor<8xf32>
  } : tensor<6x4x8xf32> -> tensor<6x4x8xf32>
  return %o : tensor<6x4x8xf32>
}

// -----
// Heads that share the vectors of pairs stand after the query, keys last, and the batch's run-time size first; the
// term's scale stays its own.
// CHECK-LABEL: func.func @heads
// CHECK: %[[B:.*]] = attn.einsum "b i j d, d g -> b i g j"(%{{.*}}) : (tensor<?x4x4x8xf32>, tensor<8x3xf32>) -> tensor<?x4x3x4xf32>
// CHECK: attn.term "b i g j"(%[[B]]) scale 5.000000e-01 : tensor<?x4x3x4xf32>
func.func @heads(%q: tensor<?x6x3x4x8xf32>, %z: tensor<?x4x4x8xf32>, %w: tensor<8x3xf32>) -> tensor<?x6x3x4x8xf32> {
  %o = attn.attention "b h g i j" value "b h g j e -> b h g i e"(%q) score {
    attn.term "b h g i d, b h g j d"(%q, %q) scale 1.000000e+00 : tensor<?x6x3x4x8xf32>, tensor<?x6x3x4x8xf32>
    attn.term "b i j d, d g"(%z, %w) scale 5.000000e-01 : tensor<?x4x4x8xf32>, tensor<8x3xf32>
  } : tensor<?x6x3x4x8xf32> -> tensor<?x6x3x4x8xf32>
  return %o : tensor<?x6x3x4x8xf32>
}

// -----
// A gate that is summed up to a key: one sum for each key, and not for each query. A table's last layer: one for each offset.
// CHECK-LABEL: func.func @lines
// CHECK: %[[K:.*]] = attn.einsum "h d, j d -> h j"(%{{.*}}) : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
// CHECK: %[[T:.*]] = attn.einsum "r0 d, d h -> h r0"(%{{.*}}) : (tensor<31x8xf32>, tensor<8x2xf32>) -> tensor<2x31xf32>
// CHECK: attn.term "h j"(%[[K]]) scale -1.000000e+00
// CHECK-NEXT: attn.term "h (j - i + 15)"(%[[T]]) scale 1.000000e+00
func.func @lines(%q: tensor<2x16x8xf32>, %f: tensor<2x16xf32>, %ones: tensor<16x16xf32>, %t: tensor<31x8xf32>, %w: tensor<8x2xf32>) -> tensor<2x16x8xf32> {
  %o = attn.attention "h i j" value "h j e -> h i e"(%q) score {
    attn.term "h i d, h j d"(%q, %q) scale 1.000000e+00 : tensor<2x16x8xf32>, tensor<2x16x8xf32>
    attn.term "h d, j d"(%f, %ones) scale -1.000000e+00 : tensor<2x16xf32>, tensor<16x16xf32>
    attn.term "(j - i + 15) d, d h"(%t, %w) scale 1.000000e+00 : tensor<31x8xf32>, tensor<8x2xf32>
  } : tensor<2x16x8xf32> -> tensor<2x16x8xf32>
  return %o : tensor<2x16x8xf32>
}

// -----
// Each head's own pair vectors: as many sums as scores, but fewer than the numbers in the vectors. A gate of the query is
// no part of the sum.
// CHECK-LABEL: func.func @once
// CHECK: %[[B:.*]] = attn.einsum "i j d, d -> i j"
// CHECK: attn.term "i, i j"(%{{.*}}, %[[B]]) scale 1.000000e+00 where "j <= i"
func.func @once(%q: tensor<16x8xf32>, %g: tensor<16xf32>, %z: tensor<16x16x8xf32>, %w: tensor<8xf32>) -> tensor<16x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<16x8xf32>, tensor<16x8xf32>
    attn.term "i, i j d, d"(%g, %z, %w) scale 1.000000e+00 where "j <= i" : tensor<16xf32>, tensor<16x16x8xf32>, tensor<8xf32>
  } : tensor<16x8xf32> -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}

// -----
// Products that tiles make stay: queries with keys, with rows of tables; and a sum that meets positions in one dimension.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: attn.einsum
// CHECK: return
func.func @stays(%q: tensor<6x16x8xf32>, %t: tensor<31x8xf32>, %e: tensor<2x8xf32>, %line: tensor<38xf32>, %w: tensor<8xf32>) -> tensor<6x16x8xf32> {
  %o = attn.attention "s i j" value "s j e -> s i e"(%q) score {
    attn.term "s i d, s j d"(%q, %q) scale 1.000000e+00 : tensor<6x16x8xf32>, tensor<6x16x8xf32>
    attn.term "s i d, (j - i + 15) d"(%q, %t) scale 1.000000e+00 : tensor<6x16x8xf32>, tensor<31x8xf32>
    attn.term "s i d, ((i + j) mod 2) d"(%q, %e) scale 1.000000e+00 : tensor<6x16x8xf32>, tensor<2x8xf32>
    attn.term "s (15 - i) d, ((i + j) mod 2) d"(%q, %e) scale 1.000000e+00 : tensor<6x16x8xf32>, tensor<2x8xf32>
    attn.term "(i + j + d), d"(%line, %w) scale 1.000000e+00 : tensor<38xf32>, tensor<8xf32>
  } : tensor<6x16x8xf32> -> tensor<6x16x8xf32>
  return %o : tensor<6x16x8xf32>
}
