// RUN: skewer-opt %s -attn-form-attention -split-input-file | FileCheck %s
// The roles of axes (query, key, head, channel), and their names in the fused form.

// Names of the program are dropped: letters mean nothing.
// CHECK-LABEL: func.func @other_names
// CHECK-NEXT: %[[V0:.*]] = attn.attention "b h i j" value "b h j e -> b h i e"(%arg2) score {
// CHECK-NEXT: attn.term "b h i d, b h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @other_names(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32> {
  %s = attn.einsum "d e a c, d e b c -> d e a b"(%q, %k) : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x4xf32>
  %p = attn.softmax "d e a b" over "b"(%s) : tensor<2x3x4x4xf32>
  %o = attn.einsum "d e a b, d e b c -> d e a c"(%p, %v) : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
  return %o : tensor<2x3x4x8xf32>
}

// -----
// Values that all heads share, and keys that they do not: the last axis is the query's, and those before it are leading.
// CHECK-LABEL: func.func @shared_values
// CHECK-NEXT: %[[V0:.*]] = attn.attention "h i j" value "j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @shared_values(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// Heads that share keys and values, under any names: leading if each has enough rows, else rows of the same
// matmul; in both cases if a table of each head meets the keys.
// CHECK-LABEL: func.func @shared_keys
// CHECK-NEXT: attn.attention "h i j" value "j e -> h i e"
// CHECK-NEXT: attn.term "h i d, j d"
func.func @shared_keys(%q: tensor<3x16x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x8xf32>) -> tensor<3x16x8xf32> {
  %s = attn.einsum "a x d, y d -> a x y"(%q, %k) : (tensor<3x16x8xf32>, tensor<5x8xf32>) -> tensor<3x16x5xf32>
  %p = attn.softmax "a x y" over "y"(%s) : tensor<3x16x5xf32>
  %o = attn.einsum "a x y, y d -> a x d"(%p, %v) : (tensor<3x16x5xf32>, tensor<5x8xf32>) -> tensor<3x16x8xf32>
  return %o : tensor<3x16x8xf32>
}
// CHECK-LABEL: func.func @shared_keys_few_rows
// CHECK-NEXT: attn.attention "(iy ix) j" sizes {ix = 4 : i64, iy = 3 : i64} value "j e -> (iy ix) e"
// CHECK-NEXT: attn.term "iy ix d, j d"
func.func @shared_keys_few_rows(%q: tensor<3x4x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x8xf32>) -> tensor<3x4x8xf32> {
  %s = attn.einsum "h i d, j d -> h i j"(%q, %k) : (tensor<3x4x8xf32>, tensor<5x8xf32>) -> tensor<3x4x5xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<3x4x5xf32>
  %o = attn.einsum "h i j, j d -> h i d"(%p, %v) : (tensor<3x4x5xf32>, tensor<5x8xf32>) -> tensor<3x4x8xf32>
  return %o : tensor<3x4x8xf32>
}
// With one query, so are heads that a division maps to the keys and values that they share.
// CHECK-LABEL: func.func @shared_by_division
// CHECK-NEXT: attn.attention "h i j" value "h j e -> h i e"
// CHECK-NEXT: attn.term "(h i) 1 d, h j d"
func.func @shared_by_division(%q: tensor<6x1x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>) -> tensor<6x1x8xf32> {
  %s = attn.einsum "h i d, (h floordiv 3) j d -> h i j"(%q, %k) : (tensor<6x1x8xf32>, tensor<2x5x8xf32>) -> tensor<6x1x5xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<6x1x5xf32>
  %o = attn.einsum "h i j, (h floordiv 3) j d -> h i d"(%p, %v) : (tensor<6x1x5xf32>, tensor<2x5x8xf32>) -> tensor<6x1x8xf32>
  return %o : tensor<6x1x8xf32>
}
// Keys of each head, or a table of each head that the key indexes, leave them apart.
// CHECK-LABEL: func.func @values_shared_by_division
// CHECK-NEXT: attn.attention "h i j" value "(h floordiv 3) j e -> h i e"
// CHECK-NEXT: attn.term "h 1 d, h j d"
func.func @values_shared_by_division(%q: tensor<6x1x8xf32>, %k: tensor<6x5x8xf32>, %v: tensor<2x5x8xf32>) -> tensor<6x1x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<6x1x8xf32>, tensor<6x5x8xf32>) -> tensor<6x1x5xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<6x1x5xf32>
  %o = attn.einsum "h i j, (h floordiv 3) j d -> h i d"(%p, %v) : (tensor<6x1x5xf32>, tensor<2x5x8xf32>) -> tensor<6x1x8xf32>
  return %o : tensor<6x1x8xf32>
}
// CHECK-LABEL: func.func @tables_of_heads
// CHECK-NEXT: attn.attention "h i j" value "j e -> h i e"
// CHECK-NEXT: attn.term "h i d, j d"
// CHECK-NEXT: attn.term "h (j - i + 3)"
func.func @tables_of_heads(%q: tensor<3x4x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x8xf32>, %t: tensor<3x8xf32>) -> tensor<3x4x8xf32> {
  %s = attn.einsum "n x d, y d -> n x y"(%q, %k) : (tensor<3x4x8xf32>, tensor<5x8xf32>) -> tensor<3x4x5xf32>
  %b = attn.einsum "n (y - x + 3) -> n x y" sizes {x = 4 : i64, y = 5 : i64}(%t) : (tensor<3x8xf32>) -> tensor<3x4x5xf32>
  %a = arith.addf %s, %b : tensor<3x4x5xf32>
  %p = attn.softmax "n x y" over "y"(%a) : tensor<3x4x5xf32>
  %o = attn.einsum "n x y, y d -> n x d"(%p, %v) : (tensor<3x4x5xf32>, tensor<5x8xf32>) -> tensor<3x4x8xf32>
  return %o : tensor<3x4x8xf32>
}
// A dimension that only says how far a head sees is no position, whatever its letter.
// CHECK-LABEL: func.func @reach_of_heads
// CHECK-NEXT: attn.attention "h i j" where
func.func @reach_of_heads(%q: tensor<3x16x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<3x16x8xf32> {
  %s = attn.einsum "n x d, y d -> n x y"(%q, %k) : (tensor<3x16x8xf32>, tensor<16x8xf32>) -> tensor<3x16x16xf32>
  %p = attn.softmax "n x y" over "y" where "x - y <= 4*n + 2"(%s) : tensor<3x16x16xf32>
  %o = attn.einsum "n x y, y d -> n x d"(%p, %v) : (tensor<3x16x16xf32>, tensor<16x8xf32>) -> tensor<3x16x8xf32>
  return %o : tensor<3x16x8xf32>
}
// The rows of a map are positions: an operation that sees them counts them.
// CHECK-LABEL: func.func @map_of_heads_letters
// CHECK-NEXT: attn.attention "(iy ix) (jy jx)" where "16*jy + jx <= 16*iy + ix and iy == jy" sizes
func.func @map_of_heads_letters(%q: tensor<3x16x8xf32>, %k: tensor<48x8xf32>, %v: tensor<48x8xf32>) -> tensor<3x16x8xf32> {
  %s = attn.einsum "b h d, y d -> b h y"(%q, %k) : (tensor<3x16x8xf32>, tensor<48x8xf32>) -> tensor<3x16x48xf32>
  %p = attn.softmax "b h y" over "y" where "y <= 16*b + h and y floordiv 16 == b"(%s) : tensor<3x16x48xf32>
  %o = attn.einsum "b h y, y d -> b h d"(%p, %v) : (tensor<3x16x48xf32>, tensor<48x8xf32>) -> tensor<3x16x8xf32>
  return %o : tensor<3x16x8xf32>
}

// -----
// Keys before queries in the score: the softmax decides which are the keys.
// CHECK-LABEL: func.func @keys_first
// CHECK-NEXT: %[[V0:.*]] = attn.attention "i j" value "j e -> i e"(%arg2) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @keys_first(%q: tensor<4x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> j i"(%q, %k) : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<5x4xf32>
  %p = attn.softmax "j i" over "j"(%s) : tensor<5x4xf32>
  %o = attn.einsum "j i, j d -> i d"(%p, %v) : (tensor<5x4xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Keys of several axes, as in a convolution's window: all axes of one dimension.
// CHECK-LABEL: func.func @window
// CHECK-NEXT: %[[V0:.*]] = attn.attention "i (jy jx)" sizes {jx = 3 : i64, jy = 2 : i64} value "jy jx e -> i e"(%arg2) score {
// CHECK-NEXT: attn.term "i d, jy jx d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @window(%q: tensor<4x8xf32>, %k: tensor<2x3x8xf32>, %v: tensor<2x3x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, y x d -> i (y x)"(%q, %k) : (tensor<4x8xf32>, tensor<2x3x8xf32>) -> tensor<4x6xf32>
  %p = attn.softmax "i (y x)" over "y x" sizes {y = 2 : i64}(%s) : tensor<4x6xf32>
  %o = attn.einsum "i (y x), y x d -> i d"(%p, %v) : (tensor<4x6xf32>, tensor<2x3x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Queries of two dimensions become one dimension of two axes; the result is split again.
// CHECK-LABEL: func.func @queries_on_a_map
// CHECK-NEXT: %[[V0:.*]] = attn.attention "(iy ix) j" sizes {ix = 3 : i64, iy = 2 : i64} value "j e -> (iy ix) e"(%arg2) score {
// CHECK-NEXT: attn.term "iy ix d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: %[[V1:.*]] = attn.rearrange "(iy ix) e -> iy ix e" sizes {ix = 3 : i64, iy = 2 : i64} %[[V0]]
// CHECK-NEXT: return %[[V1]]
func.func @queries_on_a_map(%q: tensor<2x3x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x8xf32>) -> tensor<2x3x8xf32> {
  %s = attn.einsum "y x d, j d -> y x j"(%q, %k) : (tensor<2x3x8xf32>, tensor<5x8xf32>) -> tensor<2x3x5xf32>
  %p = attn.softmax "y x j" over "j"(%s) : tensor<2x3x5xf32>
  %o = attn.einsum "y x j, j d -> y x d"(%p, %v) : (tensor<2x3x5xf32>, tensor<5x8xf32>) -> tensor<2x3x8xf32>
  return %o : tensor<2x3x8xf32>
}

// -----
// The result in token-major order: the attention has its own order, followed by one rearrangement.
// CHECK-LABEL: func.func @token_major_result
// CHECK-NEXT: %[[V0:.*]] = attn.attention "h i j" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: %[[V1:.*]] = attn.rearrange "h i e -> i h e" %[[V0]]
// CHECK-NEXT: return %[[V1]]
func.func @token_major_result(%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>) -> tensor<4x2x6xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x5x8xf32>) -> tensor<2x4x5xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x5xf32>
  %o = attn.einsum "h i j, h j e -> i h e"(%p, %v) : (tensor<2x4x5xf32>, tensor<2x5x6xf32>) -> tensor<4x2x6xf32>
  return %o : tensor<4x2x6xf32>
}

// -----
// Heads merged with channels on both sides: no operand has the channels alone, and both give their size.
// CHECK-LABEL: func.func @token_major
// CHECK-NEXT: %[[V0:.*]] = attn.attention "h i j" value "j (h e) -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "i (h d), j (h d)"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @token_major(%q: tensor<4x16xf32>, %k: tensor<5x16xf32>, %v: tensor<5x16xf32>) -> tensor<2x4x8xf32> {
  %a = attn.rearrange "n (h d) -> h n d" sizes {h = 2 : i64} %q : tensor<4x16xf32> to tensor<2x4x8xf32>
  %b = attn.rearrange "n (h d) -> h n d" sizes {h = 2 : i64} %k : tensor<5x16xf32> to tensor<2x5x8xf32>
  %c = attn.rearrange "n (h d) -> h n d" sizes {h = 2 : i64} %v : tensor<5x16xf32> to tensor<2x5x8xf32>
  %s = attn.einsum "h i d, h j d -> h i j"(%a, %b) : (tensor<2x4x8xf32>, tensor<2x5x8xf32>) -> tensor<2x4x5xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x5xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %c) : (tensor<2x4x5xf32>, tensor<2x5x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// The weights on the right of the product.
// CHECK-LABEL: func.func @weights_second
// CHECK-NEXT: %[[V0:.*]] = attn.attention "i j" value "j e -> i e"(%arg2) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @weights_second(%q: tensor<4x8xf32>, %k: tensor<5x8xf32>, %v: tensor<5x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x5xf32>
  %o = attn.einsum "j d, i j -> i d"(%v, %p) : (tensor<5x8xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Values that are transposed, and a mask in the softmax's own names.
// CHECK-LABEL: func.func @transposed_values
// CHECK-NEXT: %[[V0:.*]] = attn.attention "i j" where "j <= i" value "e j -> i e"(%arg2) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @transposed_values(%q: tensor<4x8xf32>, %k: tensor<5x8xf32>, %v: tensor<8x5xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
  %p = attn.softmax "query key" over "key" where "key <= query"(%s) : tensor<4x5xf32>
  %o = attn.einsum "i j, d j -> i d"(%p, %v) : (tensor<4x5xf32>, tensor<8x5xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Two layers, one after the other: two attentions.
// CHECK-LABEL: func.func @two_layers
// CHECK-NEXT: %[[V0:.*]] = attn.attention "i j" value "j e -> i e"(%arg0) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg0) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: %[[V1:.*]] = attn.attention "i j" value "j e -> i e"(%arg0) score {
// CHECK-NEXT: attn.term "i d, j d"(%[[V0]], %[[V0]]) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V1]]
func.func @two_layers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %x) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = attn.einsum "i d, j d -> i j"(%o, %o) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %r = attn.softmax "i j" over "j"(%t) : tensor<4x4xf32>
  %u = attn.einsum "i j, j d -> i d"(%r, %x) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %u : tensor<4x8xf32>
}

// -----
// One dimension of each kind, of size 1: nothing is lost.
// CHECK-LABEL: func.func @ones
// CHECK-NEXT: %[[V0:.*]] = attn.attention "h i j" value "1 j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "1 1 1, 1 1 1"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @ones(%q: tensor<1x1x1xf32>, %k: tensor<1x1x1xf32>, %v: tensor<1x1x1xf32>) -> tensor<1x1x1xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<1x1x1xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  return %o : tensor<1x1x1xf32>
}

