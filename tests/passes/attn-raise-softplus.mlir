// RUN: skewer-opt %s -attn-raise-softplus | FileCheck %s

// The logarithm of a sigmoid, 1 / (1 + exp(-x)): no number on the way is as small as the sigmoid, which counts as 0 below
// 2^-126.
// CHECK-LABEL: func.func @gate
// CHECK: %[[N:.*]] = arith.negf %arg0
// CHECK: %[[A:.*]] = math.absf %[[N]]
// CHECK: %[[M:.*]] = arith.negf %[[A]]
// CHECK: %[[E:.*]] = math.exp %[[M]]
// CHECK: %[[D:.*]] = arith.addf %[[E]], %{{.*}} : tensor<4xf32>
// CHECK: %[[S:.*]] = arith.divf %[[E]], %[[D]]
// CHECK: %[[P:.*]] = arith.maximumf %[[N]], %{{.*}} : tensor<4xf32>
// CHECK: %[[R:.*]] = arith.addf %[[P]], %{{.*}} : tensor<4xf32>
// CHECK-NEXT: %[[L:.*]] = arith.negf %[[R]]
// CHECK-NOT: math.log
// CHECK: return %[[L]]
func.func @gate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %n = arith.negf %x : tensor<4xf32>
  %e = math.exp %n : tensor<4xf32>
  %d = arith.addf %e, %one : tensor<4xf32>
  %s = arith.divf %one, %d : tensor<4xf32>
  %l = math.log %s : tensor<4xf32>
  return %l : tensor<4xf32>
}

// log(1 + exp(x)), which is x where exp(x) is infinite; of a run-time size.
// CHECK-LABEL: func.func @steps
// CHECK: math.absf %arg0 : tensor<?xf32>
// CHECK-NOT: math.log
// CHECK: return
func.func @steps(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %c1 = arith.constant 1.0 : f32
  %one = tensor.splat %c1[%n] : tensor<?xf32>
  %e = math.exp %x : tensor<?xf32>
  %d = arith.addf %one, %e : tensor<?xf32>
  %l = math.log %d : tensor<?xf32>
  return %l : tensor<?xf32>
}

// Other sums and quotients stay as they are.
// CHECK-LABEL: func.func @others
// CHECK: math.log
// CHECK: math.log
// CHECK: math.log
func.func @others(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %e = math.exp %x : tensor<4xf32>
  %a = arith.addf %e, %two : tensor<4xf32>
  %la = math.log %a : tensor<4xf32>
  %b = arith.addf %e, %one : tensor<4xf32>
  %q = arith.divf %two, %b : tensor<4xf32>
  %lb = math.log %q : tensor<4xf32>
  %c = arith.addf %x, %one : tensor<4xf32>
  %lc = math.log %c : tensor<4xf32>
  return %la, %lb, %lc : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
