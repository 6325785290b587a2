// RUN: skewer-opt %s -attn-split-positions -split-input-file | FileCheck %s

// The example of the pass's description: chunks.
// CHECK-LABEL: func.func @example
// CHECK: attn.attention "h i j" where "j <= i" sizes {h = 3 : i64, i = 4 : i64, j = 4 : i64} value "(h j) e -> (h i) e"
// CHECK: attn.term "(h i) d, (h j) d"
func.func @example(%q: tensor<12x8xf32>, %k: tensor<12x8xf32>, %v: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %o = attn.attention "i j" where "j <= i and i floordiv 4 == j floordiv 4" value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  return %o : tensor<12x8xf32>
}

// -----
// Residues: every fourth key. What reads an offset reads it in steps of 4; the rows' logarithms come together again.
// CHECK-LABEL: func.func @residues
// CHECK: %{{.*}}, %[[L:.*]] = attn.attention "b h i j" where "i <= j + 2 and j <= i + 2" sizes {h = 4 : i64, i = 5 : i64, j = 5 : i64} value "b (j h) e -> b (i h) e"
// CHECK: attn.term "b (i h) d, b (j h) d"
// CHECK-NEXT: attn.term "(4*j - 4*i + 19)"
// CHECK: attn.rearrange "b h i -> b (i h)" %[[L]]
func.func @residues(%q: tensor<?x20x8xf32>, %t: tensor<39xf32>) -> (tensor<?x20x8xf32>, tensor<?x20xf32>) {
  %o, %l = attn.attention "b i j" where "(i - j) mod 4 == 0 and abs(i - j) <= 8" value "b j e -> b i e"(%q) score {
    attn.term "b i d, b j d"(%q, %q) scale 1.000000e+00 : tensor<?x20x8xf32>, tensor<?x20x8xf32>
    attn.term "(j - i + 19)"(%t) scale 1.000000e+00 : tensor<39xf32>
  } : tensor<?x20x8xf32> -> tensor<?x20x8xf32> lse tensor<?x20xf32>
  return %o, %l : tensor<?x20x8xf32>, tensor<?x20xf32>
}

// -----
// An axis of a map that queries and keys have in common: the other one is left, and the table's row for it is one.
// CHECK-LABEL: func.func @rows_of_a_map
// CHECK: %{{.*}}, %[[L:.*]] = attn.attention "h ix jx" where "jx <= ix" sizes {h = 3 : i64, ix = 4 : i64, jx = 4 : i64} value "(h jx) e -> (h ix) e"
// CHECK: attn.term "(h ix) d, (h jx) d"
// CHECK-NEXT: attn.term "(2) (jx - ix + 3)"
// CHECK: attn.rearrange "h ix -> (h ix)" %[[L]]
func.func @rows_of_a_map(%q: tensor<12x8xf32>, %t: tensor<5x7xf32>) -> (tensor<12x8xf32>, tensor<12xf32>) {
  %o, %l = attn.attention "(iy ix) (jy jx)" where "iy == jy and jx <= ix" sizes {iy = 3 : i64, ix = 4 : i64, jy = 3 : i64, jx = 4 : i64} value "(jy jx) e -> (iy ix) e"(%q) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %q) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
    attn.term "(jy - iy + 2) (jx - ix + 3)"(%t) scale 1.000000e+00 : tensor<5x7xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32> lse tensor<12xf32>
  return %o, %l : tensor<12x8xf32>, tensor<12xf32>
}

// -----
// No whole number of chunks, chunks that overlap, one chunk among other keys.
// CHECK-LABEL: func.func @stays
// CHECK: attn.attention "i j"
// CHECK: attn.attention "i j"
// CHECK: attn.attention "i j"
func.func @stays(%q: tensor<14x8xf32>, %r: tensor<12x8xf32>) -> (tensor<14x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
  %a = attn.attention "i j" where "i floordiv 4 == j floordiv 4" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<14x8xf32>, tensor<14x8xf32>
  } : tensor<14x8xf32> -> tensor<14x8xf32>
  %b = attn.attention "i j" where "abs(i floordiv 4 - j floordiv 4) <= 1" value "j e -> i e"(%r) score {
    attn.term "i d, j d"(%r, %r) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  %c = attn.attention "i j" where "i floordiv 4 == j floordiv 4 or j < 2" value "j e -> i e"(%r) score {
    attn.term "i d, j d"(%r, %r) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  return %a, %b, %c : tensor<14x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}

// -----
// Values of one element each: their axis stays, as the result's.
// CHECK-LABEL: func.func @one_wide
// CHECK: attn.attention "h i j" sizes {h = 3 : i64, i = 4 : i64, j = 4 : i64} value "(h j) e -> (h i) e"
func.func @one_wide(%q: tensor<12x8xf32>, %v: tensor<12x1xf32>) -> tensor<12x1xf32> {
  %o = attn.attention "i j" where "i floordiv 4 == j floordiv 4" value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x1xf32> -> tensor<12x1xf32>
  return %o : tensor<12x1xf32>
}