// -----
// Weights of one query, as a step of decoding has them, are written without a dimension of queries: the one query has
// an axis all the same, of size 1.
// CHECK-LABEL: func.func @one_query
// CHECK-NEXT: %[[O:.*]], %[[LSE:.*]] = attn.attention "b h i j" where "j <= 3" value "b h j e -> b h i e"(%arg2) score {
// CHECK-NEXT: attn.term "b h d, b h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK: attn.rearrange "b h i e -> b h (i e)" %[[O]] : tensor<?x3x1x8xf32> to tensor<?x3x8xf32>
// CHECK: attn.rearrange "b h i -> b (i h)" %[[LSE]] : tensor<?x3x1xf32> to tensor<?x3xf32>
func.func @one_query(%q: tensor<?x3x8xf32>, %k: tensor<?x3x5x8xf32>, %v: tensor<?x3x5x8xf32>) -> (tensor<?x3x8xf32>, tensor<?x3xf32>) {
  %s = attn.einsum "x n c, x n y c -> x n y"(%q, %k) : (tensor<?x3x8xf32>, tensor<?x3x5x8xf32>) -> tensor<?x3x5xf32>
  %p = attn.softmax "x n y" over "y" where "y <= 3"(%s) : tensor<?x3x5xf32>
  %l = attn.logsumexp "x n y" over "y" where "y <= 3"(%s) : tensor<?x3x5xf32> -> tensor<?x3xf32>
  %o = attn.einsum "x n y, x n y c -> x n c"(%p, %v) : (tensor<?x3x5xf32>, tensor<?x3x5x8xf32>) -> tensor<?x3x8xf32>
  return %o, %l : tensor<?x3x8xf32>, tensor<?x3xf32>
}

