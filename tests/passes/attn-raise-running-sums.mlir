// RUN: skewer-opt %s -attn-raise-running-sums -split-input-file | FileCheck %s

// From a key to the end (CoPE's positions): the triangle's rows are the result's axis.
// CHECK-LABEL: func.func @from
// CHECK: attn.einsum "i k -> i j" where "j <= k" sizes {j = 3 : i64}(%arg0)
func.func @from(%x: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %t = arith.constant dense<[[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>
  %s = attn.einsum "i k, j k -> i j"(%x, %t) : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  return %s : tensor<5x3xf32>
}

// -----
// Up to a position, and its columns are; products with others stay.
// CHECK-LABEL: func.func @to
// CHECK: attn.einsum "i k, i -> i j" where "k <= j" sizes {j = 3 : i64}(%arg0, %arg1)
func.func @to(%x: tensor<5x3xf32>, %y: tensor<5xf32>) -> tensor<5x3xf32> {
  %t = arith.constant dense<[[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>
  %s = attn.einsum "i k, k j, i -> i j"(%x, %t, %y) : (tensor<5x3xf32>, tensor<3x3xf32>, tensor<5xf32>) -> tensor<5x3xf32>
  return %s : tensor<5x3xf32>
}

// -----
// Without the position itself, from either side.
// CHECK-LABEL: func.func @strict
// CHECK: attn.einsum "i k -> i j" where "k < j" sizes {j = 3 : i64}(%arg0)
// CHECK: attn.einsum "i k -> i j" where "j < k" sizes {j = 3 : i64}(%arg0)
func.func @strict(%x: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>) {
  %t = arith.constant dense<[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]> : tensor<3x3xf32>
  %s = attn.einsum "i k, j k -> i j"(%x, %t) : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  %r = attn.einsum "i k, k j -> i j"(%x, %t) : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  return %s, %r : tensor<5x3xf32>, tensor<5x3xf32>
}

// -----
// Another number, a missing one, a unit matrix, an operand that the triangle's axis also picks, a second sum: they stay.
// CHECK-LABEL: func.func @products
// CHECK-NOT: where
// CHECK: return
func.func @products(%x: tensor<5x3xf32>, %w: tensor<5x3x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<3xf32>) {
  %two = arith.constant dense<[[1.0, 1.0, 2.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>
  %hole = arith.constant dense<[[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>
  %unit = arith.constant dense<[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>
  %t = arith.constant dense<[[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>
  %0 = attn.einsum "i k, j k -> i j"(%x, %two) : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  %1 = attn.einsum "i k, j k -> i j"(%x, %hole) : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  %2 = attn.einsum "i k, j k -> i j"(%x, %unit) : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  %3 = attn.einsum "i j k, j k -> i j"(%w, %t) : (tensor<5x3x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  %4 = attn.einsum "i k, j k -> j"(%x, %t) : (tensor<5x3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
  return %0, %1, %2, %3, %4 : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<3xf32>
}
