// RUN: skewer-opt %s -attn-name-axes -split-input-file | FileCheck %s

// The example of the pass's description: letters mean nothing, places do.
// CHECK-LABEL: func.func @example
// CHECK-NEXT: attn.einsum "h i d, h j d -> h i j"(%arg0, %arg1)
// CHECK-NEXT: attn.softmax "h i j" over "j" where "j <= i"
func.func @example(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  %s = attn.einsum "n x c, n y c -> n x y"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "n x y" over "y" where "y <= x"(%s) : tensor<2x4x4xf32>
  return %p : tensor<2x4x4xf32>
}

// -----
// Names that are taken by others at first, sizes, guards, index operands, products, an axis that is dropped.
// CHECK-LABEL: func.func @all
// CHECK-NEXT: attn.einsum "i d, (seg[i] + d1) d -> i (jy jx)" where "7*jy + jx <= i + d1" sizes {d1 = 2 : i64, jx = 2 : i64, jy = 2 : i64}
// CHECK-NEXT: attn.position "i j" = "abs(j - i)"
// CHECK-NEXT: attn.rearrange "d i -> h i j" sizes {h = 3 : i64, j = 2 : i64}
// CHECK-NEXT: attn.logsumexp "i (jy jx)" over "(jy jx)" where "jx <= jy" sizes {jx = 2 : i64, jy = 2 : i64}
func.func @all(%q: tensor<4x8xf32>, %t: tensor<9x8xf32>, %w: tensor<1x4xf32>,
               %seg: tensor<4xi32> {attn.name = "seg", attn.range = array<i64: 0, 7>})
    -> (tensor<4x4xf32>, tensor<4x2xf32>, tensor<3x4x2xf32>, tensor<4xf32>) {
  %s = attn.einsum "j i, (seg[j] + h) i -> j (b d)" where "7*b + d <= j + h" sizes {b = 2 : i64, d = 2 : i64, h = 2 : i64}
      indices(seg = %seg : tensor<4xi32>) (%q, %t) : (tensor<4x8xf32>, tensor<9x8xf32>) -> tensor<4x4xf32>
  %d = attn.position "j i" = "abs(i - j)" : tensor<4x2xf32>
  %r = attn.rearrange "i h -> b h d" sizes {b = 3 : i64, d = 2 : i64} %w : tensor<1x4xf32> to tensor<3x4x2xf32>
  %l = attn.logsumexp "x (i j)" over "(i j)" where "j <= i" sizes {i = 2 : i64, j = 2 : i64} (%s) : tensor<4x4xf32> -> tensor<4xf32>
  return %s, %d, %r, %l : tensor<4x4xf32>, tensor<4x2xf32>, tensor<3x4x2xf32>, tensor<4xf32>
}
