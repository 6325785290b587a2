// RUN: skewer-opt %s -attn-compose-skew -split-input-file | FileCheck %s
// Guards when maps and einsums are composed: a guard moves with the axes, and keeps only what is not implied.

// The pad's border and the einsum's own guard together.
// CHECK-LABEL: func.func @border_and_guard
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (j - 1) d -> i j" where "0 < j and j <= 4" sizes {j = 7 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @border_and_guard(%q: tensor<4x8xf32>, %t: tensor<5x8xf32>) -> tensor<4x7xf32> {
  %l = attn.einsum "i d, r d -> i r" where "r <= 3"(%q, %t) : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
  %p = attn.pad %l low [0, 1] high [0, 1] : tensor<4x5xf32> to tensor<4x7xf32>
  return %p : tensor<4x7xf32>
}

// -----
// A guard that the slice makes true is removed.
// CHECK-LABEL: func.func @decided
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (j + 3) d -> i j" sizes {j = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @decided(%q: tensor<4x8xf32>, %t: tensor<9x8xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i d, r d -> i r" where "r >= 2"(%q, %t) : (tensor<4x8xf32>, tensor<9x8xf32>) -> tensor<4x9xf32>
  %s = attn.slice %l offsets [0, 3] strides [1, 1] : tensor<4x9xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// A guard of the query alone stays a guard of the query, through a transposition.
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "j d, i d -> i j" where "j != 2"(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @transposed(%q: tensor<4x8xf32>, %k: tensor<5x8xf32>) -> tensor<5x4xf32> {
  %l = attn.einsum "i d, j d -> i j" where "i != 2"(%q, %k) : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
  %r = attn.rearrange "i j -> j i" %l : tensor<4x5xf32> to tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// -----
// Index operands move with the guard that reads them.
// CHECK-LABEL: func.func @documents
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (j - i + 3) d -> i j" where "doc[i] != 0" sizes {j = 4 : i64} indices(doc = %arg2
// CHECK-NEXT: return %[[V0]]
func.func @documents(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>, %doc: tensor<4xi32> {attn.name = "doc"}) -> tensor<4x4xf32> {
  %l = attn.einsum "i d, r d -> i r" where "doc[i] != 0" indices(doc = %doc : tensor<4xi32>)(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// On a map, positions of the guard become axes if the einsum has them.
// CHECK-LABEL: func.func @on_a_map
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(h i) d, j d -> h i j" where "j <= 3*h + i" sizes {h = 2 : i64, i = 3 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @on_a_map(%q: tensor<6x8xf32>, %k: tensor<6x8xf32>) -> tensor<2x3x6xf32> {
  %l = attn.einsum "i d, j d -> i j" where "j <= i"(%q, %k) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
  %r = attn.rearrange "(y x) j -> y x j" sizes {y = 2 : i64} %l : tensor<6x6xf32> to tensor<2x3x6xf32>
  return %r : tensor<2x3x6xf32>
}
