// RUN: skewer-opt %s -attn-print-term-classes -split-input-file -verify-diagnostics
// One number for each query and key: from a table, a function of positions, a product of them, or memory.

func.func @offsets(%v: tensor<2x6x8xf32>, %t: tensor<11xf32>, %th: tensor<11x2xf32>, %slope: tensor<2xf32>, %g: tensor<2x6xf32>,
                   %m: tensor<6x6xf32>, %mh: tensor<2x6x6xf32>) -> tensor<2x6x8xf32> {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    // expected-remark @below {{scalar of the offset: one number an offset, row j - i + 5 of 11}}
    attn.term "(j - i + 5)"(%t) scale 1.0 : tensor<11xf32>
    // expected-remark @below {{scalar of the offset: one number an offset and head, row j - i + 5 of 11}}
    attn.term "(j - i + 5) h"(%th) scale 1.0 : tensor<11x2xf32>
    // expected-remark @below {{scalar of the offset: one number an offset and head, row clamp(j - i, -2, 2) + 2 of 11}}
    attn.term "(clamp(j - i, -2, 2) + 2) h"(%th) scale 1.0 : tensor<11x2xf32>
    // expected-remark @below {{scalar of the offset: one number an offset and head, row [0 x 4, 1..4, 4 x 3][j - i + 5] of 11}}
    attn.term "([0 x 4, 1..3, 4 x 4][j - i + 5]) h"(%th) scale 1.0 : tensor<11x2xf32>
    // expected-remark @below {{scalar of the offset: the function j - i of the offset, times one number a head}}
    attn.term "h"(%slope) times "j - i" scale 1.0 : tensor<2xf32>
    // expected-remark @below {{scalar of the offset: the function max(i - j, 0) of the offset, times one number a head}}
    attn.term "h"(%slope) times "max(i - j, 0)" scale 1.0 : tensor<2xf32>
    // expected-remark @below {{pair by pair: a number for each query and key: no class fits its subscripts 'h'}}
    attn.term "h"(%slope) times "i*j" scale 1.0 : tensor<2xf32>
    // expected-remark @below {{position: a function of positions, without a tensor}}
    attn.term ""() times "j - i" scale 1.0
    // expected-remark @below {{position: a function of positions, without a tensor}}
    attn.term ""() times "i == j" scale 1.0
    // expected-remark @below {{query only: the same for all keys of a query}}
    attn.term "h"(%slope) scale 1.0 : tensor<2xf32>
    // expected-remark @below {{scalar of the offset: one number an offset: a product of 2 tensors}}
    attn.term "h, (j - i + 5) h"(%slope, %th) scale 1.0 : tensor<2xf32>, tensor<11x2xf32>
    // expected-remark @below {{gated scalar of the offset: one number an offset, times one a query}}
    attn.term "h i, (j - i + 5) h"(%g, %th) scale 1.0 : tensor<2x6xf32>, tensor<11x2xf32>
    // expected-remark @below {{gated scalar of the offset: one number an offset, times one a query}}
    attn.term "h i"(%g) times "j - i" scale 1.0 : tensor<2x6xf32>
    // expected-remark @below {{key only: one number a key, whatever the query}}
    attn.term "h j"(%g) scale 1.0 : tensor<2x6xf32>
    // expected-remark @below {{query only: the same for all keys of a query}}
    attn.term "h i"(%g) scale 1.0 : tensor<2x6xf32>
    // expected-remark @below {{pair by pair: a number for each query and key: no class fits its subscripts 'i j'}}
    attn.term "i j"(%m) scale 1.0 : tensor<6x6xf32>
    // expected-remark @below {{pair by pair: a number for each query and key: no class fits its subscripts 'h j i'}}
    attn.term "h j i"(%mh) scale 1.0 : tensor<2x6x6xf32>
    // expected-remark @below {{scalar picked by positions: one number for each query and key, row i*j mod 11 of 11}}
    attn.term "(i*j mod 11)"(%t) scale 1.0 : tensor<11xf32>
  } : tensor<2x6x8xf32> -> tensor<2x6x8xf32>
  return %o : tensor<2x6x8xf32>
}

