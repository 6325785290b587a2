// RUN: skewer-opt %s -attn-merge-features -split-input-file | FileCheck %s

// Features in groups: a product of axes on one side, two dimensions on the other; values of two dimensions.
// CHECK-LABEL: func.func @groups
// CHECK: %[[K:.*]] = attn.reshape %arg1 : tensor<5x2x8xf32> to tensor<5x16xf32>
// CHECK: %[[V:.*]] = attn.reshape %arg2 : tensor<5x2x8xf32> to tensor<5x16xf32>
// CHECK: %[[O:.*]] = attn.attention "i j" value "j e -> i e"(%[[V]])
// CHECK: attn.term "i d, j d"(%{{.*}}, %[[K]])
// CHECK: attn.reshape %[[O]] : tensor<4x16xf32> to tensor<4x2x8xf32>
func.func @groups(%q: tensor<4x16xf32>, %k: tensor<5x2x8xf32>, %v: tensor<5x2x8xf32>) -> tensor<4x2x8xf32> {
  %o = attn.attention "i j" value "j e e1 -> i e e1"(%v) score {
    attn.term "i (d d1), j d d1"(%q, %k) scale 1.000000e+00 : tensor<4x16xf32>, tensor<5x2x8xf32>
  } : tensor<5x2x8xf32> -> tensor<4x2x8xf32>
  return %o : tensor<4x2x8xf32>
}

// -----
// In another order on one side, and with a head between: both stay.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: attn.reshape
// CHECK: attn.attention "h i j" value "h j e e1 -> i e h e1"
// CHECK: attn.term "h i d d1, h j d1 d"
func.func @apart(%q: tensor<3x4x2x8xf32>, %k: tensor<3x5x8x2xf32>, %v: tensor<3x5x2x8xf32>) -> tensor<4x2x3x8xf32> {
  %o = attn.attention "h i j" value "h j e e1 -> i e h e1"(%v) score {
    attn.term "h i d d1, h j d1 d"(%q, %k) scale 1.000000e+00 : tensor<3x4x2x8xf32>, tensor<3x5x8x2xf32>
  } : tensor<3x5x2x8xf32> -> tensor<4x2x3x8xf32>
  return %o : tensor<4x2x3x8xf32>
}
