// RUN: skewer-opt %s -attn-raise-skew -split-input-file | FileCheck %s

// rel_shift of Transformer-XL: the example of the pass's description.
// CHECK-LABEL: func.func @rel_shift
// CHECK-NEXT: attn.einsum "h i (j - i + 3) -> h i j" sizes {j = 4 : i64}(%arg0)
// CHECK-NEXT: return
func.func @rel_shift(%l: tensor<2x4x7xf32>) -> tensor<2x4x4xf32> {
  %p = attn.pad %l low [0, 0, 1] high [0, 0, 0] : tensor<2x4x7xf32> to tensor<2x4x8xf32>
  %f = attn.reshape %p : tensor<2x4x8xf32> to tensor<2x8x4xf32>
  %s = attn.slice %f offsets [0, 1, 0] strides [1, 1, 1] : tensor<2x8x4xf32> to tensor<2x7x4xf32>
  %r = attn.reshape %s : tensor<2x7x4xf32> to tensor<2x4x7xf32>
  %t = attn.slice %r offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x7xf32> to tensor<2x4x4xf32>
  return %t : tensor<2x4x4xf32>
}

// -----
// Padding that is read becomes a guard; the subscript stays inside the operand.
// CHECK-LABEL: func.func @padded
// CHECK-NEXT: attn.einsum "(min(j, 3)) -> j" where "j <= 3" sizes {j = 6 : i64}(%arg0)
func.func @padded(%x: tensor<4xf32>) -> tensor<6xf32> {
  %p = attn.pad %x low [0] high [2] : tensor<4xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}

// -----
// Padding with another number than 0, which no guard can express.
// CHECK-LABEL: func.func @padded_with_one
// CHECK-NEXT: attn.pad
func.func @padded_with_one(%x: tensor<4xf32>) -> tensor<6xf32> {
  %p = attn.pad %x low [0] high [2] value 1.0 : tensor<4xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}

// -----
// Swin's index matrix on a 2 x 2 map: (iy - jy + 1) * 3 + ix - jx + 1.
// CHECK-LABEL: func.func @swin
// CHECK-NEXT: attn.einsum "h ({{.*}}) -> h (iy ix) (jy jx)" sizes
// CHECK-SAME: (%arg0)
func.func @swin(%t: tensor<2x9xf32>) -> tensor<2x4x4xf32> {
  %g = attn.gather %t dimension 1 indices dense<[[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]> : tensor<4x4xi64>
      : tensor<2x9xf32> to tensor<2x4x4xf32>
  return %g : tensor<2x4x4xf32>
}

// -----
// Clamped offsets, and indices that are a table themselves.
// CHECK-LABEL: func.func @clamped
// CHECK: attn.einsum "(clamp(j - i, -1, 2) + 1) -> i j"
// CHECK: attn.einsum "([1, 4, 0, 2][2*i + j]) -> i j"
func.func @clamped(%t: tensor<5xf32>) -> (tensor<4x4xf32>, tensor<2x2xf32>) {
  %g = attn.gather %t dimension 0 indices dense<[[1, 2, 3, 3], [0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 1]]> : tensor<4x4xi64>
      : tensor<5xf32> to tensor<4x4xf32>
  %n = attn.gather %t dimension 0 indices dense<[[1, 4], [0, 2]]> : tensor<2x2xi64> : tensor<5xf32> to tensor<2x2xf32>
  return %g, %n : tensor<4x4xf32>, tensor<2x2xf32>
}

// -----
// A map of a multiple moves to the multiplied tensor.
// CHECK-LABEL: func.func @sunk
// CHECK: %[[L:.*]] = attn.einsum "h i d, r d -> h i r"
// CHECK: %[[V:.*]] = attn.einsum "h i (j - i + 3) -> h i j" sizes {j = 4 : i64}(%[[L]])
// CHECK: arith.mulf %[[V]]
func.func @sunk(%q: tensor<2x4x8xf32>, %t: tensor<7x8xf32>) -> tensor<2x4x4xf32> {
  %scale = arith.constant dense<0.5> : tensor<2x4x7xf32>
  %l = attn.einsum "h i d, r d -> h i r"(%q, %t) : (tensor<2x4x8xf32>, tensor<7x8xf32>) -> tensor<2x4x7xf32>
  %m = arith.mulf %l, %scale : tensor<2x4x7xf32>
  %s = attn.skew %m : tensor<2x4x7xf32> to tensor<2x4x4xf32>
  return %s : tensor<2x4x4xf32>
}
