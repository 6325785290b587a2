// RUN: skewer-opt %s -attn-raise-skew -split-input-file | FileCheck %s
// Maps move below sums and multiples, to the einsums that make them.

// A sum of two logits is skewed by skewing both.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT: %[[L:.*]] = attn.einsum "i d, r d -> i r"(%arg2, %arg3)
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i (j - i + 3) -> i j" sizes {j = 4 : i64}(%arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "i (j - i + 3) -> i j" sizes {j = 4 : i64}(%[[L]])
// CHECK-NEXT: %[[V2:.*]] = arith.addf %[[V0]], %[[V1]]
// CHECK-NEXT: return %[[V2]]
func.func @sum(%a: tensor<4x7xf32>, %b: tensor<4x7xf32>, %q: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i d, r d -> i r"(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %c = arith.addf %a, %l : tensor<4x7xf32>
  %s = attn.skew %c : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// A sum without a product is computed before: cancellation in it is not lost next to scores.
// CHECK-LABEL: func.func @bracket
// CHECK-NEXT: %[[V0:.*]] = arith.subf %arg0, %arg1
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "i (j - i + 3) -> i j" sizes {j = 4 : i64}(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @bracket(%a: tensor<4x7xf32>, %b: tensor<4x7xf32>) -> tensor<4x4xf32> {
  %c = arith.subf %a, %b : tensor<4x7xf32>
  %s = attn.skew %c : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// Divided by a number, negated.
// CHECK-LABEL: func.func @divided
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i (j - i + 3) -> i j" sizes {j = 4 : i64}(%arg0)
// CHECK-NEXT: %[[V1:.*]] = arith.constant dense<2.000000e+00>
// CHECK-NEXT: %[[V2:.*]] = arith.divf %[[V0]], %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = arith.negf %[[V2]]
// CHECK-NEXT: return %[[V3]]
func.func @divided(%a: tensor<4x7xf32>) -> tensor<4x4xf32> {
  %two = arith.constant dense<2.0> : tensor<4x7xf32>
  %c = arith.divf %a, %two : tensor<4x7xf32>
  %n = arith.negf %c : tensor<4x7xf32>
  %s = attn.skew %n : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// A number added, then padded: 0 in the border is not the number, so the pad stays around the sum.
// CHECK-LABEL: func.func @number_in_a_border
// CHECK-NEXT: %[[V0:.*]] = arith.constant dense<2.000000e+00>
// CHECK-NEXT: %[[V1:.*]] = arith.addf %arg0, %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = attn.einsum "(j - 2) -> j" where "2 <= j" sizes {j = 6 : i64}(%[[V1]])
// CHECK-NEXT: return %[[V2]]
func.func @number_in_a_border(%a: tensor<4xf32>) -> tensor<6xf32> {
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %c = arith.addf %a, %two : tensor<4xf32>
  %p = attn.pad %c low [2] high [0] : tensor<4xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}

// -----
// A multiple is 0 in the border for every number.
// CHECK-LABEL: func.func @multiple_in_a_border
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "(j - 2) -> j" where "2 <= j" sizes {j = 6 : i64}(%arg0)
// CHECK-NEXT: %[[V1:.*]] = arith.constant dense<2.000000e+00>
// CHECK-NEXT: %[[V2:.*]] = arith.mulf %[[V0]], %[[V1]]
// CHECK-NEXT: return %[[V2]]
func.func @multiple_in_a_border(%a: tensor<4xf32>) -> tensor<6xf32> {
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %c = arith.mulf %a, %two : tensor<4xf32>
  %p = attn.pad %c low [2] high [0] : tensor<4xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}

// -----
// A quotient of tensors has no value in the border that its parts would give: 0 / 0.
// CHECK-LABEL: func.func @quotient_in_a_border
// CHECK-NEXT: %[[V0:.*]] = arith.divf %arg0, %arg1
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "(j - 2) -> j" where "2 <= j" sizes {j = 6 : i64}(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @quotient_in_a_border(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<6xf32> {
  %c = arith.divf %a, %b : tensor<4xf32>
  %p = attn.pad %c low [2] high [0] : tensor<4xf32> to tensor<6xf32>
  return %p : tensor<6xf32>
}

// -----
// A function of a sum is read as it is: maps stop at operations that are not linear.
// CHECK-LABEL: func.func @function
// CHECK-NEXT: %[[V0:.*]] = math.exp %arg0
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "i (j - i + 3) -> i j" sizes {j = 4 : i64}(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @function(%a: tensor<4x7xf32>) -> tensor<4x4xf32> {
  %e = math.exp %a : tensor<4x7xf32>
  %s = attn.skew %e : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// If there is a softmax, operations that are no part of its score stay.
// CHECK-LABEL: func.func @elsewhere
// CHECK-NEXT: %[[V0:.*]] = attn.skew %arg0
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j"(%arg1)
// CHECK-NEXT: return %[[V0]], %[[V1]]
func.func @elsewhere(%a: tensor<4x7xf32>, %b: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = attn.skew %a : tensor<4x7xf32> to tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%b) : tensor<4x4xf32>
  return %s, %p : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// (mask - 1) * 1e9 is computed before it is repeated, and before anything is added to it.
// CHECK-LABEL: func.func @number_beside_a_mask
// CHECK: %[[M:.*]] = arith.subf %arg0, %{{.*}} : tensor<4xf32>
// CHECK: %[[H:.*]] = arith.mulf %[[M]], %{{.*}} : tensor<4xf32>
// CHECK: attn.einsum "j -> i j" sizes {i = 3 : i64}(%[[H]]) : (tensor<4xf32>) -> tensor<3x4xf32>
func.func @number_beside_a_mask(%mask: tensor<4xf32>) -> tensor<3x4xf32> {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %large = arith.constant dense<1.0e9> : tensor<4xf32>
  %m = arith.subf %mask, %one : tensor<4xf32>
  %h = arith.mulf %m, %large : tensor<4xf32>
  %r = attn.rearrange "j -> i j" sizes {i = 3 : i64} %h : tensor<4xf32> to tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----
// Factors that a term's scale cannot hold stay below the map too.
// CHECK-LABEL: func.func @least_number
// CHECK: %[[M:.*]] = arith.mulf %arg0, %{{.*}} : tensor<4xf32>
// CHECK: attn.einsum "j -> i j" sizes {i = 3 : i64}(%[[M]]) : (tensor<4xf32>) -> tensor<3x4xf32>
func.func @least_number(%mask: tensor<4xf32>) -> tensor<3x4xf32> {
  %least = arith.constant dense<-3.4e38> : tensor<4xf32>
  %h = arith.mulf %mask, %least : tensor<4xf32>
  %r = attn.rearrange "j -> i j" sizes {i = 3 : i64} %h : tensor<4xf32> to tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----
// A sum with a product of vectors is still divided.
// CHECK-LABEL: func.func @number_beside_a_product
// CHECK: attn.einsum "i (j - i + 3) -> i j"
// CHECK: arith.addf %{{.*}} : tensor<4x4xf32>
func.func @number_beside_a_product(%q: tensor<4x2xf32>, %t: tensor<7x2xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i d, r d -> i r"(%q, %t) : (tensor<4x2xf32>, tensor<7x2xf32>) -> tensor<4x7xf32>
  %one = arith.constant dense<1.0> : tensor<4x7xf32>
  %c = arith.addf %l, %one : tensor<4x7xf32>
  %s = attn.skew %c : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
