// RUN: skewer-opt %s -attn-form-attention -split-input-file | FileCheck %s
// Several products of the same weights that no sum joins are columns of one product.

// CHECK-LABEL: func.func @two
// CHECK-NEXT: %[[V:.*]] = attn.concat %arg1, %arg2 dimension 2 : (tensor<2x4x8xf32>, tensor<2x4x3xf32>) -> tensor<2x4x11xf32>
// CHECK-NEXT: %[[O:.*]] = attn.attention "h i j" value "h j e -> h i e"(%[[V]]) score {
// CHECK: } : tensor<2x4x11xf32> -> tensor<2x4x11xf32>
// CHECK-NEXT: %[[A:.*]] = attn.slice %[[O]] offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x11xf32> to tensor<2x4x8xf32>
// CHECK-NEXT: %[[B:.*]] = attn.slice %[[O]] offsets [0, 0, 8] strides [1, 1, 1] : tensor<2x4x11xf32> to tensor<2x4x3xf32>
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @two(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %u: tensor<2x4x3xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x3xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %t = attn.einsum "a b c, a c e -> a b e"(%p, %u) : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %o, %t : tensor<2x4x8xf32>, tensor<2x4x3xf32>
}

// -----
// Weights without a softmax, which are stored too; values that are made after the first product.
// CHECK-LABEL: func.func @direct
// CHECK: math.absf %arg1
// CHECK: attn.concat
// CHECK: %result, %weights = attn.attention
// CHECK: attn.slice
// CHECK: attn.slice
// CHECK-NOT: attn.einsum
func.func @direct(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<2x4x4xf32>
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = arith.maximumf %s, %zero : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %u = math.absf %v : tensor<2x4x8xf32>
  %t = attn.einsum "h i j, h j d -> h i d"(%p, %u) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %t, %p : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x4xf32>
}

