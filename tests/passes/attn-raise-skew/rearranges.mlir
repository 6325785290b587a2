// RUN: skewer-opt %s -attn-raise-skew -split-input-file | FileCheck %s
// Orders, groups and repetitions of axes.

// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "j i -> i j"(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @transposed(%x: tensor<3x4xf32>) -> tensor<4x3xf32> {
  %r = attn.rearrange "a b -> b a" %x : tensor<3x4xf32> to tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----
// Repeated: the operand is read without the new axis, whose size is kept.
// CHECK-LABEL: func.func @repeated
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i -> i j" sizes {j = 5 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @repeated(%x: tensor<3xf32>) -> tensor<3x5xf32> {
  %r = attn.rearrange "a -> a b" sizes {b = 5 : i64} %x : tensor<3xf32> to tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// -----
// Split, transposed, merged: space to depth.
// CHECK-LABEL: func.func @space_to_depth
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(iy jy) (ix jx) -> (iy ix) (jy jx)" sizes {ix = 3 : i64, iy = 2 : i64, jx = 2 : i64, jy = 2 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @space_to_depth(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %s = attn.rearrange "(y a) (x b) -> y x a b" sizes {a = 2 : i64, b = 2 : i64} %x : tensor<4x6xf32> to tensor<2x3x2x2xf32>
  %m = attn.rearrange "y x a b -> (y x) (a b)" %s : tensor<2x3x2x2xf32> to tensor<6x4xf32>
  return %m : tensor<6x4xf32>
}

// -----
// Repeated, then skewed along what is not repeated.
// CHECK-LABEL: func.func @repeated_and_skewed
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i (j - i + 3) -> h i j" sizes {h = 2 : i64, j = 4 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @repeated_and_skewed(%x: tensor<4x7xf32>) -> tensor<2x4x4xf32> {
  %r = attn.rearrange "i r -> h i r" sizes {h = 2 : i64} %x : tensor<4x7xf32> to tensor<2x4x7xf32>
  %s = attn.skew %r : tensor<2x4x7xf32> to tensor<2x4x4xf32>
  return %s : tensor<2x4x4xf32>
}

// -----
// Of a transposed table the skew picks the row instead of the column.
// CHECK-LABEL: func.func @skewed_columns
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(j - i + 3) i -> i j" sizes {j = 4 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @skewed_columns(%x: tensor<7x4xf32>) -> tensor<4x4xf32> {
  %r = attn.rearrange "r i -> i r" %x : tensor<7x4xf32> to tensor<4x7xf32>
  %s = attn.skew %r : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// A length of 1: its skew reads the only element of each row.
// CHECK-LABEL: func.func @single
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "h 1 1 -> h i j" sizes {i = 1 : i64, j = 1 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @single(%x: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %s = attn.skew %x : tensor<3x1x1xf32> to tensor<3x1x1xf32>
  return %s : tensor<3x1x1xf32>
}
