// RUN: skewer-opt %s -attn-compose-skew -split-input-file | FileCheck %s
// Maps that compose with einsums, after them and before them, alone and in chains.

// Slice: the rows of the table that stay.
// CHECK-LABEL: func.func @sliced
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (2*j - 1) d -> i j" where "0 < j" sizes {j = 5 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @sliced(%q: tensor<4x8xf32>, %t: tensor<9x8xf32>) -> tensor<4x5xf32> {
  %l = attn.einsum "i d, r d -> i r"(%q, %t) : (tensor<4x8xf32>, tensor<9x8xf32>) -> tensor<4x9xf32>
  %s = attn.slice %l offsets [0, 1] strides [1, 2] : tensor<4x9xf32> to tensor<4x4xf32>
  %p = attn.pad %s low [0, 1] high [0, 0] : tensor<4x4xf32> to tensor<4x5xf32>
  return %p : tensor<4x5xf32>
}

// -----
// Contracted axes of the einsum stay as they are, with any names.
// CHECK-LABEL: func.func @contracted_called_j
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @contracted_called_j(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i j, r j -> i r"(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// The key's side: logits of keys by offset, skewed, transposed.
// CHECK-LABEL: func.func @key_side
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "j d, (i - j + 3) d -> i j" sizes {i = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @key_side(%k: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "j d, r d -> j r"(%k, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  %r = attn.rearrange "j i -> i j" %s : tensor<4x4xf32> to tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----
// Clamped and bucketed rows: gathers along the logits' offsets.
// CHECK-LABEL: func.func @gathered_logits
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, ([0 x 2, 1, 2 x 2][j - i + 2]) d -> i j" sizes {j = 3 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @gathered_logits(%q: tensor<3x8xf32>, %t: tensor<3x8xf32>) -> tensor<3x3xf32> {
  %full = attn.gather %t dimension 0 indices dense<[0, 0, 1, 2, 2]> : tensor<5xi64> : tensor<3x8xf32> to tensor<5x8xf32>
  %l = attn.einsum "i d, r d -> i r"(%q, %full) : (tensor<3x8xf32>, tensor<5x8xf32>) -> tensor<3x5xf32>
  %s = attn.skew %l : tensor<3x5xf32> to tensor<3x3xf32>
  return %s : tensor<3x3xf32>
}

// -----
// A guard of the logits' rows becomes one of positions.
// CHECK-LABEL: func.func @guarded
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (j - i + 3) d -> i j" where "j <= i + 2" sizes {j = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @guarded(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i d, r d -> i r" where "r <= 5"(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// The skew goes past the split of heads, which stays with the readers of the queries.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT: %[[V0:.*]] = attn.rearrange "n (h d) -> h n d" sizes {h = 2 : i64} %arg0
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "h i d, h (j - i + 3) d -> h i j" sizes {j = 4 : i64}(%[[V0]], %arg1)
// CHECK-NEXT: return %[[V1]]
func.func @heads(%q: tensor<4x16xf32>, %t: tensor<2x7x8xf32>) -> tensor<2x4x4xf32> {
  %h = attn.rearrange "n (h d) -> h n d" sizes {h = 2 : i64} %q : tensor<4x16xf32> to tensor<2x4x8xf32>
  %l = attn.einsum "h i d, h r d -> h i r"(%h, %t) : (tensor<2x4x8xf32>, tensor<2x7x8xf32>) -> tensor<2x4x7xf32>
  %s = attn.skew %l : tensor<2x4x7xf32> to tensor<2x4x4xf32>
  return %s : tensor<2x4x4xf32>
}

// -----
// Three operands: the map meets the one axis that two of them have.
// CHECK-LABEL: func.func @three
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, (j - i + 3) d, (j - i + 3) -> i j" sizes {j = 4 : i64}(%arg0, %arg1, %arg2)
// CHECK-NEXT: return %[[V0]]
func.func @three(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>, %g: tensor<7xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i d, r d, r -> i r"(%q, %t, %g) : (tensor<4x8xf32>, tensor<7x8xf32>, tensor<7xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// Logits with another reader are computed for both: the map is composed, and the logits stay for the other reader.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "i d, r d -> i r"(%arg0, %arg1)
// CHECK-NEXT: %[[V1:.*]] = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V1]], %[[V0]]
func.func @shared(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> (tensor<4x4xf32>, tensor<4x7xf32>) {
  %l = attn.einsum "i d, r d -> i r"(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x7xf32>
  %s = attn.skew %l : tensor<4x7xf32> to tensor<4x4xf32>
  return %s, %l : tensor<4x4xf32>, tensor<4x7xf32>
}

// -----
// A single query, a single key: the row is a constant.
// CHECK-LABEL: func.func @single
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "h 1 d, 1 d -> h i j" sizes {i = 1 : i64, j = 1 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @single(%q: tensor<2x1x8xf32>, %t: tensor<1x8xf32>) -> tensor<2x1x1xf32> {
  %l = attn.einsum "h i d, r d -> h i r"(%q, %t) : (tensor<2x1x8xf32>, tensor<1x8xf32>) -> tensor<2x1x1xf32>
  %s = attn.skew %l : tensor<2x1x1xf32> to tensor<2x1x1xf32>
  return %s : tensor<2x1x1xf32>
}

// -----
// An einsum into which nothing was composed keeps its own words.
// CHECK-LABEL: func.func @own_words
// CHECK-NEXT: %[[V0:.*]] = attn.einsum "query channel, (key - query + 3) channel -> query key" sizes {key = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: return %[[V0]]
func.func @own_words(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "query channel, (key - query + 3) channel -> query key" sizes {key = 4 : i64}(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x4xf32>
  return %l : tensor<4x4xf32>
}
