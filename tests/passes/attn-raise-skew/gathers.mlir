// RUN: skewer-opt %s -attn-raise-skew -split-input-file | FileCheck %s
// Constant indices become a shorter index expression, if there is one.

// A slice with a step, a flip, one row for all.
// CHECK-LABEL: func.func @affine
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(3*i + 1) j -> i j" sizes {i = 3 : i64}(%arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "(8 - i) j -> i j" sizes {i = 4 : i64}(%arg0)
// CHECK-NEXT: %[[V2:.*]] = attn.einsum "(5) j -> i j" sizes {i = 3 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]], %[[V1]], %[[V2]]
func.func @affine(%x: tensor<9x2xf32>) -> (tensor<3x2xf32>, tensor<4x2xf32>, tensor<3x2xf32>) {
  %a = attn.gather %x dimension 0 indices dense<[1, 4, 7]> : tensor<3xi64> : tensor<9x2xf32> to tensor<3x2xf32>
  %b = attn.gather %x dimension 0 indices dense<[8, 7, 6, 5]> : tensor<4xi64> : tensor<9x2xf32> to tensor<4x2xf32>
  %c = attn.gather %x dimension 0 indices dense<5> : tensor<3xi64> : tensor<9x2xf32> to tensor<3x2xf32>
  return %a, %b, %c : tensor<3x2xf32>, tensor<4x2xf32>, tensor<3x2xf32>
}

// -----
// Offsets in both directions: key minus query, query minus key.
// CHECK-LABEL: func.func @offsets
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(j - i + 2) -> i j" sizes {i = 3 : i64, j = 3 : i64}(%arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "(i - j + 2) -> i j" sizes {i = 3 : i64, j = 3 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]], %[[V1]]
func.func @offsets(%x: tensor<5xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %a = attn.gather %x dimension 0 indices dense<[[2, 3, 4], [1, 2, 3], [0, 1, 2]]> : tensor<3x3xi64> : tensor<5xf32> to tensor<3x3xf32>
  %b = attn.gather %x dimension 0 indices dense<[[2, 1, 0], [3, 2, 1], [4, 3, 2]]> : tensor<3x3xi64> : tensor<5xf32> to tensor<3x3xf32>
  return %a, %b : tensor<3x3xf32>, tensor<3x3xf32>
}

// -----
// Clamped on one side only, and buckets of two offsets each: steps.
// CHECK-LABEL: func.func @steps
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(max(j - i, -1) + 1) -> i j" sizes {i = 3 : i64, j = 3 : i64}(%arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "((i <= j) + (i <= j - 2)) -> i j" sizes {i = 3 : i64, j = 3 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]], %[[V1]]
func.func @steps(%x: tensor<5xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %a = attn.gather %x dimension 0 indices dense<[[1, 2, 3], [0, 1, 2], [0, 0, 1]]> : tensor<3x3xi64> : tensor<5xf32> to tensor<3x3xf32>
  %b = attn.gather %x dimension 0 indices dense<[[1, 1, 2], [0, 1, 1], [0, 0, 1]]> : tensor<3x3xi64> : tensor<5xf32> to tensor<3x3xf32>
  return %a, %b : tensor<3x3xf32>, tensor<3x3xf32>
}

// -----
// Absolute offsets are neither a clamp nor a line, but have few steps.
// CHECK-LABEL: func.func @distance
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "((i < j) + (i <= j - 3) + (i <= j - 2) - (i <= j) - (i <= j + 1) - (i <= j + 2) + 3) -> i j" sizes {i = 4 : i64, j = 4 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @distance(%x: tensor<4xf32>) -> tensor<4x4xf32> {
  %a = attn.gather %x dimension 0 indices dense<[[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]> : tensor<4x4xi64> : tensor<4xf32> to tensor<4x4xf32>
  return %a : tensor<4x4xf32>
}

// -----
// More queries than keys, on maps of one width: rows of the maps, which no offset of positions gives.
// CHECK-LABEL: func.func @rows_of_maps
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(iy + jy) -> (iy ix) (jy jx)" sizes {ix = 2 : i64, iy = 3 : i64, jx = 2 : i64, jy = 2 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @rows_of_maps(%x: tensor<4xf32>) -> tensor<6x4xf32> {
  %a = attn.gather %x dimension 0 indices dense<[[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 2, 2], [1, 1, 2, 2], [2, 2, 3, 3], [2, 2, 3, 3]]> : tensor<6x4xi64> : tensor<4xf32> to tensor<6x4xf32>
  return %a : tensor<6x4xf32>
}

// -----
// A square matrix that was flattened before the rows were gathered (Swin's view(-1)), seen as a matrix again.
// CHECK-LABEL: func.func @flattened
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(3*iy + ix - 3*jy - jx + 4) h -> h (iy ix) (jy jx)" sizes {ix = 2 : i64, iy = 2 : i64, jx = 2 : i64, jy = 2 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @flattened(%t: tensor<9x2xf32>) -> tensor<2x4x4xf32> {
  %g = attn.gather %t dimension 0 indices dense<[4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4]> : tensor<16xi64> : tensor<9x2xf32> to tensor<16x2xf32>
  %r = attn.rearrange "(i j) h -> h i j" sizes {i = 4 : i64} %g : tensor<16x2xf32> to tensor<2x4x4xf32>
  return %r : tensor<2x4x4xf32>
}

