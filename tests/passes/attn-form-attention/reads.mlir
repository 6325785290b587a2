// RUN: skewer-opt %s -attn-form-attention -split-input-file | FileCheck %s

// A part of the keys, and of their vectors: only `sizes` gives their number.
// CHECK-LABEL: func.func @part
// CHECK-NEXT: attn.attention "i j" sizes {j = 4 : i64} value "(j + 2) e -> i e"(%arg2) score {
// CHECK-NEXT: attn.term "i (d + 1), (j + 2) (d + 3)" sizes {d = 5 : i64}(%arg0, %arg1) scale 1.000000e+00
func.func @part(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i (c + 1), (j + 2) (c + 3) -> i j" sizes {c = 5 : i64, j = 4 : i64}(%q, %k)
      : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, (j + 2) c -> i c"(%p, %v) : (tensor<4x4xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Every second one, by a slice; the values by another.
// CHECK-LABEL: func.func @strided
// CHECK-NEXT: attn.attention "i j" sizes {j = 4 : i64} value "(j + 1) e -> i e"(%arg2) score {
// CHECK-NEXT: attn.term "i d, (2*j) d"(%arg0, %arg1)
func.func @strided(%q: tensor<4x8xf32>, %k: tensor<8x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %even = attn.slice %k offsets [0, 0] strides [2, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %near = attn.slice %v offsets [1, 0] strides [1, 1] : tensor<6x8xf32> to tensor<4x8xf32>
  %s = attn.einsum "i c, j c -> i j"(%q, %even) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%p, %near) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Blocks that overlap.
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT: attn.attention "h i j" sizes {j = 6 : i64} value "(3*h + j) e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "(h i) d, (3*h + j) d"(%arg0, %arg1)
func.func @blocks(%q: tensor<6x8xf32>, %k: tensor<9x8xf32>, %v: tensor<9x8xf32>) -> tensor<2x3x8xf32> {
  %s = attn.einsum "(n i) c, (3*n + j) c -> n i j" sizes {n = 2 : i64, j = 6 : i64}(%q, %k)
      : (tensor<6x8xf32>, tensor<9x8xf32>) -> tensor<2x3x6xf32>
  %p = attn.softmax "n i j" over "j"(%s) : tensor<2x3x6xf32>
  %o = attn.einsum "n i j, (3*n + j) c -> n i c"(%p, %v) : (tensor<2x3x6xf32>, tensor<9x8xf32>) -> tensor<2x3x8xf32>
  return %o : tensor<2x3x8xf32>
}

// -----
// Padding that only the mask hides stays: rows are packed whole, also those of hidden keys.
// CHECK-LABEL: func.func @padded
// CHECK: %[[K:.*]] = attn.pad %arg1
// CHECK: %[[V:.*]] = attn.pad %arg2
// CHECK-NEXT: attn.attention "i j" where "2 <= j" value "j e -> i e"(%[[V]]) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %[[K]])
func.func @padded(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %kp = attn.pad %k low [2, 0] high [0, 0] : tensor<4x8xf32> to tensor<6x8xf32>
  %vp = attn.pad %v low [2, 0] high [0, 0] : tensor<4x8xf32> to tensor<6x8xf32>
  %s = attn.einsum "i c, j c -> i j"(%q, %kp) : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %p = attn.softmax "i j" over "j" where "j >= 2"(%s) : tensor<4x6xf32>
  %o = attn.einsum "i j, j c -> i c"(%p, %vp) : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
