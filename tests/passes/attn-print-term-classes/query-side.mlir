// RUN: skewer-opt %s -attn-print-term-classes -split-input-file -verify-diagnostics
// A vector of the query times a row of a table: what picks the row decides the class.

func.func @whole_positions(%q: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %t: tensor<11x8xf32>, %heads: tensor<2x11x8xf32>,
                           %long: tensor<40x8xf32>, %one: tensor<1x8xf32>, %learned: tensor<6x8xf32>) -> tensor<2x6x8xf32> {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    // expected-remark @below {{offset, query side: row j - i + 5 of a table, 11 rows, query side}}
    attn.term "h i d, (j - i + 5) d"(%q, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{offset, query side: row i - j + 5 of a table, 11 rows, query side}}
    attn.term "h i d, (i - j + 5) d"(%q, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{offset, query side: row j - i + 5 of a table a head, 11 rows, query side}}
    attn.term "h i d, h (j - i + 5) d"(%q, %heads) scale 1.0 : tensor<2x6x8xf32>, tensor<2x11x8xf32>
    // expected-remark @below {{offset, query side: row j - i + 5 of a table, 11 rows, query side}}
    attn.term "(j - i + 5) d, h i d"(%t, %q) scale 1.0 : tensor<11x8xf32>, tensor<2x6x8xf32>
    // expected-remark @below {{offset, query side: row j - i + 20 of a table, 11 of 40 rows, query side}}
    attn.term "h i d, (j - i + 20) d"(%q, %long) scale 1.0 : tensor<2x6x8xf32>, tensor<40x8xf32>
    // expected-remark @below {{function of the offset: row clamp(j - i, -2, 1) + 2 of a table, 11 rows, query side}}
    attn.term "h i d, (clamp(j - i, -2, 1) + 2) d"(%q, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{function of the offset: row abs(i - j) of a table, 11 rows, query side}}
    attn.term "h i d, (abs(i - j)) d"(%q, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{function of the offset: row [0 x 4, 1..4, 4 x 3][j - i + 5] of a table, 11 rows, query side}}
    attn.term "h i d, ([0 x 4, 1..3, 4 x 4][j - i + 5]) d"(%q, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{function of the offset: row (j - i + 1) floordiv 2 + 2 of a table, 11 rows, query side}}
    attn.term "h i d, ((j - i + 5) floordiv 2) d"(%q, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{offset, query side: row j - i + 2 of a table, 11 rows, query side}}
    attn.term "h i d, (j - i + 2) d"(%q, %t) scale 1.0 where "abs(i - j) <= 2" : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{query only: the same for all keys of a query}}
    attn.term "h i d, (0) d"(%q, %one) scale 1.0 : tensor<2x6x8xf32>, tensor<1x8xf32>
    // expected-remark @below {{row picked by positions: row i + j of 11 rows of a table, query side}}
    attn.term "h i d, (i + j) d"(%q, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{content: matmul of queries and one row a key, shared by all heads}}
    attn.term "h i d, (2*j) d"(%q, %t) scale 1.0 : tensor<2x6x8xf32>, tensor<11x8xf32>
    // expected-remark @below {{content: matmul of queries and one row a key, shared by all heads}}
    attn.term "h i d, j d"(%q, %learned) scale 1.0 : tensor<2x6x8xf32>, tensor<6x8xf32>
  } : tensor<2x6x8xf32> -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----
