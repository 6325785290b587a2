// RUN: skewer-opt %s -attn-print-term-classes -split-input-file -verify-diagnostics
// A vector of the key times a row of a table, and terms of one side only.

func.func @key_side(%k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %t: tensor<11x8xf32>, %heads: tensor<2x11x8xf32>,
                    %learned: tensor<6x8xf32>, %w: tensor<2x8xf32>) -> tensor<2x6x8xf32> {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    // expected-remark @below {{offset, key side: row i - j + 5 of a table, 11 rows, key side}}
    attn.term "h j d, (i - j + 5) d"(%k, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{offset, key side: row j - i + 5 of a table a head, 11 rows, key side}}
    attn.term "h j d, h (j - i + 5) d"(%k, %heads) scale 1.0 : tensor<2x6x8xf32>, tensor<2x11x8xf32>
    // expected-remark @below {{function of the offset: row clamp(i - j, -2, 2) + 2 of a table, 11 rows, key side}}
    attn.term "h j d, (clamp(i - j, -2, 2) + 2) d"(%k, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{content: matmul of queries and keys}}
    attn.term "h j d, i d"(%k, %learned) scale 1.0 : tensor<2x6x8xf32>, tensor<6x8xf32>
    // expected-remark @below {{key only: one number a key, whatever the query}}
    attn.term "h j d, h d"(%k, %w) scale 1.0 : tensor<2x6x8xf32>, tensor<2x8xf32>
    // expected-remark @below {{query only: the same for all keys of a query}}
    attn.term "h i d, h d"(%k, %w) scale 1.0 : tensor<2x6x8xf32>, tensor<2x8xf32>
    // expected-remark @below {{query only: the same for all keys of a query}}
    attn.term "h d, h d"(%w, %w) scale 1.0 : tensor<2x8xf32>, tensor<2x8xf32>
  } : tensor<2x6x8xf32> -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----
func.func @maps(%k: tensor<6x8xf32>, %v: tensor<6x8xf32>, %y: tensor<3x8xf32>, %x: tensor<5x8xf32>) -> tensor<6x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64}
      value "(jy jx) e -> (iy ix) e"(%v) score {
    // expected-remark @below {{offset, key side: row iy - jy + 1 of a table, 3 rows, key side}}
    attn.term "(jy jx) d, (iy - jy + 1) d"(%k, %y) scale 1.0 : tensor<6x8xf32>, tensor<3x8xf32>
    // expected-remark @below {{offset, key side: row jx - ix + 2 of a table, 5 rows, key side}}
    attn.term "(jy jx) d, (jx - ix + 2) d"(%k, %x) scale 1.0 : tensor<6x8xf32>, tensor<5x8xf32>
    // expected-remark @below {{function of the offset: row abs(ix - jx) of a table, 5 rows, key side}}
    attn.term "(jy jx) d, (abs(ix - jx)) d"(%k, %x) scale 1.0 : tensor<6x8xf32>, tensor<5x8xf32>
    // expected-remark @below {{content: matmul of queries and one row a key, shared by all heads}}
    attn.term "(jy jx) d, (2*iy + ix) d"(%k, %x) scale 1.0 : tensor<6x8xf32>, tensor<5x8xf32>
  } : tensor<6x8xf32> -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// -----
// Content in every order and layout.
func.func @content(%q: tensor<?x6x2x8xf32>, %k: tensor<?x2x8x6xf32>, %g: tensor<?x1x6x8xf32>, %v: tensor<?x2x6x8xf32>)
    -> tensor<?x2x6x8xf32> {
  %o = attn.attention "b h i j" value "b h j e -> b h i e"(%v) score {
    // expected-remark @below {{content: matmul of queries and keys}}
    attn.term "b i h d, b h d j"(%q, %k) scale 1.0 : tensor<?x6x2x8xf32>, tensor<?x2x8x6xf32>
    // expected-remark @below {{content: matmul of queries and keys}}
    attn.term "b h d j, b i h d"(%k, %q) scale 1.0 : tensor<?x2x8x6xf32>, tensor<?x6x2x8xf32>
    // expected-remark @below {{content: matmul of queries and keys}}
    attn.term "b i h d, b (h floordiv 2) j d"(%q, %g) scale 1.0 : tensor<?x6x2x8xf32>, tensor<?x1x6x8xf32>
    // expected-remark @below {{content: matmul of queries and keys}}
    attn.term "b j h d, b h d i"(%q, %k) scale 1.0 : tensor<?x6x2x8xf32>, tensor<?x2x8x6xf32>
    // expected-remark @below {{query only: the same for all keys of a query}}
    attn.term "b i h d, b h d i"(%q, %k) scale 1.0 : tensor<?x6x2x8xf32>, tensor<?x2x8x6xf32>
  } : tensor<?x2x6x8xf32> -> tensor<?x2x6x8xf32>
  return %o : tensor<?x2x6x8xf32>
}
