// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 -split-input-file | FileCheck %s
// The strategy of each class of term, in the order of the terms: those of the score, then those of the values.

// Whole positions: bands for offsets, lines for functions of them, on the side of the query and of the key.
// CHECK-LABEL: func.func @rows_of_the_query
// CHECK: strategies = ["matmul", "band", "offset_lines", "gathered_rows"]>
func.func @rows_of_the_query(%q: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %t: tensor<127x32xf32>, %c: tensor<9x32xf32>)
    -> tensor<2x64x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term "h i d, h j d"(%q, %v) scale 1.0 : tensor<2x64x32xf32>, tensor<2x64x32xf32>
    attn.term "h i d, (j - i + 63) d"(%q, %t) scale 1.0 : tensor<2x64x32xf32>, tensor<127x32xf32>
    attn.term "h i d, (clamp(j - i, -4, 4) + 4) d"(%q, %c) scale 1.0 : tensor<2x64x32xf32>, tensor<9x32xf32>
    attn.term "h i d, (i*j mod 9) d"(%q, %c) scale 1.0 : tensor<2x64x32xf32>, tensor<9x32xf32>
  } : tensor<2x64x32xf32> -> tensor<2x64x32xf32>
  return %o : tensor<2x64x32xf32>
}

// -----
// CHECK-LABEL: func.func @rows_of_the_key
// CHECK: strategies = ["key_diagonals", "key_diagonals", "gathered_keys"]>
func.func @rows_of_the_key(%k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %t: tensor<127x32xf32>, %c: tensor<9x32xf32>)
    -> tensor<2x64x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term "h j d, (i - j + 63) d"(%k, %t) scale 1.0 : tensor<2x64x32xf32>, tensor<127x32xf32>
    attn.term "h j d, (clamp(i - j, -4, 4) + 4) d"(%k, %c) scale 1.0 : tensor<2x64x32xf32>, tensor<9x32xf32>
    attn.term "h j d, (i*j mod 9) d"(%k, %c) scale 1.0 : tensor<2x64x32xf32>, tensor<9x32xf32>
  } : tensor<2x64x32xf32> -> tensor<2x64x32xf32>
  return %o : tensor<2x64x32xf32>
}

// -----
// On maps: logits of one axis, lines over the other.
// CHECK-LABEL: func.func @axes
// CHECK: strategies = ["matmul", "axis_logits", "axis_logits", "axis_lines", "key_lines"]>
func.func @axes(%q: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %t: tensor<15x32xf32>) -> tensor<2x64x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h (iy ix) (jy jx)" sizes {iy = 8 : i64, ix = 8 : i64, jy = 8 : i64, jx = 8 : i64}
      value "h (jy jx) e -> h (iy ix) e"(%v) score {
    attn.term "h (iy ix) d, h (jy jx) d"(%q, %v) scale 1.0 : tensor<2x64x32xf32>, tensor<2x64x32xf32>
    attn.term "h (iy ix) d, (jy - iy + 7) d"(%q, %t) scale 1.0 : tensor<2x64x32xf32>, tensor<15x32xf32>
    attn.term "h (iy ix) d, (ix - jx + 7) d"(%q, %t) scale 1.0 : tensor<2x64x32xf32>, tensor<15x32xf32>
    attn.term "h (iy ix) d, (clamp(jx - ix, -2, 2) + 2) d"(%q, %t) scale 1.0 : tensor<2x64x32xf32>, tensor<15x32xf32>
    attn.term "h (jy jx) d, (jy - iy + 7) d"(%v, %t) scale 1.0 : tensor<2x64x32xf32>, tensor<15x32xf32>
  } : tensor<2x64x32xf32> -> tensor<2x64x32xf32>
  return %o : tensor<2x64x32xf32>
}

// -----
// Numbers: lines of differences and of keys, tables where they are small, what lies in memory, rows picked in vectors.
// CHECK-LABEL: func.func @numbers
// CHECK: strategies = ["matmul", "difference_line", "difference_line", "key_line", "row_load", "row_load", "difference_line", "score_table"]>
func.func @numbers(%q: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %t: tensor<127x2xf32>, %k: tensor<2x64xf32>, %g: tensor<2x64xf32>,
                   %m: tensor<64x64xf32>, %n: tensor<2x64x64xf32>, %slope: tensor<2xf32>) -> tensor<2x64x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term "h i d, h j d"(%q, %v) scale 1.0 : tensor<2x64x32xf32>, tensor<2x64x32xf32>
    attn.term "(j - i + 63) h"(%t) scale 1.0 : tensor<127x2xf32>
    attn.term "h"(%slope) times "abs(i - j)" scale 1.0 : tensor<2xf32>
    attn.term "h j"(%k) scale 1.0 : tensor<2x64xf32>
    attn.term "i j"(%m) scale 1.0 : tensor<64x64xf32>
    attn.term "h i j"(%n) scale 1.0 : tensor<2x64x64xf32>
    attn.term "h i, (j - i + 63) h"(%g, %t) scale 1.0 : tensor<2x64xf32>, tensor<127x2xf32>
    attn.term "h"(%slope) times "i*j" scale 1.0 : tensor<2xf32>
  } : tensor<2x64x32xf32> -> tensor<2x64x32xf32>
  return %o : tensor<2x64x32xf32>
}

