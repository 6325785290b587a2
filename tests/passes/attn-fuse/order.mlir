// RUN: skewer-opt %s -attn-fuse | FileCheck %s
// RUN: skewer-opt %s -attn-raise-skew -attn-compose-skew | FileCheck %s --check-prefix=WITHOUT
// RUN: skewer-opt %s -attn-raise-skew -attn-compose-skew -attn-form-attention -attn-tabulate-offsets | FileCheck %s
// RUN: skewer-opt %s -attn-fuse > %t.once
// RUN: skewer-opt %t.once -attn-fuse | cmp - %t.once
// RUN: skewer-opt %s -attn-raise-skew -attn-raise-skew -attn-propagate-masks -attn-propagate-masks -attn-compose-skew -attn-compose-skew -attn-form-attention -attn-form-attention -attn-tabulate-offsets -attn-tabulate-offsets | cmp - %t.once
// RUN: skewer-opt %s -canonicalize -cse -attn-fuse | FileCheck %s
// The order of the passes; a second run of each changes nothing.

// Music Transformer's skew: masks come first. Without them an einsum must also give the elements above the diagonal, until the
// attention is formed and has its mask.
// CHECK-LABEL: func.func @music
// CHECK: attn.term "h i d, (j - i + 3) d"(%arg0, %arg3) scale 1.000000e+00 : tensor
// WITHOUT-LABEL: func.func @music
// WITHOUT: attn.einsum "h ((4*i + j + 4) floordiv 5) d, ((j - i + 4) mod 5 - 1) d -> h i j" where "0 < (j - i + 4) mod 5"
func.func @music(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %t: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
  %content = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %l = attn.einsum "h i d, r d -> h i r"(%q, %t) : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x4xf32>
  %a = attn.pad %l low [0, 0, 1] high [0, 0, 0] : tensor<2x4x4xf32> to tensor<2x4x5xf32>
  %b = attn.reshape %a : tensor<2x4x5xf32> to tensor<2x5x4xf32>
  %c = attn.slice %b offsets [0, 1, 0] strides [1, 1, 1] : tensor<2x5x4xf32> to tensor<2x4x4xf32>
  %s = arith.addf %content, %c : tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j" where "j <= i"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// A skew that needs no mask is the same either way.
// CHECK-LABEL: func.func @plain
// CHECK: attn.term "h i d, (j - i + 3) d"(%arg0, %arg2) scale 1.000000e+00 : tensor
// WITHOUT-LABEL: func.func @plain
// WITHOUT: attn.einsum "h i d, (j - i + 3) d -> h i j"
func.func @plain(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %t: tensor<7x8xf32>) -> tensor<2x4x8xf32> {
  %l = attn.einsum "h i d, r d -> h i r"(%q, %t) : (tensor<2x4x8xf32>, tensor<7x8xf32>) -> tensor<2x4x7xf32>
  %c = attn.skew %l : tensor<2x4x7xf32> to tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%c) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// A layer that is no attention keeps its operations, except for its maps.
// CHECK-LABEL: func.func @no_softmax
// CHECK-NOT: attn.attention
// CHECK: attn.einsum "h i d, (j - i + 3) d -> h i j"
func.func @no_softmax(%q: tensor<2x4x8xf32>, %t: tensor<7x8xf32>) -> tensor<2x4x4xf32> {
  %l = attn.einsum "h i d, r d -> h i r"(%q, %t) : (tensor<2x4x8xf32>, tensor<7x8xf32>) -> tensor<2x4x7xf32>
  %c = attn.skew %l : tensor<2x4x7xf32> to tensor<2x4x4xf32>
  return %c : tensor<2x4x4xf32>
}
