// RUN: skewer-opt %s -attn-raise-skew -attn-propagate-masks -attn-compose-skew -split-input-file | FileCheck %s
// RUN: skewer-opt %s -attn-compose-skew -split-input-file | FileCheck %s --check-prefix=ALONE

// The example of the pass's description.
// CHECK-LABEL: func.func @skew
// CHECK-NEXT: attn.einsum "h i d, (j - i + 3) d -> h i j" sizes {j = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: return
// ALONE-LABEL: func.func @skew
// ALONE-NEXT: attn.einsum "h i d, (j - i + 3) d -> h i j" sizes {j = 4 : i64}(%arg0, %arg1)
// ALONE-NEXT: return
func.func @skew(%q: tensor<2x4x8xf32>, %table: tensor<7x8xf32>) -> tensor<2x4x4xf32> {
  %l = attn.einsum "h i d, r d -> h i r"(%q, %table) : (tensor<2x4x8xf32>, tensor<7x8xf32>) -> tensor<2x4x7xf32>
  %s = attn.skew %l : tensor<2x4x7xf32> to tensor<2x4x4xf32>
  return %s : tensor<2x4x4xf32>
}

// -----
// relative_to_absolute, written out: pad, flatten, pad, reshape, slice.
// CHECK-LABEL: func.func @relative_to_absolute
// CHECK-NEXT: attn.einsum "h i d, (j - i + 3) d -> h i j" sizes {j = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: return
func.func @relative_to_absolute(%q: tensor<2x4x8xf32>, %table: tensor<7x8xf32>) -> tensor<2x4x4xf32> {
  %l = attn.einsum "h i d, r d -> h i r"(%q, %table) : (tensor<2x4x8xf32>, tensor<7x8xf32>) -> tensor<2x4x7xf32>
  %a = attn.pad %l low [0, 0, 0] high [0, 0, 1] : tensor<2x4x7xf32> to tensor<2x4x8xf32>
  %b = attn.reshape %a : tensor<2x4x8xf32> to tensor<2x32xf32>
  %c = attn.pad %b low [0, 0] high [0, 3] : tensor<2x32xf32> to tensor<2x35xf32>
  %d = attn.reshape %c : tensor<2x35xf32> to tensor<2x5x7xf32>
  %e = attn.slice %d offsets [0, 0, 3] strides [1, 1, 1] : tensor<2x5x7xf32> to tensor<2x4x4xf32>
  return %e : tensor<2x4x4xf32>
}

// -----
// Music Transformer: the result is right below the diagonal only, which the mask says.
// CHECK-LABEL: func.func @music_transformer
// CHECK-NEXT: attn.einsum "h i d, (j - i + 3) d -> h i j" where "j <= i" sizes {j = 4 : i64}(%arg0, %arg1)
// CHECK-NEXT: attn.softmax
func.func @music_transformer(%q: tensor<2x4x8xf32>, %table: tensor<4x8xf32>) -> tensor<2x4x4xf32> {
  %l = attn.einsum "h i d, r d -> h i r"(%q, %table) : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x4xf32>
  %a = attn.pad %l low [0, 0, 1] high [0, 0, 0] : tensor<2x4x4xf32> to tensor<2x4x5xf32>
  %b = attn.reshape %a : tensor<2x4x5xf32> to tensor<2x5x4xf32>
  %c = attn.slice %b offsets [0, 1, 0] strides [1, 1, 1] : tensor<2x5x4xf32> to tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j" where "j <= i"(%c) : tensor<2x4x4xf32>
  return %p : tensor<2x4x4xf32>
}

// -----
// A table gathered by a matrix of offsets.
// CHECK-LABEL: func.func @gathered
// CHECK-NEXT: attn.einsum "h i d, (j - i + 2) d -> h i j" sizes {j = 3 : i64}(%arg0, %arg1)
// CHECK-NEXT: return
func.func @gathered(%q: tensor<2x3x8xf32>, %table: tensor<5x8xf32>) -> tensor<2x3x3xf32> {
  %g = attn.gather %table dimension 0 indices dense<[[2, 3, 4], [1, 2, 3], [0, 1, 2]]> : tensor<3x3xi64>
      : tensor<5x8xf32> to tensor<3x3x8xf32>
  %r = attn.einsum "h i d, i j d -> h i j"(%q, %g) : (tensor<2x3x8xf32>, tensor<3x3x8xf32>) -> tensor<2x3x3xf32>
  return %r : tensor<2x3x3xf32>
}

// -----
// One axis of a map as in published code, batch at run time: queries split, logits skewed, repeated over the other axis.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT: attn.einsum "b h (iy ix) d, (jx - ix + 2) d -> b h (iy ix) (jy jx)"
// CHECK-SAME: (%arg0, %arg1)
// CHECK-NEXT: return
func.func @columns(%q: tensor<?x2x6x8xf32>, %table: tensor<5x8xf32>) -> tensor<?x2x6x6xf32> {
  %m = attn.rearrange "b h (x y) d -> b h x y d" sizes {x = 2 : i64} %q : tensor<?x2x6x8xf32> to tensor<?x2x2x3x8xf32>
  %l = attn.einsum "b h x y d, r d -> b h x y r"(%m, %table) : (tensor<?x2x2x3x8xf32>, tensor<5x8xf32>) -> tensor<?x2x2x3x5xf32>
  %s = attn.skew %l : tensor<?x2x2x3x5xf32> to tensor<?x2x2x3x3xf32>
  %c = attn.rearrange "b h x y j -> b h (x y) (k j)" sizes {k = 2 : i64} %s : tensor<?x2x2x3x3xf32> to tensor<?x2x6x6xf32>
  return %c : tensor<?x2x6x6xf32>
}