// -----
// Products that are summed need no columns of their own.
// CHECK-LABEL: func.func @summed
// CHECK-NOT: attn.concat
func.func @summed(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = attn.einsum "i j, (j - i + 3) d -> i d"(%p, %t) : (tensor<4x4xf32>, tensor<7x8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %o, %r : tensor<4x8xf32>
  return %x : tensor<4x8xf32>
}

// -----
// Values that are made from another of the products cannot be columns next to it.
// CHECK-LABEL: func.func @twice
// CHECK-NOT: attn.concat
func.func @twice(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %n = math.absf %o : tensor<4x8xf32>
  %t = attn.einsum "i j, j d -> i d"(%p, %n) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %t : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----
// Neither can products that read other keys.
// CHECK-LABEL: func.func @other_keys
// CHECK-NOT: attn.concat
func.func @other_keys(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = attn.einsum "i j, (3 - j) d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %t : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----
// Heads that are merged with the columns are separate meanwhile; heads of keys may be read at an index.
// CHECK-LABEL: func.func @merged_heads
// CHECK-NEXT: %[[V:.*]] = attn.rearrange "o0 (h d) -> o0 h d" sizes {h = 2 : i64} %arg1 : tensor<4x8xf32> to tensor<4x2x4xf32>
// CHECK-NEXT: %[[U:.*]] = attn.rearrange "o0 (h d) -> o0 h d" sizes {h = 2 : i64} %arg2 : tensor<4x8xf32> to tensor<4x2x4xf32>
// CHECK-NEXT: %[[W:.*]] = attn.concat %[[V]], %[[U]] dimension 2 : (tensor<4x2x4xf32>, tensor<4x2x4xf32>) -> tensor<4x2x8xf32>
// CHECK: attn.attention
// CHECK: attn.rearrange "o0 h d -> o0 (h d)"
func.func @merged_heads(%q: tensor<2x4x8xf32>, %v: tensor<4x8xf32>, %u: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, j (h d) -> i (h d)"(%p, %v) : (tensor<2x4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = attn.einsum "h i j, j (h d) -> i (h d)"(%p, %u) : (tensor<2x4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %t : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @shared_keys
// CHECK: attn.concat %arg1, %arg2 dimension 2
// CHECK: attn.attention "h i j" value "1 j e -> h i e"
func.func @shared_keys(%q: tensor<2x4x8xf32>, %v: tensor<1x4x8xf32>, %u: tensor<1x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, (h floordiv 2) j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
  %t = attn.einsum "h i j, (h floordiv 2) j d -> h i d"(%p, %u) : (tensor<2x4x4xf32>, tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %t : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// -----
// Values and points: their own dimensions may be several axes (invariant point attention, Jumper et al. 2021).
// CHECK-LABEL: func.func @points
// CHECK-NEXT: %[[P:.*]] = attn.rearrange "o0 o1 p x -> o0 o1 (p x)" %arg2 : tensor<4x2x5x3xf32> to tensor<4x2x15xf32>
// CHECK-NEXT: %[[V:.*]] = attn.concat %arg1, %[[P]] dimension 2 : (tensor<4x2x8xf32>, tensor<4x2x15xf32>) -> tensor<4x2x23xf32>
// CHECK-NEXT: attn.attention
// CHECK: attn.rearrange "o0 o1 (p x) -> o0 o1 p x" sizes {p = 5 : i64}
func.func @points(%q: tensor<4x2x8xf32>, %v: tensor<4x2x8xf32>, %u: tensor<4x2x5x3xf32>) -> (tensor<4x2x8xf32>, tensor<4x2x5x3xf32>) {
  %s = attn.einsum "i h d, j h d -> h i j"(%q, %q) : (tensor<4x2x8xf32>, tensor<4x2x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, j h d -> i h d"(%p, %v) : (tensor<2x4x4xf32>, tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
  %t = attn.einsum "h i j, j h p x -> i h p x"(%p, %u) : (tensor<2x4x4xf32>, tensor<4x2x5x3xf32>) -> tensor<4x2x5x3xf32>
  return %o, %t : tensor<4x2x8xf32>, tensor<4x2x5x3xf32>
}

// -----
// Results in other orders: columns are rows of the first product that has them so, and the others are transposed afterwards.
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: %[[U:.*]] = attn.rearrange "o0 d o2 -> o0 o2 d" %arg2 : tensor<2x3x4xf32> to tensor<2x4x3xf32>
// CHECK-NEXT: %[[V:.*]] = attn.concat %arg1, %[[U]] dimension 2 : (tensor<2x4x8xf32>, tensor<2x4x3xf32>) -> tensor<2x4x11xf32>
// CHECK-NEXT: %[[O:.*]] = attn.attention "h i j" value "h j e -> h i e"(%[[V]]) score {
// CHECK: %[[A:.*]] = attn.slice %[[O]] offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x11xf32> to tensor<2x4x8xf32>
// CHECK: %[[B:.*]] = attn.slice %[[O]] offsets [0, 0, 8] strides [1, 1, 1] : tensor<2x4x11xf32> to tensor<2x4x3xf32>
// CHECK-NEXT: %[[T:.*]] = attn.rearrange "o0 o2 d -> o0 d o2" %[[B]] : tensor<2x4x3xf32> to tensor<2x3x4xf32>
// CHECK-NEXT: return %[[T]], %[[A]]
func.func @transposed(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %u: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x4x8xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %t = attn.einsum "h i j, h d j -> h d i"(%p, %u) : (tensor<2x4x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %t, %o : tensor<2x3x4xf32>, tensor<2x4x8xf32>
}

// -----
// The weights' queries and keys cannot be exchanged: a summed axis has no place in the result.
// CHECK-LABEL: func.func @other_side
// CHECK-NOT: attn.concat
func.func @other_side(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = attn.einsum "i j, i d -> d j"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  return %o, %t : tensor<4x8xf32>, tensor<8x4xf32>
}
