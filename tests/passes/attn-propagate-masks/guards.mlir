// RUN: skewer-opt %s -attn-propagate-masks -split-input-file | FileCheck %s
// The guard, in the einsum's own names, and shorter if possible.

// An einsum with a guard of its own gets both.
// CHECK-LABEL: func.func @both
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (i - j) d -> i j" where "j <= i and i <= j + 3" sizes {j = 8 : i64}(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "i - j <= 3"(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @both(%q: tensor<8x8xf32>, %t: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %s = attn.einsum "i d, (i - j) d -> i j" where "j <= i" sizes {j = 8 : i64}(%q, %t) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = attn.softmax "i j" over "j" where "i - j <= 3"(%s) : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// -----
// A guard that the mask implies is written once.
// CHECK-LABEL: func.func @implied
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (i - j + 7) d -> i j" where "j <= i" sizes {j = 8 : i64}(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @implied(%q: tensor<8x8xf32>, %t: tensor<15x8xf32>) -> tensor<8x8xf32> {
  %s = attn.einsum "i d, (i - j + 7) d -> i j" where "j <= i + 2" sizes {j = 8 : i64}(%q, %t) : (tensor<8x8xf32>, tensor<15x8xf32>) -> tensor<8x8xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// -----
// A mask that always holds leaves no guard.
// CHECK-LABEL: func.func @always
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "j < 4"(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @always(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j < 4"(%s) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----
// A mask by the axes of maps, scores by positions: the mask becomes one of positions.
// CHECK-LABEL: func.func @axes_of_the_softmax
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j" where "i floordiv 3 == j floordiv 3"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "(iy ix) (jy jx)" over "jy jx" where "iy == jy" sizes {iy = 2 : i64, jy = 2 : i64}(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @axes_of_the_softmax(%q: tensor<6x8xf32>, %k: tensor<6x8xf32>) -> tensor<6x6xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
  %p = attn.softmax "(iy ix) (jy jx)" over "jy jx" where "iy == jy" sizes {iy = 2 : i64, jy = 2 : i64}(%s) : tensor<6x6xf32>
  return %p : tensor<6x6xf32>
}

// -----
// And the other way round: scores on maps under a mask of positions.
// CHECK-LABEL: func.func @axes_of_the_einsum
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "iy ix d, jy jx d -> (iy ix) (jy jx)" where "3*jy + jx <= 3*iy + ix"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j" where "j <= i"(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @axes_of_the_einsum(%q: tensor<2x3x8xf32>, %k: tensor<2x3x8xf32>) -> tensor<6x6xf32> {
  %s = attn.einsum "iy ix d, jy jx d -> (iy ix) (jy jx)"(%q, %k) : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<6x6xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<6x6xf32>
  return %p : tensor<6x6xf32>
}

// -----
// By heads: one head sees everything, the other what is behind.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "g i d, g j d -> g i j" where "j <= i or g == 0"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "h i j" over "j" where "h == 0 or j <= i"(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @heads(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  %s = attn.einsum "g i d, g j d -> g i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j" where "h == 0 or j <= i"(%s) : tensor<2x4x4xf32>
  return %p : tensor<2x4x4xf32>
}

// -----
// Documents and lengths: both index operands move along, each once.
// CHECK-LABEL: func.func @documents
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "n x d, n y d -> n x y" where "y < lengths[n] and doc[n, x] == doc[n, y]" indices(doc = %arg1
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "b i j" over "j" where "doc[b, i] == doc[b, j] and j < lengths[b]" indices(doc = %arg1
// CHECK-NEXT: return %[[V1]]
func.func @documents(%q: tensor<?x4x8xf32>, %doc: tensor<?x4xi32> {attn.name = "doc"}, %lengths: tensor<?xi32> {attn.name = "lengths"})
    -> tensor<?x4x4xf32> {
  %s = attn.einsum "n x d, n y d -> n x y"(%q, %q) : (tensor<?x4x8xf32>, tensor<?x4x8xf32>) -> tensor<?x4x4xf32>
  %p = attn.softmax "b i j" over "j" where "doc[b, i] == doc[b, j] and j < lengths[b]"
      indices(doc = %doc : tensor<?x4xi32>, lengths = %lengths : tensor<?xi32>)(%s) : tensor<?x4x4xf32>
  return %p : tensor<?x4x4xf32>
}

// -----
// A softmax over the queries has a mask in the same way.
// CHECK-LABEL: func.func @over_queries
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, j d -> i j" where "j <= i"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "i" where "j <= i"(%[[V0]])
// CHECK-NEXT: return %[[V1]]
func.func @over_queries(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "i" where "j <= i"(%s) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