// -----
// The heads of a group share keys and values: with one query each, they are rows of one tile, whether the text has an
// axis for the group or for all heads, and whether it has one for the query.
// CHECK-LABEL: func.func @groups_of_one_query
// CHECK-NEXT: %[[O:.*]] = attn.attention "h i j" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "(h i) d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK: attn.rearrange "h i e -> (h i) e" %[[O]] : tensor<2x3x8xf32> to tensor<6x8xf32>
func.func @groups_of_one_query(%q: tensor<6x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>) -> tensor<6x8xf32> {
  %s = attn.einsum "(g r) c, g y c -> (g r) y" sizes {r = 3 : i64}(%q, %k) : (tensor<6x8xf32>, tensor<2x5x8xf32>) -> tensor<6x5xf32>
  %p = attn.softmax "n y" over "y"(%s) : tensor<6x5xf32>
  %o = attn.einsum "(g r) y, g y c -> (g r) c" sizes {r = 3 : i64}(%p, %v) : (tensor<6x5xf32>, tensor<2x5x8xf32>) -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}
// CHECK-LABEL: func.func @groups_of_one_query_with_its_axis
// CHECK-NEXT: attn.attention "h i j" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "(h i) 1 d, h j d"(%arg0, %arg1) scale 1.000000e+00
func.func @groups_of_one_query_with_its_axis(%q: tensor<6x1x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>) -> tensor<6x1x8xf32> {
  %s = attn.einsum "(g r) x c, g y c -> (g r) x y" sizes {r = 3 : i64}(%q, %k) : (tensor<6x1x8xf32>, tensor<2x5x8xf32>) -> tensor<6x1x5xf32>
  %p = attn.softmax "n x y" over "y"(%s) : tensor<6x1x5xf32>
  %o = attn.einsum "(g r) x y, g y c -> (g r) x c" sizes {r = 3 : i64}(%p, %v) : (tensor<6x1x5xf32>, tensor<2x5x8xf32>) -> tensor<6x1x8xf32>
  return %o : tensor<6x1x8xf32>
}
