// RUN: skewer-opt %s -attn-keep-content | FileCheck %s

// CHECK-LABEL: func.func @positions
// CHECK-NOT: attn.einsum
// CHECK: attn.attention "h i j" where "j <= i" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.250000e-01
// CHECK-NEXT: }
// CHECK-NOT: attn.term
func.func @positions(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %table: tensor<7x8xf32>,
                     %map: tensor<8x8xf32>) -> tensor<2x4x8xf32> {
  %projected = attn.einsum "r c, c d -> r d"(%table, %map) : (tensor<7x8xf32>, tensor<8x8xf32>) -> tensor<7x8xf32>
  %o = attn.attention "h i j" where "j <= i" value "h j e -> h i e"(%v) score {
    attn.term "h i d, (j - i + 3) d"(%q, %projected) scale 1.250000e-01 : tensor<2x4x8xf32>, tensor<7x8xf32>
    attn.term "h i d, h j d"(%q, %k) scale 1.250000e-01 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
    attn.term ""() times "abs(i - j)" scale -5.000000e-01
  } values {
    attn.term "(j - i + 3) e"(%table) scale 1.000000e+00 : tensor<7x8xf32>
  } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// A score of positions alone keeps its first term, because a softmax needs a score.
// CHECK-LABEL: func.func @no_content
// CHECK: attn.term ""() times "abs(i - j)" scale -5.000000e-01
// CHECK-NOT: attn.term
func.func @no_content(%v: tensor<2x4x8xf32>, %b: tensor<2x7xf32>) -> tensor<2x4x8xf32> {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term ""() times "abs(i - j)" scale -5.000000e-01
    attn.term "h (j - i + 3)"(%b) scale 1.0 : tensor<2x7xf32>
  } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
