// RUN: skewer-opt %s -attn-compose-skew -split-input-file | FileCheck %s
// Maps that must not compose.

// Padding with another number than 0, which no guard can express.
// CHECK-LABEL: func.func @padded_with_one
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, r d -> i r"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.pad %[[V0]] low [0, 1] high [0, 0] value 1.000000e+00
// CHECK-NEXT: return %[[V1]]
func.func @padded_with_one(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x8xf32> {
  %l = attn.einsum "i d, r d -> i r"(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %p = attn.pad %l low [0, 1] high [0, 0] value 1.0 : tensor<4x7xf32> to tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// -----
// The product of the weights with the values stays whole, because an attention is formed around it.
// CHECK-LABEL: func.func @weights
// CHECK-NEXT: %[[V0:.*]] = attn.softmax "h i j" over "j"(%arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "h i j, h j d -> h i d"(%[[V0]], %arg1)
// CHECK-NEXT: %[[V2:.*]] = attn.rearrange "h i d -> i (h d)" %[[V1]]
// CHECK-NEXT: return %[[V2]]
func.func @weights(%s: tensor<2x4x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<4x16xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %r = attn.rearrange "h i d -> i (h d)" %o : tensor<2x4x8xf32> to tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----
// Skewed weights are not composed, because a softmax is no sum of products.
// CHECK-LABEL: func.func @skewed_weights
// CHECK-NEXT: %[[V0:.*]] = attn.softmax "i r" over "r"(%arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.skew %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = attn.einsum "i j, j d -> i d"(%[[V1]], %arg1)
// CHECK-NEXT: return %[[V2]]
func.func @skewed_weights(%s: tensor<4x7xf32>, %t: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = attn.softmax "i r" over "r"(%s) : tensor<4x7xf32>
  %w = attn.skew %p : tensor<4x7xf32> to tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%w, %t) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// An operation that prepares a table, by a sum over channels, is not computed again for each query.
// CHECK-LABEL: func.func @projected_table
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "r c, c d -> r d"(%arg1, %arg2)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64}(%arg0, %[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @projected_table(%q: tensor<4x8xf32>, %t: tensor<7x6xf32>, %w: tensor<6x8xf32>) -> tensor<4x4xf32> {
  %r = attn.einsum "r c, c d -> r d"(%t, %w) : (tensor<7x6xf32>, tensor<6x8xf32>) -> tensor<7x8xf32>
  %l = attn.einsum "i d, r d -> i r"(%q, %r) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// Channels that a reshape mixes with queries are no axis of a sum: the operand is read as it is.
// CHECK-LABEL: func.func @mixed_channels
// CHECK-NEXT: %[[V0:.*]] = attn.reshape %arg0
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "i d, (j - i + 5) d -> i j" sizes {j = 6 : i64}(%[[V0]], %arg1)
// CHECK-NEXT: return %[[V1]]
func.func @mixed_channels(%q: tensor<4x6xf32>, %t: tensor<11x4xf32>) -> tensor<6x6xf32> {
  %m = attn.reshape %q : tensor<4x6xf32> to tensor<6x4xf32>
  %l = attn.einsum "i d, r d -> i r"(%m, %t) : (tensor<6x4xf32>, tensor<11x4xf32>) -> tensor<6x11xf32>
  %s = attn.skew %l : tensor<6x11xf32> to tensor<6x6xf32>
  return %s : tensor<6x6xf32>
}

// -----
// If there is a softmax, operations that do not lead to it stay.
// CHECK-LABEL: func.func @elsewhere
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, r d -> i r"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.skew %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = attn.softmax "i j" over "j"(%arg2)
// CHECK-NEXT: return %[[V1]], %[[V2]]
func.func @elsewhere(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>, %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %l = attn.einsum "i d, r d -> i r"(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%x) : tensor<4x4xf32>
  return %s, %p : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// A guard of a summed axis belongs to the sum: the einsum stays, and the map reads its result.
// CHECK-LABEL: func.func @contracted
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i c, r c -> i r" where "c < 6"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.skew %[[V0]]
// CHECK-NEXT: return %[[V1]]
func.func @contracted(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i c, r c -> i r" where "c < 6"(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
