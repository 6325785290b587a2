// RUN: skewer-opt %s -attn-split-windows -attn-dense-operands -split-input-file | FileCheck %s

// Of a window of 7 columns, 8 queries of a line see 14: blocks of 8, each with 16 keys of every line.
// CHECK-LABEL: func.func @window
// CHECK-DAG: %[[V:.*]] = attn.einsum "(32*jy + jx + clamp(8*h, 3, 19) - 3) e -> h (jy jx) e" {{.*}}(%arg2)
// CHECK-DAG: %[[Q:.*]] = attn.einsum "(iy h ix) d -> h (iy ix) d" {{.*}}(%arg0)
// CHECK-DAG: %[[K:.*]] = attn.einsum "(32*jy + jx + clamp(8*h, 3, 19) - 3) d -> h (jy jx) d" {{.*}}(%arg1)
// CHECK: attn.attention "h (iy ix) (jy jx)" where "abs(iy - jy) <= 1 and abs(8*h + ix - jx - clamp(8*h, 3, 19) + 3) <= 3"
// CHECK-SAME: value "h (jy jx) e -> (iy h ix) e"(%[[V]])
// CHECK: attn.term "h (iy ix) d, h (jy jx) d"(%[[Q]], %[[K]])
func.func @window(%q: tensor<256x8xf32>, %k: tensor<256x8xf32>, %v: tensor<256x8xf32>) -> tensor<256x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" where "abs(iy - jy) <= 1 and abs(ix - jx) <= 3" sizes {iy = 8 : i64, ix = 32 : i64, jy = 8 : i64, jx = 32 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<256x8xf32>, tensor<256x8xf32>
  } : tensor<256x8xf32> -> tensor<256x8xf32>
  return %o : tensor<256x8xf32>
}

// -----
// More than half of a line: it stays whole.
// CHECK-LABEL: func.func @wide
// CHECK: attn.attention "(iy ix) (jy jx)"
func.func @wide(%q: tensor<256x8xf32>, %k: tensor<256x8xf32>, %v: tensor<256x8xf32>) -> tensor<256x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" where "abs(iy - jy) <= 1 and abs(ix - jx) <= 12" sizes {iy = 8 : i64, ix = 32 : i64, jy = 8 : i64, jx = 32 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<256x8xf32>, tensor<256x8xf32>
  } : tensor<256x8xf32> -> tensor<256x8xf32>
  return %o : tensor<256x8xf32>
}

// -----
// Windows of 13 leave blocks of 4 queries, and the line is only twice as long as their 16 keys: it stays whole.
// CHECK-LABEL: func.func @few_queries_of_short_lines
// CHECK: attn.attention "(iy ix) (jy jx)"
func.func @few_queries_of_short_lines(%q: tensor<256x8xf32>, %k: tensor<256x8xf32>, %v: tensor<256x8xf32>) -> tensor<256x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" where "abs(iy - jy) <= 1 and abs(ix - jx) <= 6" sizes {iy = 8 : i64, ix = 32 : i64, jy = 8 : i64, jx = 32 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<256x8xf32>, tensor<256x8xf32>
  } : tensor<256x8xf32> -> tensor<256x8xf32>
  return %o : tensor<256x8xf32>
}

// -----
// The same on lines three times as long.
// CHECK-LABEL: func.func @few_queries_of_long_lines
// CHECK: attn.attention "h (iy ix) (jy jx)" {{.*}}sizes {h = 12 : i64, ix = 4 : i64,
func.func @few_queries_of_long_lines(%q: tensor<384x8xf32>, %k: tensor<384x8xf32>, %v: tensor<384x8xf32>) -> tensor<384x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" where "abs(iy - jy) <= 1 and abs(ix - jx) <= 6" sizes {iy = 8 : i64, ix = 48 : i64, jy = 8 : i64, jx = 48 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<384x8xf32>, tensor<384x8xf32>
  } : tensor<384x8xf32> -> tensor<384x8xf32>
  return %o : tensor<384x8xf32>
}

// -----
// Only 2 divides the line, and so few queries a block are not worth it.
// CHECK-LABEL: func.func @pairs_of_queries
// CHECK: attn.attention "(iy ix) (jy jx)"
func.func @pairs_of_queries(%q: tensor<400x8xf32>, %k: tensor<400x8xf32>, %v: tensor<400x8xf32>) -> tensor<400x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" where "abs(iy - jy) <= 1 and abs(ix - jx) <= 3" sizes {iy = 8 : i64, ix = 50 : i64, jy = 8 : i64, jx = 50 : i64} value "(jy jx) e -> (iy ix) e"(%v) score {
    attn.term "(iy ix) d, (jy jx) d"(%q, %k) scale 1.000000e+00 : tensor<400x8xf32>, tensor<400x8xf32>
  } : tensor<400x8xf32> -> tensor<400x8xf32>
  return %o : tensor<400x8xf32>
}
