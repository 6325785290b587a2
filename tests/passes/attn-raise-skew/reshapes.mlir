// RUN: skewer-opt %s -attn-raise-skew -split-input-file | FileCheck %s
// A reshape is a division and a remainder by the sizes, which cancel wherever bounds allow.

// Split: the new axes are the digits of the old one.
// CHECK-LABEL: func.func @split
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(i j) -> i j" sizes {i = 3 : i64, j = 4 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @split(%x: tensor<12xf32>) -> tensor<3x4xf32> {
  %r = attn.reshape %x : tensor<12xf32> to tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----
// Merged: division and remainder by the inner size.
// CHECK-LABEL: func.func @merge
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "jy jx -> (jy jx)"(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @merge(%x: tensor<3x4xf32>) -> tensor<12xf32> {
  %r = attn.reshape %x : tensor<3x4xf32> to tensor<12xf32>
  return %r : tensor<12xf32>
}

// -----
// There and back gives the identity.
// CHECK-LABEL: func.func @there_and_back
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i j -> i j"(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @there_and_back(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = attn.reshape %x : tensor<3x4xf32> to tensor<6x2xf32>
  %s = attn.reshape %r : tensor<6x2xf32> to tensor<3x4xf32>
  return %s : tensor<3x4xf32>
}

// -----
// Sizes without a common factor: rows cross the ends of rows, which no axes can express.
// CHECK-LABEL: func.func @coprime
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "((3*i + j) floordiv 4) ((j - i) mod 4) -> i j" sizes {i = 4 : i64, j = 3 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @coprime(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %r = attn.reshape %x : tensor<3x4xf32> to tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----
// Dimensions of size 1 come and go without a trace.
// CHECK-LABEL: func.func @ones
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "h 1 i -> b h i j" sizes {b = 1 : i64, j = 1 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @ones(%x: tensor<3x1x4xf32>) -> tensor<1x3x4x1xf32> {
  %r = attn.reshape %x : tensor<3x1x4xf32> to tensor<1x3x4x1xf32>
  return %r : tensor<1x3x4x1xf32>
}

// -----
// A batch of run-time size stays the first axis and is not mixed with the others.
// CHECK-LABEL: func.func @batch
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "b (h i) j -> b h i j" sizes {h = 2 : i64, i = 3 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @batch(%x: tensor<?x6x4xf32>) -> tensor<?x2x3x4xf32> {
  %r = attn.reshape %x : tensor<?x6x4xf32> to tensor<?x2x3x4xf32>
  return %r : tensor<?x2x3x4xf32>
}

// -----
// A flattened index that a slice restricts to one row needs no division.
// CHECK-LABEL: func.func @row_of_flat
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(2) (j + 1) -> j" sizes {j = 6 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @row_of_flat(%x: tensor<4x8xf32>) -> tensor<6xf32> {
  %r = attn.reshape %x : tensor<4x8xf32> to tensor<32xf32>
  %s = attn.slice %r offsets [17] strides [1] : tensor<32xf32> to tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----
// Strides across rows: every ninth element of 8 columns is the diagonal.
// CHECK-LABEL: func.func @diagonal
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "j j -> j"(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @diagonal(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %r = attn.reshape %x : tensor<8x8xf32> to tensor<64xf32>
  %s = attn.slice %r offsets [0] strides [9] : tensor<64xf32> to tensor<8xf32>
  return %s : tensor<8xf32>
}