// -----
// Windows: a flat index of both offsets, a row an axis, absolute offsets, a token in front.
func.func @windows(%v: tensor<6x8xf32>, %flat: tensor<15xf32>, %table: tensor<3x5xf32>, %near: tensor<6xf32>) -> tensor<6x8xf32> {
  %o = attn.attention "(iy ix) (jy jx)" sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64}
      value "(jy jx) e -> (iy ix) e"(%v) score {
    // expected-remark @below {{scalar of the offset: one number an offset, row 5*iy + ix - 5*jy - jx + 7 of 15}}
    attn.term "(5*iy - 5*jy + ix - jx + 7)"(%flat) scale 1.0 : tensor<15xf32>
    // expected-remark @below {{scalar of the offset: one number an offset}}
    attn.term "(jy - iy + 1) (jx - ix + 2)"(%table) scale 1.0 : tensor<3x5xf32>
    // expected-remark @below {{scalar of the offset: one number an offset, row 3*abs(iy - jy) + abs(ix - jx) of 6}}
    attn.term "(3*abs(iy - jy) + abs(ix - jx))"(%near) scale 1.0 : tensor<6xf32>
    // expected-remark @below {{scalar of the offset: one number an offset, row jx - ix + 2 of 6}}
    attn.term "(jx - ix + 2)"(%near) scale 1.0 : tensor<6xf32>
    // expected-remark @below {{scalar of map axes: 2 numbers a query, one for each index along jy}}
    attn.term "(2*jy - iy + 1)"(%near) scale 1.0 : tensor<6xf32>
    // expected-remark @below {{position: a function of positions, without a tensor}}
    attn.term ""() times "abs(iy - jy) + abs(ix - jx)" scale -1.0
  } : tensor<6x8xf32> -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// -----
// Rows and numbers that run-time indices pick.
func.func @indices(%v: tensor<?x6x8xf32>, %t: tensor<9xf32>, %e: tensor<2x8xf32>,
                   %doc: tensor<?x6xi32> {attn.name = "doc"},
                   %bucket: tensor<11xi32> {attn.name = "bucket", attn.range = array<i64: 0, 8>},
                   %seg: tensor<?x6xi32> {attn.name = "seg", attn.range = array<i64: 0, 1>}) -> tensor<?x6x8xf32> {
  %o = attn.attention "b i j" value "b j e -> b i e"(%v) score {
    // expected-remark @below {{per-token index: doc[b, i] == doc[b, j], read for each query and key}}
    attn.term "" indices(doc = %doc : tensor<?x6xi32>)() times "doc[b, i] == doc[b, j]" scale 1.0
    // expected-remark @below {{per-token index: row bucket[j - i + 5] of 9, read for each query and key}}
    attn.term "(bucket[j - i + 5])" indices(bucket = %bucket : tensor<11xi32>)(%t) scale 1.0 : tensor<9xf32>
    // expected-remark @below {{per-token index: row seg[b, i] == seg[b, j] of 2, read for each query and key, query side}}
    attn.term "b i d, (seg[b, i] == seg[b, j]) d" indices(seg = %seg : tensor<?x6xi32>)(%v, %e) scale 1.0 : tensor<?x6x8xf32>, tensor<2x8xf32>
    // expected-remark @below {{per-token index: row seg[b, i] of 2, read for each query and key}}
    attn.term "b j d, (seg[b, i]) d" indices(seg = %seg : tensor<?x6xi32>)(%v, %e) scale 1.0 : tensor<?x6x8xf32>, tensor<2x8xf32>
    // expected-remark @below {{key only: one number a key, whatever the query}}
    attn.term "" indices(doc = %doc : tensor<?x6xi32>)() times "doc[b, j]" scale 1.0
    // expected-remark @below {{query only: the same for all keys of a query}}
    attn.term "" indices(doc = %doc : tensor<?x6xi32>)() times "doc[b, i]" scale 1.0
    // expected-remark @below {{key only: one number a key, whatever the query}}
    attn.term "(seg[b, j])" indices(seg = %seg : tensor<?x6xi32>)(%t) scale 1.0 : tensor<9xf32>
  } : tensor<?x6x8xf32> -> tensor<?x6x8xf32>
  return %o : tensor<?x6x8xf32>
}
