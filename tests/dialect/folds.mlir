// Index maps that fold: a map that moves nothing is its operand, two moves of a kind are one, an unread border is removed,
// and a rearrangement that keeps the elements' order is a reshape.
// RUN: skewer-opt -canonicalize -split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @nothing_moves
// CHECK-SAME: %[[X:.*]]: tensor<?x4x6xf32>, %[[T:.*]]: tensor<5x1x1xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[T]], %[[X]], %[[X]]
func.func @nothing_moves(%x: tensor<?x4x6xf32>, %t: tensor<5x1x1xf32>)
    -> (tensor<?x4x6xf32>, tensor<?x4x6xf32>, tensor<?x4x6xf32>, tensor<?x4x6xf32>, tensor<5x1x1xf32>, tensor<?x4x6xf32>, tensor<?x4x6xf32>) {
  %pad = attn.pad %x low [0, 0, 0] high [0, 0, 0] value 3.0 : tensor<?x4x6xf32> to tensor<?x4x6xf32>
  %reshape = attn.reshape %x : tensor<?x4x6xf32> to tensor<?x4x6xf32>
  %slice = attn.slice %x offsets [0, 0, 0] strides [1, 1, 1] : tensor<?x4x6xf32> to tensor<?x4x6xf32>
  %gather = attn.gather %x dimension 1 indices dense<[0, 1, 2, 3]> : tensor<4xi64> : tensor<?x4x6xf32> to tensor<?x4x6xf32>
  %skew = attn.skew %t : tensor<5x1x1xf32> to tensor<5x1x1xf32>
  %rearrange = attn.rearrange "b n (x y) -> b n (x y)" sizes {x = 2 : i64} %x : tensor<?x4x6xf32> to tensor<?x4x6xf32>
  %concat = attn.concat %x dimension 1 : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  return %pad, %reshape, %slice, %gather, %skew, %rearrange, %concat : tensor<?x4x6xf32>, tensor<?x4x6xf32>, tensor<?x4x6xf32>, tensor<?x4x6xf32>, tensor<5x1x1xf32>, tensor<?x4x6xf32>, tensor<?x4x6xf32>
}

