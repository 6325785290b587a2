// RUN: skewer-opt %s -attn-keep-content -split-input-file | FileCheck %s
// The layer without its positions keeps content, mask, values, heads, and every attention.

// Several contents (two views of the queries): the first one stays, which is the layer that other code would call.
// CHECK-LABEL: func.func @two_contents
// CHECK: attn.term "i d, j d"(%arg0, %arg2) scale 5.000000e-01
// CHECK-NEXT: }
func.func @two_contents(%u: tensor<4x8xf32>, %t: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%u, %k) scale 0.5 : tensor<4x8xf32>, tensor<4x8xf32>
    attn.term "i d, j d"(%t, %k) scale 0.5 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A mask, also with run-time lengths, is no position that could be removed.
// CHECK-LABEL: func.func @masked
// CHECK: attn.attention "b i j" where "j < lengths[b]" indices(lengths = %arg2 : tensor<?xi32>)
// CHECK-NEXT: attn.term "b i d, b j d"
// CHECK-NEXT: }
func.func @masked(%q: tensor<?x4x8xf32>, %t: tensor<7x8xf32>, %lengths: tensor<?xi32> {attn.name = "lengths"}) -> tensor<?x4x8xf32> {
  %o = attn.attention "b i j" where "j < lengths[b]" indices(lengths = %lengths : tensor<?xi32>) value "b j e -> b i e"(%q) score {
    attn.term "b i d, b j d"(%q, %q) scale 1.0 : tensor<?x4x8xf32>, tensor<?x4x8xf32>
    attn.term "b i d, (j - i + 3) d"(%q, %t) scale 1.0 : tensor<?x4x8xf32>, tensor<7x8xf32>
  } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %o : tensor<?x4x8xf32>
}

// -----
// Content after positions, and of one query: the content stays, and not the first term.
// CHECK-LABEL: func.func @decode
// CHECK: attn.term "{{i|1}} d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
func.func @decode(%q: tensor<1x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<1x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%v) score {
    attn.term "(5 - j)"(%b) scale 1.0 : tensor<6xf32>
    attn.term "i d, j d"(%q, %k) scale 1.0 : tensor<1x8xf32>, tensor<6x8xf32>
  } : tensor<6x8xf32> -> tensor<1x8xf32>
  return %o : tensor<1x8xf32>
}

// -----
// Two layers, the second of which reads the first: both lose their positions, and nothing else.
// CHECK-LABEL: func.func @two_layers
// CHECK: %[[FIRST:.*]] = attn.attention
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg0)
// CHECK-NEXT: }
// CHECK: attn.attention {{.*}}(%[[FIRST]])
// CHECK-NEXT: attn.term "i d, j d"(%[[FIRST]], %[[FIRST]])
// CHECK-NEXT: }
func.func @two_layers(%x: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%x) score {
    attn.term "i d, j d"(%x, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
    attn.term "i d, (j - i + 3) d"(%x, %t) scale 1.0 : tensor<4x8xf32>, tensor<7x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  %r = attn.attention "i j" value "j e -> i e"(%o) score {
    attn.term "i d, (j - i + 3) d"(%o, %t) scale 1.0 : tensor<4x8xf32>, tensor<7x8xf32>
    attn.term "i d, j d"(%o, %o) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
// A function without an attention does not change.
// CHECK-LABEL: func.func @none
// CHECK-NEXT: attn.einsum
func.func @none(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %r = attn.einsum "i d -> d i"(%x) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
