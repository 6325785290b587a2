// RUN: skewer-opt %s -attn-print-term-classes 2>&1 >/dev/null | FileCheck %s

// CHECK: remark: content: matmul of queries and keys
// CHECK: remark: content: matmul of queries and one row a key, shared by all heads
// CHECK: remark: offset per map axis, query side: row jy - iy + 1 of a table, 3 rows, query side
// CHECK: remark: offset, key side: row ix - jx + 1 of a table a head, 3 rows, key side
// CHECK: remark: function of the offset: row {{.*}} of a table, {{.*}} query side
// CHECK: remark: query only
// CHECK: remark: key only
// CHECK: remark: position
// CHECK: remark: scalar of the offset: one number an offset and head, row {{.*}} of 9
// CHECK: remark: scalar of the offset: the function {{.*}} of the offset, times one number a head
// CHECK: remark: pair by pair
func.func @classes(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %e: tensor<4x8xf32>,
                   %r: tensor<3x8xf32>, %rh: tensor<2x3x8xf32>, %c: tensor<2x8xf32>, %t4: tensor<4xf32>,
                   %t9: tensor<2x9xf32>, %slope: tensor<2xf32>, %b: tensor<4x4xf32>) -> tensor<2x4x8xf32> {
  %o = attn.attention "h (iy ix) (jy jx)" sizes {iy = 2 : i64, ix = 2 : i64, jy = 2 : i64, jx = 2 : i64}
      value "h (jy jx) e -> h (iy ix) e"(%v) score {
    attn.term "h (iy ix) d, h (jy jx) d"(%q, %k) scale 1.0 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
    attn.term "h (iy ix) d, (jy jx) d"(%q, %e) scale 1.0 : tensor<2x4x8xf32>, tensor<4x8xf32>
    attn.term "h (iy ix) d, (jy - iy + 1) d"(%q, %r) scale 1.0 : tensor<2x4x8xf32>, tensor<3x8xf32>
    attn.term "h (jy jx) d, h (ix - jx + 1) d"(%k, %rh) scale 1.0 : tensor<2x4x8xf32>, tensor<2x3x8xf32>
    attn.term "h (iy ix) d, (max(jx - ix, 0)) d"(%q, %c) scale 1.0 : tensor<2x4x8xf32>, tensor<2x8xf32>
    attn.term "(iy ix)"(%t4) scale 1.0 : tensor<4xf32>
    attn.term "(jy jx)"(%t4) scale 1.0 : tensor<4xf32>
    attn.term ""() times "jx*iy" scale 1.0
    attn.term "h (3*iy - 3*jy + ix - jx + 4)"(%t9) scale 1.0 : tensor<2x9xf32>
    attn.term "h"(%slope) times "abs(iy - jy)" scale 1.0 : tensor<2xf32>
    attn.term "(iy ix) (jy jx)"(%b) scale 1.0 : tensor<4x4xf32>
  } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// Terms of the values.
// CHECK: remark: content
// CHECK: remark: offset, value side: row j - i + 2 of a table of 5 rows, value side, where abs(j - i) <= 2
// CHECK: remark: offset, value side: row i - j + 3 of a table a head of 7 rows, value side
// CHECK: remark: function of the offset, value side: row clamp(j - i, -1, 1) + 1 of a table of 3 rows, value side
// CHECK: remark: key only, value side: added to the values of the keys
// CHECK: remark: pair by pair
// CHECK: remark: pair by pair
func.func @values(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %near: tensor<5x8xf32>, %far: tensor<2x7x8xf32>,
                  %c: tensor<3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4x4xf32>) -> tensor<2x4x8xf32> {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term "h i d, h j d"(%q, %q) scale 1.0 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
  } values {
    attn.term "(j - i + 2) e"(%near) scale 1.0 where "abs(j - i) <= 2" : tensor<5x8xf32>
    attn.term "h (i - j + 3) e"(%far) scale 1.0 : tensor<2x7x8xf32>
    attn.term "(clamp(j - i, -1, 1) + 1) e"(%c) scale 1.0 : tensor<3x8xf32>
    attn.term "j e"(%w) scale 1.0 : tensor<4x8xf32>
    attn.term "i j"(%b) scale 1.0 : tensor<4x4xf32>
    attn.term ""() times "j - i" scale 1.0
  } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// Per axis of a map.
// CHECK: remark: content
// CHECK: remark: offset per map axis, value side: row jy - iy + 1 of a table of 3 rows, value side
// CHECK: remark: function of the offset, value side: row abs(ix - jx) of a table of 2 rows, value side
func.func @values_of_axes(%q: tensor<2x4x8xf32>, %y: tensor<3x8xf32>, %x: tensor<2x8xf32>) -> tensor<2x4x8xf32> {
  %o = attn.attention "h (iy ix) (jy jx)" sizes {iy = 2 : i64, ix = 2 : i64, jy = 2 : i64, jx = 2 : i64}
      value "h (jy jx) e -> h (iy ix) e"(%q) score {
    attn.term "h (iy ix) d, h (jy jx) d"(%q, %q) scale 1.0 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
  } values {
    attn.term "(jy - iy + 1) e"(%y) scale 1.0 : tensor<3x8xf32>
    attn.term "(abs(jx - ix)) e"(%x) scale 1.0 : tensor<2x8xf32>
  } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// Rows picked by run-time index operands; of the key alone they are a key's number.
// CHECK: remark: per-token index: row seg[b, i] != seg[b, j] of 2, read for each query and key, query side
// CHECK: remark: per-token index: row bucket[j - i + 3] of 9, read for each query and key
// CHECK: remark: per-token index: seg[b, i] != seg[b, j], read for each query and key
// CHECK: remark: key only
func.func @read(%q: tensor<?x4x8xf32>, %v: tensor<?x4x8xf32>, %e: tensor<2x8xf32>, %t: tensor<9xf32>,
                %seg: tensor<?x4xi32> {attn.name = "seg", attn.range = array<i64: 0, 1>},
                %bucket: tensor<7xi32> {attn.name = "bucket", attn.range = array<i64: 0, 8>}) -> tensor<?x4x8xf32> {
  %o = attn.attention "b i j" value "b j e -> b i e"(%v) score {
    attn.term "b i d, (seg[b, i] != seg[b, j]) d" indices(seg = %seg : tensor<?x4xi32>)(%q, %e) scale 1.0
        : tensor<?x4x8xf32>, tensor<2x8xf32>
    attn.term "(bucket[j - i + 3])" indices(bucket = %bucket : tensor<7xi32>)(%t) scale 1.0 : tensor<9xf32>
    attn.term "" indices(seg = %seg : tensor<?x4xi32>)() times "seg[b, i] != seg[b, j]" scale 1.0
    attn.term "(seg[b, j])" indices(seg = %seg : tensor<?x4xi32>)(%t) scale 1.0 : tensor<9xf32>
  } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %o : tensor<?x4x8xf32>
}
