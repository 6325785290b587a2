// Generic passes of MLIR may do these things with the operations, because they are pure.
// RUN: skewer-opt %s -canonicalize -cse -split-input-file | FileCheck %s

// An operation without a reader is removed.
// CHECK-LABEL: func.func @unread
// CHECK-NEXT: return
func.func @unread(%x: tensor<4x7xf32>, %q: tensor<4x8xf32>) {
  %0 = attn.skew %x : tensor<4x7xf32> to tensor<4x4xf32>
  %1 = attn.softmax "i j" over "j"(%0) : tensor<4x4xf32>
  %2 = attn.einsum "i j, j d -> i d"(%1, %q) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = attn.position "i j" = "i - j" : tensor<4x4xf32>
  %4 = attn.concat %q, %q dimension 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----
// Equal operations are computed once; the same words with another guard are another operation.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[A:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg0)
// CHECK-NEXT: %[[B:.*]] = attn.einsum "i d, j d -> i j" where "j <= i"(%arg0, %arg0)
// CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
func.func @twice(%q: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = attn.einsum "i d, j d -> i j" where "j <= i"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// Terms are part of their attention: nothing removes one from it, although a term has no result.
// CHECK-LABEL: func.func @terms
// CHECK: attn.term "i d, j d"
// CHECK-NEXT: attn.term ""() times "j - i"
// CHECK-NEXT: }
func.func @terms(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
    attn.term ""() times "j - i" scale 1.0
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
