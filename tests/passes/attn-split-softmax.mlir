// RUN: skewer-opt %s -attn-split-softmax -split-input-file | FileCheck %s

// The example of the pass's description.
// CHECK-LABEL: func.func @example
// CHECK-DAG: %[[LSE:.*]] = attn.logsumexp "i j" over "j"(%arg0) : tensor<4x8xf32> -> tensor<4xf32>
// CHECK-DAG: %[[SINK:.*]] = attn.reshape %arg1 : tensor<4x1xf32> to tensor<4xf32>
// CHECK: %[[LEAST:.*]] = arith.constant dense<-3.000000e+38> : tensor<4xf32>
// CHECK: %[[M0:.*]] = arith.maximumf %[[LEAST]], %[[LSE]]
// CHECK: %[[M:.*]] = arith.maximumf %[[M0]], %[[SINK]]
// CHECK: %[[D0:.*]] = arith.subf %[[LSE]], %[[M]]
// CHECK: %[[OWN:.*]] = math.exp %[[D0]]
// CHECK: %[[D1:.*]] = arith.subf %[[SINK]], %[[M]]
// CHECK: %[[OTHER:.*]] = math.exp %[[D1]]
// CHECK: %[[SUM:.*]] = arith.addf %[[OWN]], %[[OTHER]]
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: %[[ALL:.*]] = arith.maximumf %[[SUM]], %[[ONE]]
// CHECK: %[[SHARE:.*]] = arith.divf %[[OWN]], %[[ALL]]
// CHECK: %[[W:.*]] = attn.softmax "i j" over "j"(%arg0) : tensor<4x8xf32>
// CHECK: %[[ROWS:.*]] = attn.rearrange "x0 -> x0 x1" sizes {x1 = 8 : i64} %[[SHARE]]
// CHECK: %[[R:.*]] = arith.mulf %[[W]], %[[ROWS]]
// CHECK: return %[[R]]
func.func @example(%scores: tensor<4x8xf32>, %sink: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %c = attn.concat %scores, %sink dimension 1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x9xf32>
  %w = attn.softmax "i j" over "j"(%c) : tensor<4x9xf32>
  %r = attn.slice %w offsets [0, 0] strides [1, 1] : tensor<4x9xf32> to tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
// A mask is each part's own, and that of one that it leaves whole goes; some elements of a part; a greatest score that is taken off.
// CHECK-LABEL: func.func @masked
// CHECK-NOT: attn.concat
// CHECK: attn.logsumexp "i j" over "j"(%arg0)
// CHECK: attn.logsumexp "i j" over "j" where "j <= i"(%arg1)
// CHECK: %[[W:.*]] = attn.softmax "i j" over "j" where "j <= i"(%arg1) : tensor<4x8xf32>
// CHECK: %[[P:.*]] = arith.mulf %[[W]]
// CHECK: %[[R:.*]] = attn.slice %[[P]] offsets [0, 2] strides [1, 2] : tensor<4x8xf32> to tensor<4x3xf32>
// CHECK: return %[[R]]
func.func @masked(%p: tensor<4x3xf32>, %s: tensor<4x8xf32>, %m: tensor<4xf32>) -> tensor<4x3xf32> {
  %c = attn.concat %p, %s dimension 1 : (tensor<4x3xf32>, tensor<4x8xf32>) -> tensor<4x11xf32>
  %rows = attn.rearrange "x0 -> x0 x1" sizes {x1 = 11 : i64} %m : tensor<4xf32> to tensor<4x11xf32>
  %d = arith.subf %c, %rows : tensor<4x11xf32>
  %w = attn.softmax "i j" over "j" where "j < 3 or j - 3 <= i"(%d) : tensor<4x11xf32>
  %r = attn.slice %w offsets [0, 5] strides [1, 2] : tensor<4x11xf32> to tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----
// Weights of two parts that are read together, parts along another dimension, and what differs within a row.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: attn.concat
// CHECK: return
func.func @others(%s: tensor<4x8xf32>, %t: tensor<4x9xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>) {
  %c = attn.concat %s, %s dimension 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %w = attn.softmax "i j" over "j"(%c) : tensor<4x16xf32>
  %r = attn.slice %w offsets [0, 4] strides [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %d = attn.concat %s, %s dimension 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %x = attn.softmax "i j" over "j"(%d) : tensor<8x8xf32>
  %one = attn.slice %t offsets [0, 0] strides [1, 1] : tensor<4x9xf32> to tensor<4x1xf32>
  %e = attn.concat %s, %one dimension 1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x9xf32>
  %f = arith.subf %e, %t : tensor<4x9xf32>
  %y = attn.softmax "i j" over "j"(%f) : tensor<4x9xf32>
  %z = attn.slice %y offsets [0, 0] strides [1, 1] : tensor<4x9xf32> to tensor<4x8xf32>
  return %r, %x, %z : tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>
}

// -----
// Slices of rows: each is a softmax of its own, with its own mask. Dimensions keep their names.
// CHECK-LABEL: func.func @slices
// CHECK-DAG: %[[A:.*]] = attn.slice %arg0 offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<1x4x8xf32>
// CHECK-DAG: %[[P:.*]] = attn.softmax "{{.*}} i j" over "j" where "j <= i"(%[[A]]) : tensor<1x4x8xf32>
// CHECK-DAG: %[[B:.*]] = attn.slice %arg0 offsets [1, 0, 0] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<1x4x8xf32>
// CHECK-DAG: %[[Q:.*]] = attn.softmax "{{.*}} i j" over "j" where "j <= i + 1"(%[[B]]) : tensor<1x4x8xf32>
// CHECK: arith.subf %[[P]], %[[Q]]
func.func @slices(%s: tensor<2x4x8xf32>) -> tensor<1x4x8xf32> {
  %w = attn.softmax "t i j" over "j" where "j <= i + t"(%s) : tensor<2x4x8xf32>
  %p = attn.slice %w offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<1x4x8xf32>
  %q = attn.slice %w offsets [1, 0, 0] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<1x4x8xf32>
  %d = arith.subf %p, %q : tensor<1x4x8xf32>
  return %d : tensor<1x4x8xf32>
}

// -----
// Slices that overlap, and keys that a slice lacks: the weights stay one tensor.
// CHECK-LABEL: func.func @overlap
// CHECK: attn.softmax "t i j" over "j"(%arg0)
// CHECK: attn.softmax "t i j" over "j"(%arg1)
func.func @overlap(%s: tensor<2x4x8xf32>, %u: tensor<2x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>) {
  %w = attn.softmax "t i j" over "j"(%s) : tensor<2x4x8xf32>
  %p = attn.slice %w offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<1x4x8xf32>
  %q = attn.slice %w offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<2x4x8xf32>
  %n = arith.negf %p : tensor<1x4x8xf32>
  %m = arith.negf %q : tensor<2x4x8xf32>
  %x = attn.softmax "t i j" over "j"(%u) : tensor<2x4x8xf32>
  %y = attn.slice %x offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<2x4x4xf32>
  %z = attn.slice %x offsets [0, 0, 4] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<2x4x4xf32>
  %a = arith.negf %y : tensor<2x4x4xf32>
  %b = arith.negf %z : tensor<2x4x4xf32>
  return %n, %m, %a, %b : tensor<1x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
}
