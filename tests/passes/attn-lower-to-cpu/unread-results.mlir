// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 --attn-lower-to-cpu=target=x86-64-v3 -split-input-file | FileCheck %s
// An attention with further results, of which one has a single reader and the others have none: the arithmetic of the reader ends the attention's stage if it reads the first result, and is a stage of its own if it reads another.

// CHECK-LABEL: module attributes {attn.plan
// CHECK-SAME: <function = "weights_unread_attend"
// CHECK-NOT: weights_unread_elementwise
func.func @weights_unread(%x: tensor<4x8xf32> {attn.name = "x"}) -> tensor<4x8xf32> attributes {attn.kernel} {
  %o, %w = attn.attention "i j" value "j e -> i e" (%x) score {
    attn.term "i d, j d" (%x, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32> weights tensor<4x4xf32>
  %r = math.absf %o : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
// CHECK-LABEL: module attributes {attn.plan
// CHECK-SAME: <function = "lse_alone_attend"
// CHECK-SAME: <function = "lse_alone_elementwise"
func.func @lse_alone(%x: tensor<4x8xf32> {attn.name = "x"}) -> tensor<4xf32> attributes {attn.kernel} {
  %o, %l = attn.attention "i j" value "j e -> i e" (%x) score {
    attn.term "i d, j d" (%x, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32> lse tensor<4xf32>
  %r = math.absf %l : tensor<4xf32>
  return %r : tensor<4xf32>
}
