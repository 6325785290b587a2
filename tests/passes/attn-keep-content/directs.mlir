// RUN: skewer-opt %s -attn-keep-content -split-input-file | FileCheck %s

// Direct weights with their sum become a softmax with the logarithm of its sum; the operations of removed terms go.
// CHECK-LABEL: func.func @direct
// CHECK-NOT: math.exp
// CHECK: %{{.*}}, %[[L:.*]] = attn.attention "i j" where "j <= i" value "j e -> i e"(%arg0) score {
// CHECK-NEXT: attn.term "i d, j d"
// CHECK-NEXT: } : tensor<6x8xf32> -> tensor<6x8xf32> lse tensor<6xf32>
// CHECK: return %{{.*}}, %[[L]]
func.func @direct(%q: tensor<6x8xf32>, %t: tensor<11xf32>) -> (tensor<6x8xf32>, tensor<6xf32>) {
  %e = math.exp %t : tensor<11xf32>
  %o, %s = attn.attention "i j" where "j <= i" value "j e -> i e"(%q) score {
    attn.term "(j - i + 5)"(%e) scale 1.000000e+00 : tensor<11xf32>
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<6x8xf32>, tensor<6x8xf32>
  } direct : tensor<6x8xf32> -> tensor<6x8xf32> total tensor<6xf32>
  return %o, %s : tensor<6x8xf32>, tensor<6xf32>
}

// -----
// Weights that are a result stay a result.
// CHECK-LABEL: func.func @stored
// CHECK: %{{.*}}, %[[W:.*]] = attn.attention "i j" value "j e -> i e"(%arg0) score {
// CHECK-NEXT: attn.term "i d, j d"
// CHECK-NEXT: } : tensor<6x8xf32> -> tensor<6x8xf32> weights tensor<6x6xf32>
// CHECK: return %{{.*}}, %[[W]]
func.func @stored(%q: tensor<6x8xf32>, %t: tensor<11xf32>) -> (tensor<6x8xf32>, tensor<6x6xf32>) {
  %o, %w = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "(j - i + 5)"(%t) scale 1.000000e+00 : tensor<11xf32>
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<6x8xf32>, tensor<6x8xf32>
  } direct : tensor<6x8xf32> -> tensor<6x8xf32> weights tensor<6x6xf32>
  return %o, %w : tensor<6x8xf32>, tensor<6x6xf32>
}
