// RUN: skewer-opt %s -attn-propagate-masks -split-input-file | FileCheck %s
// A logsumexp reads scores under a mask as a softmax does.

// A logsumexp of the same scores under the same mask drops the same elements.
// CHECK-LABEL: func.func @logsumexp
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j" where "j <= i"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: %[[V2:.*]] = attn.logsumexp "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: return %[[V1]], %[[V2]]
func.func @logsumexp(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  %l = attn.logsumexp "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32> -> tensor<4xf32>
  return %p, %l : tensor<4x4xf32>, tensor<4xf32>
}

// -----
// With another mask than the softmax's, each reads elements that the other does not.
// CHECK-LABEL: func.func @other_mask
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: %[[V2:.*]] = attn.logsumexp "i j" over "j"(%[[V0]])
// CHECK-NEXT: return %[[V1]], %[[V2]]
func.func @other_mask(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  %l = attn.logsumexp "i j" over "j"(%s) : tensor<4x4xf32> -> tensor<4xf32>
  return %p, %l : tensor<4x4xf32>, tensor<4xf32>
}

// -----
// Alone it is enough.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j" where "i <= j + 1"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.logsumexp "i j" over "j" where "i - j < 2"(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @alone(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %l = attn.logsumexp "i j" over "j" where "i - j < 2"(%s) : tensor<4x4xf32> -> tensor<4xf32>
  return %l : tensor<4xf32>
}
