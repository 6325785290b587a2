// Attentions inside larger functions become kernels of their own, with the operations that only prepare their operands.
// RUN: skewer-opt -attn-outline -split-input-file -verify-diagnostics %s | FileCheck %s

// The scaled queries have another reader and stay; the broadcast table moves; the constant is in both.
// CHECK-LABEL: func.func @model
// CHECK: %[[Q:.*]] = arith.mulf
// CHECK-NOT: attn.rearrange
// CHECK: %[[O:.*]]:2 = call @model_attention(%arg1, %[[Q]], %arg0)
// CHECK: linalg.add ins(%[[O]]#0, %[[Q]]
// CHECK: func.func private @model_attention(%arg0: {{.*}}attn.name = "input0"{{.*}}) -> (tensor<4x8xf32>, tensor<4xf32>)
// CHECK: attn.rearrange
// CHECK: attn.attention
// CHECK: return
func.func @model(%x: tensor<4x8xf32>, %t: tensor<7xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %half = arith.constant dense<0.5> : tensor<4x8xf32>
  %q = arith.mulf %x, %half : tensor<4x8xf32>
  %wide = attn.rearrange "r -> i r" sizes {i = 4 : i64} %t : tensor<7xf32> to tensor<4x7xf32>
  %o, %l = attn.attention "i j" value "j e -> i e" (%x) score {
    attn.term "i d, j d" (%q, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
    attn.term "i (j - i + 3)" (%wide) scale 1.0 : tensor<4x7xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32> lse tensor<4xf32>
  %r = linalg.add ins(%o, %q : tensor<4x8xf32>, tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %l : tensor<4x8xf32>, tensor<4xf32>
}

// -----
// A function that is a kernel as a whole stays.
// CHECK-LABEL: func.func @kernel
// CHECK: attn.attention
// CHECK-NOT: func.func
func.func @kernel(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i j" value "j e -> i e" (%x) score {
    attn.term "i d, j d" (%x, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A function with a result of integers is none: no kernel has such results.
// CHECK-LABEL: func.func @codes
// CHECK: call @codes_attention
// CHECK: arith.addi
// CHECK: func.func private @codes_attention
func.func @codes(%x: tensor<4x8xf32>, %c: tensor<4x8xi8>) -> (tensor<4x8xf32>, tensor<4x8xi8>) {
  %o = attn.attention "i j" value "j e -> i e" (%x) score {
    attn.term "i d, j d" (%x, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  %t = arith.addi %c, %c : tensor<4x8xi8>
  return %o, %t : tensor<4x8xf32>, tensor<4x8xi8>
}

// -----
// Run-time indices keep their name and range; the batch of run-time size is one size of all operands.
// CHECK-LABEL: func.func @padded
// CHECK: call @padded_attention
// CHECK: func.func private @padded_attention
// CHECK-SAME: attn.name = "n", attn.range = array<i64: 0, 4>
// CHECK-SAME: attn.shape = ["batch"]
// CHECK-SAME: -> (tensor<?x4x8xf32> {attn.shape = ["batch", 4, 8]})
func.func @padded(%x: tensor<?x4x8xf32>, %n: tensor<?xi32> {attn.name = "n", attn.range = array<i64: 0, 4>}) -> tensor<?x4x8xf32> {
  %o = attn.attention "b i j" where "j < n[b]" indices(n = %n : tensor<?xi32>) value "b j e -> b i e" (%x) score {
    attn.term "b i d, b j d" (%x, %x) scale 1.0 : tensor<?x4x8xf32>, tensor<?x4x8xf32>
  } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  %r = linalg.add ins(%o, %x : tensor<?x4x8xf32>, tensor<?x4x8xf32>) outs(%x : tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  return %r : tensor<?x4x8xf32>
}

// -----
// Inside a loop: a constant from outside is made again, although it is no tensor.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: call @loop_attention(%{{.*}}) : (tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
// CHECK: func.func private @loop_attention(%arg0: tensor<?x4x8xf32> {attn.name = "input0", attn.shape = ["batch", 4, 8]})
// CHECK: arith.constant 2
// CHECK: tensor.splat
func.func @loop(%x: tensor<?x4x8xf32>, %times: index) -> tensor<?x4x8xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %r = scf.for %n = %zero to %times step %one iter_args(%before = %x) -> tensor<?x4x8xf32> {
    %wide = tensor.splat %two : tensor<4x4xf32>
    %o = attn.attention "b i j" value "b j e -> b i e" (%before) score {
      attn.term "b i d, b j d" (%before, %before) scale 1.0 : tensor<?x4x8xf32>, tensor<?x4x8xf32>
      attn.term "i j" (%wide) scale 1.0 : tensor<4x4xf32>
    } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
    scf.yield %o : tensor<?x4x8xf32>
  }
  return %r : tensor<?x4x8xf32>
}

// -----
// The name of a run-time size is the function's, for computed operands too.
// CHECK-LABEL: func.func @named
// CHECK: func.func private @named_attention
// CHECK-SAME: attn.shape = ["B", 4, 8]
// CHECK-SAME: attn.shape = ["B", 4, 8]
// CHECK-SAME: -> (tensor<?x4x8xf32> {attn.shape = ["B", 4, 8]})
func.func @named(%x: tensor<?x4x8xf32> {attn.shape = ["B", 4, 8]}) -> tensor<?x4x8xf32> {
  %y = linalg.add ins(%x, %x : tensor<?x4x8xf32>, tensor<?x4x8xf32>) outs(%x : tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  %o = attn.attention "b i j" value "b j e -> b i e" (%y) score {
    attn.term "b i d, b j d" (%x, %y) scale 1.0 : tensor<?x4x8xf32>, tensor<?x4x8xf32>
  } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %o : tensor<?x4x8xf32>
}

// -----
// Computed operands stay in the caller; the kernel's argument has their name and range.
// CHECK-LABEL: func.func @computed
// CHECK: %[[SUM:.*]] = linalg.add
// CHECK-NOT: attn.index
// CHECK: call @computed_attention(%{{.*}}, %{{.*}}, %[[SUM]])
// CHECK: func.func private @computed_attention
// CHECK-SAME: tensor<4xi32> {attn.name = "row", attn.range = array<i64: 0, 6>}
// CHECK: indices(row = %arg2 : tensor<4xi32>)
func.func @computed(%x: tensor<4x8xf32>, %t: tensor<7x8xf32>, %a: tensor<4xi32>) -> tensor<4x8xf32> {
  %sum = linalg.add ins(%a, %a : tensor<4xi32>, tensor<4xi32>) outs(%a : tensor<4xi32>) -> tensor<4xi32>
  %row = attn.index "row" in [0, 6] (%sum) : tensor<4xi32>
  %o = attn.attention "i j" value "j e -> i e" (%x) score {
    attn.term "i d, j d" (%x, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
    attn.term "i d, (row[j]) d" indices(row = %row : tensor<4xi32>) (%x, %t) scale 1.0 : tensor<4x8xf32>, tensor<7x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
