// RUN: skewer-opt %s -attn-raise-skew -split-input-file | FileCheck %s
// Padding is a guard where it is read, and nothing elsewhere.

// In front: the guard keeps the rest inside.
// CHECK-LABEL: func.func @front
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(j - 3) -> j" where "3 <= j" sizes {j = 7 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @front(%x: tensor<4xf32>) -> tensor<7xf32> {
  %p = attn.pad %x low [3] high [0] : tensor<4xf32> to tensor<7xf32>
  return %p : tensor<7xf32>
}

// -----
// On both sides of two dimensions: a conjunct for each side that can be outside.
// CHECK-LABEL: func.func @around
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(i - 1) j -> i j" where "0 < i and i <= 4" sizes {i = 6 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @around(%x: tensor<4x5xf32>) -> tensor<6x5xf32> {
  %p = attn.pad %x low [1, 0] high [1, 0] : tensor<4x5xf32> to tensor<6x5xf32>
  return %p : tensor<6x5xf32>
}

// -----
// Padded and sliced away again: nothing of it is left.
// CHECK-LABEL: func.func @cut_off
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "j -> j"(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @cut_off(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = attn.pad %x low [2] high [2] : tensor<4xf32> to tensor<8xf32>
  %s = attn.slice %p offsets [2] strides [1] : tensor<8xf32> to tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----
// A slice leaves half of a pad's border: one side of the guard.
// CHECK-LABEL: func.func @half_cut_off
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(min(j, 3)) -> j" where "j <= 3" sizes {j = 6 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @half_cut_off(%x: tensor<4xf32>) -> tensor<6xf32> {
  %p = attn.pad %x low [2] high [2] : tensor<4xf32> to tensor<8xf32>
  %s = attn.slice %p offsets [2] strides [1] : tensor<8xf32> to tensor<6xf32>
  return %s : tensor<6xf32>
}

// -----
// A pad of a pad is one pad, whose guard says the innermost.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(j - 3) -> j" where "j <= 6 and 3 <= j" sizes {j = 10 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @twice(%x: tensor<4xf32>) -> tensor<10xf32> {
  %p = attn.pad %x low [1] high [0] : tensor<4xf32> to tensor<5xf32>
  %q = attn.pad %p low [2] high [3] : tensor<5xf32> to tensor<10xf32>
  return %q : tensor<10xf32>
}

// -----
// A number other than 0 keeps the pad, and maps after it read its result.
// CHECK-LABEL: func.func @ones_below_a_slice
// CHECK-NEXT: %[[V0:.*]] = attn.pad %arg0 low [1] high [0] value 1.000000e+00
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "(4*j) -> j" sizes {j = 2 : i64}(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @ones_below_a_slice(%x: tensor<4xf32>) -> tensor<2xf32> {
  %p = attn.pad %x low [1] high [0] value 1.0 : tensor<4xf32> to tensor<5xf32>
  %s = attn.slice %p offsets [0] strides [4] : tensor<5xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----
// A dimension of run-time size is not padded and needs no guard.
// CHECK-LABEL: func.func @batch
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i (min(j, 3)) -> i j" where "j <= 3" sizes {j = 5 : i64}(%arg0)
// CHECK-NEXT: return %[[V0]]
func.func @batch(%x: tensor<?x4xf32>) -> tensor<?x5xf32> {
  %p = attn.pad %x low [0, 0] high [0, 1] : tensor<?x4xf32> to tensor<?x5xf32>
  return %p : tensor<?x5xf32>
}
