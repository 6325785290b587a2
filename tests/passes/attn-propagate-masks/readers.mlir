// RUN: skewer-opt %s -attn-propagate-masks -split-input-file | FileCheck %s
// Values that may be 0 off the mask: an einsum without other readers, under arithmetic without other readers.

// Every reader is a softmax with the same mask over the same axes, as if there were one.
// CHECK-LABEL: func.func @two_alike
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j" where "j <= i"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: %[[V2:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: return %[[V1]], %[[V2]]
func.func @two_alike(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %a = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  %b = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// Two softmaxes with different masks: each reads elements that the other does not.
// CHECK-LABEL: func.func @two_masks
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: %[[V2:.*]] = attn.softmax "i j" over "j" where "i <= j"(%[[V0]])
// CHECK-NEXT: return %[[V1]], %[[V2]]
func.func @two_masks(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %a = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  %b = attn.softmax "i j" over "j" where "i <= j"(%s) : tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// One of two readers has no mask.
// CHECK-LABEL: func.func @one_without
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: %[[V2:.*]] = attn.softmax "i j" over "j"(%[[V0]])
// CHECK-NEXT: return %[[V1]], %[[V2]]
func.func @one_without(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %a = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  %b = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// A part of the sum is returned too: it keeps all its elements, and the other part gets the guard.
// CHECK-LABEL: func.func @one_part_shared
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "i d, j d -> i j" where "j <= i"(%arg1, %arg0)
// CHECK-NEXT: %[[V2:.*]] = arith.addf %[[V0]], %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V2]])
// CHECK-NEXT: return %[[V3]], %[[V0]]
func.func @one_part_shared(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %t = attn.einsum "i d, j d -> i j"(%k, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %u = arith.addf %s, %t : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%u) : tensor<4x4xf32>
  return %p, %s : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// A square of scores: both factors may be 0 where the product is not read, but the einsum is read twice.
// CHECK-LABEL: func.func @square
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = arith.mulf %[[V0]], %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V1]])
// CHECK-NEXT: return %[[V2]]
func.func @square(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %u = arith.mulf %s, %s : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%u) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----
// After a function that is no sum or product, all elements may count.
// CHECK-LABEL: func.func @function
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = math.tanh %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V1]])
// CHECK-NEXT: return %[[V2]]
func.func @function(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %u = math.tanh %s : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%u) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----
// Subtracted and negated: both sides of a difference drop the same elements.
// CHECK-LABEL: func.func @difference
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j" where "j <= i"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "i d, j d -> i j" where "j <= i"(%arg1, %arg0)
// CHECK-NEXT: %[[V2:.*]] = arith.subf %[[V0]], %[[V1]]
// CHECK-NEXT: %[[V3:.*]] = arith.negf %[[V2]]
// CHECK-NEXT: %[[V4:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V3]])
// CHECK-NEXT: return %[[V4]]
func.func @difference(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %t = attn.einsum "i d, j d -> i j"(%k, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %u = arith.subf %s, %t : tensor<4x4xf32>
  %n = arith.negf %u : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%n) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}
