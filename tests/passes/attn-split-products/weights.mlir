// RUN: skewer-opt %s -attn-split-products -split-input-file | FileCheck %s
// Factors of weights without a softmax: scores times decays, a gate of scores.

// A key's factor that is at most 1, outside of what depends on pairs: the values'.
// CHECK-LABEL: func.func @key
// CHECK: %[[T:.*]] = math.tanh %arg3
// CHECK: %[[S:.*]] = attn.einsum "h i d, h j d -> h i j"
// CHECK: %[[E:.*]] = math.exp %arg2
// CHECK: %[[D:.*]] = arith.mulf %[[S]], %[[E]]
// CHECK: %[[W:.*]] = attn.einsum "h i j -> h i j" where "j <= i"(%[[D]])
// CHECK: %[[V:.*]] = attn.einsum "h j c, h j -> h j c"(%arg4, %[[T]])
// CHECK: attn.einsum "h i j, h j c -> h i c"(%[[W]], %[[V]])
func.func @key(%q: tensor<2x4x3xf32>, %k: tensor<2x4x3xf32>, %l: tensor<2x4x4xf32>, %g: tensor<2x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %t = math.tanh %g : tensor<2x4xf32>
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %e = math.exp %l : tensor<2x4x4xf32>
  %d = arith.mulf %s, %e : tensor<2x4x4xf32>
  %r = attn.rearrange "h j -> h i j" sizes {i = 4 : i64} %t : tensor<2x4xf32> to tensor<2x4x4xf32>
  %p = arith.mulf %d, %r : tensor<2x4x4xf32>
  %w = attn.einsum "h i j -> h i j" where "j <= i"(%p) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// A factor that may be large stays: with the values it may be larger than f32 holds, although the weight is small.
// CHECK-LABEL: func.func @large
// CHECK: %[[W:.*]] = arith.mulf
// CHECK: attn.einsum "h i j, h j c -> h i c"(%[[W]], %arg3)
func.func @large(%q: tensor<2x4x3xf32>, %k: tensor<2x4x3xf32>, %g: tensor<2x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %e = math.exp %s : tensor<2x4x4xf32>
  %r = attn.rearrange "h j -> h i j" sizes {i = 4 : i64} %g : tensor<2x4xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %e, %r : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// A divisor of the query waits for the result and stays a divisor: the inverse of a large number would be 0.
// CHECK-LABEL: func.func @query
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[O:.*]] = attn.einsum "h i j, h j c -> h i c"(%[[E]], %arg3)
// CHECK: %[[R:.*]] = attn.einsum "h i -> h i c" sizes {c = 8 : i64}(%arg2)
// CHECK: arith.divf %[[O]], %[[R]] : tensor<2x4x8xf32>
func.func @query(%q: tensor<2x4x3xf32>, %k: tensor<2x4x3xf32>, %g: tensor<2x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %e = math.exp %s : tensor<2x4x4xf32>
  %r = attn.rearrange "h i -> h i j" sizes {j = 4 : i64} %g : tensor<2x4xf32> to tensor<2x4x4xf32>
  %w = arith.divf %e, %r : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// Weights with a sum of their own: the content's, for both.
// CHECK-LABEL: func.func @summed
// CHECK: %[[S:.*]] = attn.einsum "h i d, h j d -> h i j"
// CHECK: %[[E:.*]] = math.exp %arg2
// CHECK: %[[G:.*]] = attn.rearrange "h j -> h i j"
// CHECK: %[[K:.*]] = arith.mulf %[[S]], %[[G]]
// CHECK: %[[W:.*]] = arith.mulf %[[K]], %[[E]]
// CHECK: attn.einsum "h i j -> h i"(%[[W]])
// CHECK: attn.einsum "h i j, h j c -> h i c"(%[[W]], %arg4)
func.func @summed(%q: tensor<2x4x3xf32>, %k: tensor<2x4x3xf32>, %l: tensor<2x4x4xf32>, %g: tensor<2x4xf32>, %v: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %e = math.exp %l : tensor<2x4x4xf32>
  %d = arith.mulf %s, %e : tensor<2x4x4xf32>
  %r = attn.rearrange "h j -> h i j" sizes {i = 4 : i64} %g : tensor<2x4xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %d, %r : tensor<2x4x4xf32>
  %t = attn.einsum "h i j -> h i"(%w) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %t : tensor<2x4x8xf32>, tensor<2x4xf32>
}

// -----
// A gate of one sum of terms that is summed up beside stays: the sum costs nothing there.
// CHECK-LABEL: func.func @gate
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[G:.*]] = attn.rearrange "h j -> h i j"
// CHECK: %[[W:.*]] = arith.mulf %[[E]], %[[G]]
// CHECK: attn.einsum "h i j -> h i"(%[[W]])
// CHECK: attn.einsum "h i j, h j c -> h i c"(%[[W]], %arg3)
func.func @gate(%q: tensor<2x4x3xf32>, %k: tensor<2x4x3xf32>, %g: tensor<2x4xf32>, %v: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %e = math.exp %s : tensor<2x4x4xf32>
  %r = attn.rearrange "h j -> h i j" sizes {i = 4 : i64} %g : tensor<2x4xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %e, %r : tensor<2x4x4xf32>
  %t = attn.einsum "h i j -> h i"(%w) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %t : tensor<2x4x8xf32>, tensor<2x4xf32>
}

// -----
// A condition beside a key's factor is the product's.
// CHECK-LABEL: func.func @condition
// CHECK: %[[T:.*]] = math.tanh %arg2
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[V:.*]] = attn.einsum "h j c, h j -> h j c"(%arg3, %[[T]])
// CHECK: attn.einsum "h i j, h j c -> h i c" where "j <= i"(%[[E]], %[[V]])
func.func @condition(%q: tensor<2x4x3xf32>, %k: tensor<2x4x3xf32>, %g: tensor<2x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %t = math.tanh %g : tensor<2x4xf32>
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %e = math.exp %s : tensor<2x4x4xf32>
  %r = attn.einsum "h j -> h i j" where "j <= i" sizes {i = 4 : i64}(%t) : (tensor<2x4xf32>) -> tensor<2x4x4xf32>
  %w = arith.mulf %e, %r : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// A number between a softmax and a key's factor.
// CHECK-LABEL: func.func @number
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: %[[V:.*]] = attn.einsum "h j c, h j -> h j c"(%arg2, %arg1)
// CHECK: %[[O:.*]] = attn.einsum "h i j, h j c -> h i c"(%[[P]], %[[V]])
// CHECK: arith.divf %[[O]], %{{.*}} : tensor<2x4x8xf32>
func.func @number(%s: tensor<2x4x4xf32>, %g: tensor<2x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %r = attn.rearrange "h j -> h i j" sizes {i = 4 : i64} %g : tensor<2x4xf32> to tensor<2x4x4xf32>
  %m = arith.mulf %p, %r : tensor<2x4x4xf32>
  %c = arith.constant dense<0.9> : tensor<2x4x4xf32>
  %w = arith.divf %m, %c : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// What is no function of two sums afterwards either (the content's square) is moved once.
// CHECK-LABEL: func.func @once
// CHECK: %[[S:.*]] = attn.einsum "h i d, h j d -> h i j"
// CHECK: %[[K:.*]] = arith.mulf %[[S]], %{{.*}}
// CHECK: %[[W:.*]] = arith.mulf %[[K]], %{{.*}}
// CHECK: attn.einsum "h i j -> h i"(%[[W]])
func.func @once(%q: tensor<2x4x3xf32>, %k: tensor<2x4x3xf32>, %l: tensor<2x4x4xf32>, %g: tensor<2x4xf32>, %v: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>) {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %z = math.sin %l : tensor<2x4x4xf32>
  %y = attn.einsum "h i d, h j d -> h i j"(%k, %q) : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %x = arith.mulf %y, %z : tensor<2x4x4xf32>
  %e = math.exp %x : tensor<2x4x4xf32>
  %d = arith.mulf %s, %e : tensor<2x4x4xf32>
  %r = attn.rearrange "h j -> h i j" sizes {i = 4 : i64} %g : tensor<2x4xf32> to tensor<2x4x4xf32>
  %w = arith.mulf %d, %r : tensor<2x4x4xf32>
  %t = attn.einsum "h i j -> h i"(%w) : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%w, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o, %t : tensor<2x4x8xf32>, tensor<2x4xf32>
}