// -----
// Numbers of a query and of some axes of a map, over more pairs than a table may hold.
// CHECK-LABEL: func.func @numbers_of_axes
// CHECK: strategies = ["matmul", "axis_numbers", "axis_numbers", "axis_numbers", "gathered_scalars"]>
func.func @numbers_of_axes(%q: tensor<2x512x32xf32>, %v: tensor<2x512x32xf32>, %y: tensor<2x512x32xf32>, %x: tensor<512x16xf32>,
                           %t: tensor<64xf32>) -> tensor<2x512x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h i (jy jx)" sizes {i = 512 : i64, jy = 32 : i64, jx = 16 : i64} value "h (jy jx) e -> h i e"(%v) score {
    attn.term "h i d, h (jy jx) d"(%q, %v) scale 1.0 : tensor<2x512x32xf32>, tensor<2x512x32xf32>
    attn.term "h i jy"(%y) scale 1.0 : tensor<2x512x32xf32>
    attn.term "i jx"(%x) scale 1.0 where "0 < i" : tensor<512x16xf32>
    attn.term "(i*jx mod 64)"(%t) times "jx" scale 1.0 : tensor<64xf32>
    attn.term "((i*jx + jy) mod 64)"(%t) scale 1.0 : tensor<64xf32>
  } : tensor<2x512x32xf32> -> tensor<2x512x32xf32>
  return %o : tensor<2x512x32xf32>
}

// -----
// The same over more pairs than a table may hold.
// CHECK-LABEL: func.func @many_numbers
// CHECK: strategies = ["matmul", "row_load", "gathered_scalars", "gathered_scalars", "gathered_scalars"]>
func.func @many_numbers(%q: tensor<2x512x32xf32>, %v: tensor<2x512x32xf32>, %m: tensor<512x512xf32>, %slope: tensor<2xf32>,
                        %t: tensor<64xf32>) -> tensor<2x512x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term "h i d, h j d"(%q, %v) scale 1.0 : tensor<2x512x32xf32>, tensor<2x512x32xf32>
    attn.term "i j"(%m) scale 1.0 : tensor<512x512xf32>
    attn.term "j i"(%m) scale 1.0 : tensor<512x512xf32>
    attn.term "h"(%slope) times "i*j" scale 1.0 : tensor<2xf32>
    attn.term "(i*j mod 64)"(%t) scale 1.0 : tensor<64xf32>
  } : tensor<2x512x32xf32> -> tensor<2x512x32xf32>
  return %o : tensor<2x512x32xf32>
}

// -----
// Of the values: added to them, steps along diagonals, sums over an axis, pairs.
// CHECK-LABEL: func.func @values
// CHECK: strategies = ["matmul", "added_to_values", "diagonals", "diagonals", "read_for_each_pair"]>
func.func @values(%q: tensor<2x64x32xf32>, %t: tensor<127x32xf32>, %e: tensor<64x32xf32>, %m: tensor<64x64xf32>)
    -> tensor<2x64x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h i j" value "h j e -> h i e"(%q) score {
    attn.term "h i d, h j d"(%q, %q) scale 1.0 : tensor<2x64x32xf32>, tensor<2x64x32xf32>
  } values {
    attn.term "j e"(%e) scale 1.0 : tensor<64x32xf32>
    attn.term "(j - i + 63) e"(%t) scale 1.0 : tensor<127x32xf32>
    attn.term "(clamp(j - i, -4, 4) + 4) e"(%t) scale 1.0 : tensor<127x32xf32>
    attn.term "(i*j mod 64) e"(%t) scale 1.0 : tensor<127x32xf32>
  } : tensor<2x64x32xf32> -> tensor<2x64x32xf32>
  return %o : tensor<2x64x32xf32>
}

// -----
// CHECK-LABEL: func.func @values_of_axes
// CHECK: strategies = ["matmul", "axis_sums", "axis_sums"]>
func.func @values_of_axes(%q: tensor<2x64x32xf32>, %t: tensor<15x32xf32>) -> tensor<2x64x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h (iy ix) (jy jx)" sizes {iy = 8 : i64, ix = 8 : i64, jy = 8 : i64, jx = 8 : i64}
      value "h (jy jx) e -> h (iy ix) e"(%q) score {
    attn.term "h (iy ix) d, h (jy jx) d"(%q, %q) scale 1.0 : tensor<2x64x32xf32>, tensor<2x64x32xf32>
  } values {
    attn.term "(jy - iy + 7) e"(%t) scale 1.0 : tensor<15x32xf32>
    attn.term "(ix - jx + 7) e"(%t) scale 1.0 : tensor<15x32xf32>
  } : tensor<2x64x32xf32> -> tensor<2x64x32xf32>
  return %o : tensor<2x64x32xf32>
}

// -----
// A term that is not read is not computed.
// CHECK-LABEL: func.func @unread
// CHECK-NOT: attn.attention
func.func @unread(%q: tensor<2x64x32xf32>) -> tensor<2x64x32xf32> attributes {attn.kernel} {
  %o = attn.attention "h i j" value "h j e -> h i e"(%q) score {
    attn.term "h i d, h j d"(%q, %q) scale 1.0 : tensor<2x64x32xf32>, tensor<2x64x32xf32>
  } : tensor<2x64x32xf32> -> tensor<2x64x32xf32>
  return %q : tensor<2x64x32xf32>
}
