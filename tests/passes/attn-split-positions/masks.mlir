// RUN: skewer-opt %s -attn-split-positions -split-input-file | FileCheck %s

// Chunks said by subtraction, and by a product with the size of a chunk.
// CHECK-LABEL: func.func @spellings
// CHECK: attn.attention "h i j" sizes {h = 3 : i64, i = 4 : i64, j = 4 : i64} value "(h j) e -> (h i) e"
// CHECK: attn.attention "h i j" sizes {h = 3 : i64, i = 4 : i64, j = 4 : i64} value "(h j) e -> (h i) e"
func.func @spellings(%q: tensor<12x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  %a = attn.attention "i j" where "i floordiv 4 - j floordiv 4 == 0" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  %b = attn.attention "i j" where "abs(i floordiv 4 - j floordiv 4) <= 0" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  return %a, %b : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----
// The rest of the mask is one of a chunk's positions; a term's condition and value too.
// CHECK-LABEL: func.func @rest_of_the_mask
// CHECK: attn.attention "h i j" where "j <= i" sizes {h = 3 : i64, i = 4 : i64, j = 4 : i64}
// CHECK: attn.term ""() times "4*h + i" scale 5.000000e-01 where "j == 0"
func.func @rest_of_the_mask(%q: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %a = attn.attention "i j" where "i floordiv 4 == j floordiv 4 and j <= i" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
    attn.term ""() times "i" scale 5.000000e-01 where "j mod 4 == 0"
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  return %a : tensor<12x8xf32>
}

// -----
// Chunks of queries and others of keys; a mask of one side; more keys than queries; no mask.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-4: attn.attention "i j"
// CHECK: return
func.func @stays(%q: tensor<12x8xf32>, %k: tensor<24x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
  %a = attn.attention "i j" where "i floordiv 4 == j floordiv 3" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  %b = attn.attention "i j" where "j floordiv 4 == 1" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  %c = attn.attention "i j" where "i floordiv 4 == j floordiv 4" value "j e -> i e"(%k) score {
    attn.term "i d, j d"(%q, %k) scale 1.000000e+00 : tensor<12x8xf32>, tensor<24x8xf32>
  } : tensor<24x8xf32> -> tensor<12x8xf32>
  %d = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
  } : tensor<12x8xf32> -> tensor<12x8xf32>
  return %a, %b, %c, %d : tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}

// -----
// A leading axis of another name than the first free one; heads of their own stay where they are.
// CHECK-LABEL: func.func @names
// CHECK: attn.attention "h g i j" sizes {g = 3 : i64, i = 4 : i64, j = 4 : i64} value "h (g j) e -> h (g i) e"
func.func @names(%q: tensor<2x12x8xf32>) -> tensor<2x12x8xf32> {
  %a = attn.attention "h i j" where "i floordiv 4 == j floordiv 4" value "h j e -> h i e"(%q) score {
    attn.term "h i d, h j d"(%q, %q) scale 1.000000e+00 : tensor<2x12x8xf32>, tensor<2x12x8xf32>
  } : tensor<2x12x8xf32> -> tensor<2x12x8xf32>
  return %a : tensor<2x12x8xf32>
}
