// A function of the scores is an operation of its own; direct weights are multiplied with the values as they stand.
// RUN: skewer-opt %s -attn-to-linalg | FileCheck %s
// Constants may be moved out of the function, and kernels may be outlined.
// RUN: skewer-opt %s -canonicalize -cse -attn-to-linalg | FileCheck %s
// RUN: skewer-opt %s -canonicalize -attn-outline | FileCheck %s --check-prefix=OUTLINED

// CHECK-LABEL: func.func @squared
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: %[[POSITIVE:.*]] = arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[POSITIVE]], %[[POSITIVE]] : f32
// CHECK: linalg.yield %[[SQUARE]] : f32
// CHECK-NOT: math.exp
// CHECK: return %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>

// OUTLINED-LABEL: func.func @squared
// OUTLINED: call @squared_attention(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
// OUTLINED-LABEL: func.func private @squared_attention
// OUTLINED: arith.constant 0.000000e+00 : f32
// OUTLINED: attn.attention
func.func private @other(tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @squared(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %w = call @other(%v) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %o, %t = attn.attention "i j" where "j <= i" value "j e -> i e" (%w) score {
    attn.term "i d, j d" (%q, %k) scale 0.5 : tensor<4x8xf32>, tensor<4x8xf32>
  } through {
  ^bb0(%s: f32):
    %zero = arith.constant 0.0 : f32
    %positive = arith.maximumf %s, %zero : f32
    %square = arith.mulf %positive, %positive : f32
    attn.yield %square : f32
  } direct : tensor<4x8xf32> -> tensor<4x8xf32> total tensor<4xf32>
  return %o, %t : tensor<4x8xf32>, tensor<4xf32>
}

// Weights that are a result: over their sum, which is 0 where no key is seen.
// CHECK-LABEL: func.func @stored
// CHECK: math.exp
// CHECK: %[[MEAN:.*]] = arith.divf
// CHECK: linalg.generic
// CHECK: %[[WEIGHT:.*]] = arith.divf
// CHECK-NEXT: arith.select %{{.*}}, %{{.*}}, %[[WEIGHT]] : f32
// CHECK: return %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x4xf32>
// OUTLINED-LABEL: func.func @stored
// OUTLINED: call @stored_attention({{.*}}) : ({{.*}}) -> (tensor<4x8xf32>, tensor<4x4xf32>)
func.func @stored(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>) {
  %w = call @other(%v) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %o, %t = attn.attention "i j" where "j < i" value "j e -> i e" (%w) score {
    attn.term "i d, j d" (%q, %q) scale 0.5 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32> weights tensor<4x4xf32>
  return %o, %t : tensor<4x8xf32>, tensor<4x4xf32>
}