// On maps: one axis, the other, both in one row, rational steps, a class token in front.
func.func @maps(%q: tensor<6x8xf32>, %v: tensor<6x8xf32>, %y: tensor<3x8xf32>, %x: tensor<5x8xf32>, %both: tensor<15x8xf32>,
                %w: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64}
      value "(jy jx) e -> (iy ix) e"(%v) score {
    // expected-remark @below {{offset per map axis, query side: row jy - iy + 1 of a table, 3 rows, query side}}
    attn.term "(iy ix) d, (jy - iy + 1) d"(%q, %y) scale 1.0 : tensor<6x8xf32>, tensor<3x8xf32>
    // expected-remark @below {{offset per map axis, query side: row ix - jx + 2 of a table, 5 rows, query side}}
    attn.term "(iy ix) d, (ix - jx + 2) d"(%q, %x) scale 1.0 : tensor<6x8xf32>, tensor<5x8xf32>
    // expected-remark @below {{function of the offset: row clamp(jx - ix, -1, 1) + 1 of a table, 3 rows, query side}}
    attn.term "(iy ix) d, (clamp(jx - ix, -1, 1) + 1) d"(%q, %y) scale 1.0 : tensor<6x8xf32>, tensor<3x8xf32>
    // expected-remark @below {{row picked by positions: row 5*jy + jx - 5*iy - ix + 7 of 15 rows of a table, query side}}
    attn.term "(iy ix) d, (5*(jy - iy + 1) + jx - ix + 2) d"(%q, %both) scale 1.0 : tensor<6x8xf32>, tensor<15x8xf32>
    // expected-remark @below {{row picked by positions: row jx - iy + 1 of 5 rows of a table, query side}}
    attn.term "(iy ix) d, (jx - iy + 1) d"(%q, %x) scale 1.0 : tensor<6x8xf32>, tensor<5x8xf32>
    // expected-remark @below {{row picked by positions: row 2*jx of 5 rows of a table, query side}}
    attn.term "(iy ix) d, (2*jx) d"(%q, %x) scale 1.0 : tensor<6x8xf32>, tensor<5x8xf32>
    // expected-remark @below {{content: matmul of queries and one row a key, shared by all heads}}
    attn.term "(iy ix) d, (jy jx) d"(%q, %w) scale 1.0 : tensor<6x8xf32>, tensor<6x8xf32>
  } : tensor<6x8xf32> -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// -----
// Rows behind a class token: no whole offset, so that the row is found for each query and key.
func.func @class_token(%q: tensor<7x8xf32>, %v: tensor<7x8xf32>, %t: tensor<5x8xf32>) -> tensor<7x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%v) score {
    // expected-remark @below {{row picked by positions: row (i + 2) floordiv 3 - (j + 2) floordiv 3 + 1 of 5 rows of a table, query side}}
    attn.term "i d, ((i - 1) floordiv 3 - (j - 1) floordiv 3 + 1) d"(%q, %t) scale 1.0 where "i > 0 and j > 0"
        : tensor<7x8xf32>, tensor<5x8xf32>
    // expected-remark @below {{row picked by positions: row select(i == 0 or j == 0, 0, clamp(j - i, -1, 1) + 2) of 5 rows of a table, query side}}
    attn.term "i d, (select(i == 0 or j == 0, 0, clamp(j - i, -1, 1) + 2)) d"(%q, %t) scale 1.0 : tensor<7x8xf32>, tensor<5x8xf32>
  } : tensor<7x8xf32> -> tensor<7x8xf32>
  return %o : tensor<7x8xf32>
}

// -----
// One query or one key: an offset is a row of the key alone, or a single row.
func.func @single_query(%q: tensor<1x8xf32>, %v: tensor<6x8xf32>, %t: tensor<6x8xf32>) -> tensor<1x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%v) score {
    // expected-remark @below {{content: matmul of queries and one row a key, shared by all heads}}
    attn.term "i d, (j - i) d"(%q, %t) scale 1.0 : tensor<1x8xf32>, tensor<6x8xf32>
    // expected-remark @below {{content: matmul of queries and one row a key, shared by all heads}}
    attn.term "i d, j d"(%q, %v) scale 1.0 : tensor<1x8xf32>, tensor<6x8xf32>
  } : tensor<6x8xf32> -> tensor<1x8xf32>
  return %o : tensor<1x8xf32>
}
