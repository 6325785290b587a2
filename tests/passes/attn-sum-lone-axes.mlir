// RUN: skewer-opt %s -attn-sum-lone-axes -split-input-file | FileCheck %s

// The example of the pass's description.
// CHECK-LABEL: func.func @gate
// CHECK: %[[S:.*]] = attn.einsum "(o0_0 o0_1) o1 -> o0_0 o1" sizes {o0_0 = 2 : i64, o0_1 = 4 : i64}(%arg1)
// CHECK: attn.einsum "i d, a d -> i a"(%arg0, %[[S]])
func.func @gate(%x: tensor<6x16xf32>, %w: tensor<8x16xf32>) -> tensor<6x2xf32> {
  %o = attn.einsum "i d, (a c) d -> i a" sizes {a = 2 : i64, c = 4 : i64}(%x, %w)
      : (tensor<6x16xf32>, tensor<8x16xf32>) -> tensor<6x2xf32>
  return %o : tensor<6x2xf32>
}

// -----
// Both operands have one. Their sums are of f32, for every stored type.
// CHECK-LABEL: func.func @both
// CHECK: %[[X:.*]] = attn.einsum "o0 o1_0 -> o0" sizes {o1_0 = 16 : i64}(%arg0) : (tensor<6x16xbf16>) -> tensor<6xf32>
// CHECK: %[[Y:.*]] = attn.einsum "o0_0 o1 -> o1" sizes {o0_0 = 3 : i64}(%arg1) : (tensor<3x8xbf16>) -> tensor<8xf32>
// CHECK: attn.einsum "i, j -> i j"(%[[X]], %[[Y]]) : (tensor<6xf32>, tensor<8xf32>) -> tensor<6x8xf32>
func.func @both(%x: tensor<6x16xbf16>, %y: tensor<3x8xbf16>) -> tensor<6x8xf32> {
  %o = attn.einsum "i d, e j -> i j"(%x, %y) : (tensor<6x16xbf16>, tensor<3x8xbf16>) -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// -----
// A row that is read at an offset is summed in place, once for each row of the table.
// CHECK-LABEL: func.func @offsets
// CHECK: %[[S:.*]] = attn.einsum "o0 o1_0 -> o0" sizes {o1_0 = 3 : i64}(%arg1) : (tensor<7x3xf32>) -> tensor<7xf32>
// CHECK: attn.einsum "i d, (j - i + 3) -> i j" sizes {j = 4 : i64}
func.func @offsets(%x: tensor<4x1xf32>, %t: tensor<7x3xf32>) -> tensor<4x4xf32> {
  %o = attn.einsum "i d, (j - i + 3) e -> i j" sizes {j = 4 : i64}(%x, %t) : (tensor<4x1xf32>, tensor<7x3xf32>) -> tensor<4x4xf32>
  return %o : tensor<4x4xf32>
}

// -----
// What stays: an axis of the guard (beside one that goes), of an index expression, of a diagonal, of run-time size; a sum that would be a number.
// CHECK-LABEL: func.func @stays
// CHECK: %[[G:.*]] = attn.einsum "o0 o1_0 -> o0" sizes {o1_0 = 2 : i64}(%arg1)
// CHECK: attn.einsum "i, c -> i" where "c <= i"(%arg0, %[[G]])
// CHECK: attn.einsum "i, (c // 2) -> i" sizes {c = 4 : i64}(%arg0, %arg2)
// CHECK: attn.einsum "i, c c -> i"(%arg0, %arg3)
// CHECK: attn.einsum "i, b i -> i"(%arg0, %arg4)
// CHECK: attn.einsum "i, c -> i"(%arg0, %arg2)
func.func @stays(%x: tensor<4xf32>, %g: tensor<4x2xf32>, %h: tensor<2xf32>, %d: tensor<2x2xf32>, %r: tensor<?x4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = attn.einsum "i, c a -> i" where "c <= i"(%x, %g) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
  %1 = attn.einsum "i, (c // 2) -> i" sizes {c = 4 : i64}(%x, %h) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  %2 = attn.einsum "i, c c -> i"(%x, %d) : (tensor<4xf32>, tensor<2x2xf32>) -> tensor<4xf32>
  %3 = attn.einsum "i, b i -> i"(%x, %r) : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<4xf32>
  %4 = attn.einsum "i, c -> i"(%x, %h) : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----
// Weights of scores are not summed by themselves: the product with values by rows of keys would have to hold them.
// CHECK-LABEL: func.func @weights
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: attn.einsum "i (jy jx), jy e -> i e" sizes {{.*}}(%[[P]], %arg1)
func.func @weights(%s: tensor<4x6xf32>, %v: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x6xf32>
  %o = attn.einsum "i (jy jx), jy e -> i e" sizes {jx = 3 : i64, jy = 2 : i64}(%p, %v) : (tensor<4x6xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