// -----
// One index that is off, and a permutation: tables of their own.
// CHECK-LABEL: func.func @tables
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "([2..4, 1, 0, 3, 0..2][3*i + j]) -> i j" sizes {i = 3 : i64, j = 3 : i64}(%arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "([2, 0, 1, 3][j]) -> j" sizes {j = 4 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]], %[[V1]]
func.func @tables(%x: tensor<5xf32>) -> (tensor<3x3xf32>, tensor<4xf32>) {
  %a = attn.gather %x dimension 0 indices dense<[[2, 3, 4], [1, 0, 3], [0, 1, 2]]> : tensor<3x3xi64> : tensor<5xf32> to tensor<3x3xf32>
  %b = attn.gather %x dimension 0 indices dense<[2, 0, 1, 3]> : tensor<4xi64> : tensor<5xf32> to tensor<4xf32>
  return %a, %b : tensor<3x3xf32>, tensor<4xf32>
}

// -----
// Along a dimension between others, which stay in place.
// CHECK-LABEL: func.func @between
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "b (i - h + 1) j -> b h i j" sizes {h = 2 : i64, i = 2 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @between(%x: tensor<2x5x3xf32>) -> tensor<2x2x2x3xf32> {
  %a = attn.gather %x dimension 1 indices dense<[[1, 2], [0, 1]]> : tensor<2x2xi64> : tensor<2x5x3xf32> to tensor<2x2x2x3xf32>
  return %a : tensor<2x2x2x3xf32>
}

// -----
// A gather of a gather: the table of the inner one goes if the outer one reads a line of it.
// CHECK-LABEL: func.func @gather_of_gather
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(2*j + 2) -> j" sizes {j = 3 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @gather_of_gather(%x: tensor<9xf32>) -> tensor<3xf32> {
  %a = attn.gather %x dimension 0 indices dense<[8, 6, 4, 2, 0]> : tensor<5xi64> : tensor<9xf32> to tensor<5xf32>
  %b = attn.gather %a dimension 0 indices dense<[3, 2, 1]> : tensor<3xi64> : tensor<5xf32> to tensor<3xf32>
  return %b : tensor<3xf32>
}

// -----
// Rows gathered for the product with the weights are no part of a score, and are read through their expression too.
// CHECK-LABEL: func.func @of_weights
// CHECK-NEXT: %[[V0:.*]] = attn.softmax "i j" over "j"(%arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "(clamp(i - h, -1, 1) + 1) j -> h i j" sizes {h = 3 : i64, i = 3 : i64}(%arg1)
// CHECK-NEXT: %[[V2:.*]] = attn.einsum "i j, i j d -> i d"(%[[V0]], %[[V1]])
// CHECK-NEXT: return %[[V2]]
func.func @of_weights(%s: tensor<3x3xf32>, %t: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %p = attn.softmax "i j" over "j"(%s) : tensor<3x3xf32>
  %g = attn.gather %t dimension 0 indices dense<[[1, 2, 2], [0, 1, 2], [0, 0, 1]]> : tensor<3x3xi64> : tensor<3x8xf32> to tensor<3x3x8xf32>
  %o = attn.einsum "i j, i j d -> i d"(%p, %g) : (tensor<3x3xf32>, tensor<3x3x8xf32>) -> tensor<3x8xf32>
  return %o : tensor<3x8xf32>
}