// -----
// The types are the same, but elements move.
// CHECK-LABEL: func.func @something_moves
func.func @something_moves(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK: attn.gather
  %gather = attn.gather %x dimension 0 indices dense<[1, 0, 2, 3]> : tensor<4xi64> : tensor<4x4xf32> to tensor<4x4xf32>
  // CHECK: attn.rearrange
  %rearrange = attn.rearrange "x y -> y x" %x : tensor<4x4xf32> to tensor<4x4xf32>
  return %gather, %rearrange : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// A chain that comes back to its beginning.
// CHECK-LABEL: func.func @reshapes
// CHECK-SAME: %[[X:.*]]: tensor<?x4x6xf32>
// CHECK-NEXT: %[[R:.*]] = attn.reshape %[[X]] : tensor<?x4x6xf32> to tensor<?x3x8xf32>
// CHECK-NEXT: return %[[X]], %[[R]]
func.func @reshapes(%x: tensor<?x4x6xf32>) -> (tensor<?x4x6xf32>, tensor<?x3x8xf32>) {
  %flat = attn.reshape %x : tensor<?x4x6xf32> to tensor<?x24xf32>
  %back = attn.reshape %flat : tensor<?x24xf32> to tensor<?x4x6xf32>
  %other = attn.reshape %flat : tensor<?x24xf32> to tensor<?x3x8xf32>
  return %back, %other : tensor<?x4x6xf32>, tensor<?x3x8xf32>
}

// -----
// x[2:][::3][1:] is x[5::3].
// CHECK-LABEL: func.func @slices
// CHECK-NEXT: %[[S:.*]] = attn.slice %{{.*}} offsets [0, 5] strides [1, 3] : tensor<?x20xf32> to tensor<?x5xf32>
// CHECK-NEXT: return %[[S]]
func.func @slices(%x: tensor<?x20xf32>) -> tensor<?x5xf32> {
  %a = attn.slice %x offsets [0, 2] strides [1, 1] : tensor<?x20xf32> to tensor<?x18xf32>
  %b = attn.slice %a offsets [0, 0] strides [1, 3] : tensor<?x18xf32> to tensor<?x6xf32>
  %c = attn.slice %b offsets [0, 1] strides [1, 1] : tensor<?x6xf32> to tensor<?x5xf32>
  return %c : tensor<?x5xf32>
}

// -----
// Borders of one value are merged; borders of two values are not.
// CHECK-LABEL: func.func @pads
// CHECK: attn.pad %{{.*}} low [1, 0] high [0, 1] : tensor<4x4xf32> to tensor<5x5xf32>
// CHECK: attn.pad %{{.*}} low [1, 2] high [3, 1] : tensor<4x4xf32> to tensor<8x7xf32>
// CHECK: attn.pad %{{.*}} low [0, 2] high [3, 0] value 1.000000e+00
func.func @pads(%x: tensor<4x4xf32>) -> (tensor<8x7xf32>, tensor<8x7xf32>) {
  %a = attn.pad %x low [1, 0] high [0, 1] : tensor<4x4xf32> to tensor<5x5xf32>
  %zeros = attn.pad %a low [0, 2] high [3, 0] : tensor<5x5xf32> to tensor<8x7xf32>
  %ones = attn.pad %a low [0, 2] high [3, 0] value 1.0 : tensor<5x5xf32> to tensor<8x7xf32>
  return %zeros, %ones : tensor<8x7xf32>, tensor<8x7xf32>
}

// -----
// The first slice takes nothing of the border, the others take a row before and a column after.
// CHECK-LABEL: func.func @slice_of_pad
// CHECK-SAME: %[[X:.*]]: tensor<?x4x6xf32>
// CHECK: %[[P:.*]] = attn.pad %[[X]]
// CHECK: %[[I:.*]] = attn.slice %[[X]] offsets [0, 1, 0] strides [1, 1, 5] : tensor<?x4x6xf32> to tensor<?x3x2xf32>
// CHECK: %[[B:.*]] = attn.slice %[[P]] offsets [0, 1, 0]
// CHECK: %[[A:.*]] = attn.slice %[[P]] offsets [0, 2, 0]
// CHECK: return %[[I]], %[[B]], %[[A]]
func.func @slice_of_pad(%x: tensor<?x4x6xf32>) -> (tensor<?x3x2xf32>, tensor<?x4x6xf32>, tensor<?x4x7xf32>) {
  %p = attn.pad %x low [0, 2, 0] high [0, 0, 1] : tensor<?x4x6xf32> to tensor<?x6x7xf32>
  %inside = attn.slice %p offsets [0, 3, 0] strides [1, 1, 5] : tensor<?x6x7xf32> to tensor<?x3x2xf32>
  %before = attn.slice %p offsets [0, 1, 0] strides [1, 1, 1] : tensor<?x6x7xf32> to tensor<?x4x6xf32>
  %behind = attn.slice %p offsets [0, 2, 0] strides [1, 1, 1] : tensor<?x6x7xf32> to tensor<?x4x7xf32>
  return %inside, %before, %behind : tensor<?x3x2xf32>, tensor<?x4x6xf32>, tensor<?x4x7xf32>
}

// -----
// Dimensions are split and merged, one of size 1 moves past others, is removed or added: elements keep their order.
// CHECK-LABEL: func.func @rearranged_reshapes
// CHECK-SAME: %[[X:.*]]: tensor<?x4x6xf32>, %[[Y:.*]]: tensor<3x1x4xf32>
// CHECK-NEXT: %[[A:.*]] = attn.reshape %[[X]] : tensor<?x4x6xf32> to tensor<?x2x12xf32>
// CHECK-NEXT: %[[B:.*]] = attn.reshape %[[Y]] : tensor<3x1x4xf32> to tensor<1x3x4xf32>
// CHECK-NEXT: %[[C:.*]] = attn.reshape %[[Y]] : tensor<3x1x4xf32> to tensor<12xf32>
// CHECK-NEXT: %[[D:.*]] = attn.reshape %[[Y]] : tensor<3x1x4xf32> to tensor<3x1x2x2xf32>
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @rearranged_reshapes(%x: tensor<?x4x6xf32>, %y: tensor<3x1x4xf32>)
    -> (tensor<?x2x12xf32>, tensor<1x3x4xf32>, tensor<12xf32>, tensor<3x1x2x2xf32>) {
  %a = attn.rearrange "b (x y) z -> b x (y z)" sizes {x = 2 : i64} %x : tensor<?x4x6xf32> to tensor<?x2x12xf32>
  %b = attn.rearrange "x y z -> y x z" %y : tensor<3x1x4xf32> to tensor<1x3x4xf32>
  %c = attn.rearrange "x y z -> (x z)" %y : tensor<3x1x4xf32> to tensor<12xf32>
  %d = attn.rearrange "x y (z w) -> x one z w" sizes {z = 2 : i64, one = 1 : i64} %y : tensor<3x1x4xf32> to tensor<3x1x2x2xf32>
  return %a, %b, %c, %d : tensor<?x2x12xf32>, tensor<1x3x4xf32>, tensor<12xf32>, tensor<3x1x2x2xf32>
}

// -----
// With the reshapes around it, it is one reshape.
// CHECK-LABEL: func.func @reshape_of_rearranged
// CHECK-NEXT: return %{{.*}} : tensor<?x4x6xf32>
func.func @reshape_of_rearranged(%x: tensor<?x4x6xf32>) -> tensor<?x4x6xf32> {
  %flat = attn.rearrange "b x y -> b (x y)" %x : tensor<?x4x6xf32> to tensor<?x24xf32>
  %back = attn.reshape %flat : tensor<?x24xf32> to tensor<?x4x6xf32>
  return %back : tensor<?x4x6xf32>
}

// -----
// Elements that change their order, that are repeated, or whose run-time size is not the first dimension's stay rearranged.
// CHECK-LABEL: func.func @no_reshapes
// CHECK-COUNT-4: attn.rearrange
func.func @no_reshapes(%x: tensor<?x4x6xf32>, %y: tensor<4x?xf32>)
    -> (tensor<?x6x4xf32>, tensor<?x6x4xf32>, tensor<?x2x4x6xf32>, tensor<2x2x?xf32>) {
  %a = attn.rearrange "b x y -> b y x" %x : tensor<?x4x6xf32> to tensor<?x6x4xf32>
  %b = attn.rearrange "b (x y) (z w) -> b (x z) (y w)" sizes {x = 2 : i64, w = 2 : i64} %x : tensor<?x4x6xf32> to tensor<?x6x4xf32>
  %c = attn.rearrange "b x y -> b twice x y" sizes {twice = 2 : i64} %x : tensor<?x4x6xf32> to tensor<?x2x4x6xf32>
  %d = attn.rearrange "(x y) b -> x y b" sizes {x = 2 : i64} %y : tensor<4x?xf32> to tensor<2x2x?xf32>
  return %a, %b, %c, %d : tensor<?x6x4xf32>, tensor<?x6x4xf32>, tensor<?x2x4x6xf32>, tensor<2x2x?xf32>
}
