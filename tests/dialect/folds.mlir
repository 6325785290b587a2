// Index maps that fold: what moves nothing is its operand, two moves of a kind are one, a border nobody reads is not made.
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
// The same types, and elements move all the same.
// CHECK-LABEL: func.func @something_moves
func.func @something_moves(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK: attn.gather
  %gather = attn.gather %x dimension 0 indices dense<[1, 0, 2, 3]> : tensor<4xi64> : tensor<4x4xf32> to tensor<4x4xf32>
  // CHECK: attn.rearrange
  %rearrange = attn.rearrange "x y -> y x" %x : tensor<4x4xf32> to tensor<4x4xf32>
  return %gather, %rearrange : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// A chain that comes back to where it began.
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
// Borders of one value add up; of two values they do not.
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
// The first slice takes nothing of the border, the others a row before and a column behind.
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
