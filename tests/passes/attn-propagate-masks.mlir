// RUN: skewer-opt %s -attn-propagate-masks -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @example
// CHECK-NEXT: attn.einsum "i d, j d -> i j" where "j <= i"(%arg0, %arg1)
// CHECK-NEXT: attn.softmax "i j" over "j" where "j <= i"
func.func @example(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----
// Through sums and numbers, in the einsum's own names.
// CHECK-LABEL: func.func @through
// CHECK: attn.einsum "x d, y d -> x y" where "y <= x"
// CHECK: attn.einsum "a d, b d -> a b" where "b <= a"
func.func @through(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %half = arith.constant dense<0.5> : tensor<4x4xf32>
  %s = attn.einsum "x d, y d -> x y"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %t = attn.einsum "a d, b d -> a b"(%k, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %u = arith.addf %s, %t : tensor<4x4xf32>
  %m = arith.mulf %u, %half : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%m) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----
// The scores have another reader: they keep all their elements.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT: attn.einsum "i d, j d -> i j"(%arg0, %arg1)
func.func @shared(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  return %p, %s : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// Lengths are read at run time: the einsum gets them as an index operand.
// CHECK-LABEL: func.func @lengths
// CHECK-NEXT: attn.einsum "b i d, b k d -> b i k" where "k < lengths[b]" indices(lengths = %arg2 : tensor<?xi32>)(%arg0, %arg1)
func.func @lengths(%q: tensor<?x4x8xf32>, %k: tensor<?x4x8xf32>, %lengths: tensor<?xi32> {attn.name = "lengths"})
    -> tensor<?x4x4xf32> {
  %s = attn.einsum "b i d, b k d -> b i k"(%q, %k) : (tensor<?x4x8xf32>, tensor<?x4x8xf32>) -> tensor<?x4x4xf32>
  %p = attn.softmax "b i j" over "j" where "j < lengths[b]" indices(lengths = %lengths : tensor<?xi32>)(%s)
      : tensor<?x4x4xf32>
  return %p : tensor<?x4x4xf32>
}
