// RUN: skewer-opt %s --attn-to-linalg | FileCheck %s

// A layer that no attention could be formed of: each tensor between is a buffer in the workspace, each operation a loop.
// CHECK: module attributes {attn.plan
// CHECK: func.func @{{.*}}(%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, {{.*}}: memref<?xi8>, %{{.*}}: memref<?xi8>, %{{.*}}: index, %{{.*}}: index)
// CHECK: memref.view
// CHECK-NOT: attn.einsum
// CHECK-NOT: attn.softmax
func.func @weights(%q: tensor<4x8xf32> {attn.name = "q", attn.shape = [4, 8]})
    -> (tensor<4x4xf32> {attn.shape = [4, 4]}) attributes {attn.kernel, attn.sizes = []} {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}
