// RUN: skewer-opt %s -attn-hoist-products -split-input-file | FileCheck %s

// A row of a table for each offset, and of eight steps or more: one of seven is summed where it is read.
// CHECK-LABEL: func.func @few_steps
// CHECK-NOT: attn.einsum
// CHECK: attn.term "(j - i + 15) d, d"
func.func @few_steps(%q: tensor<16x8xf32>, %t: tensor<31x7xf32>, %w: tensor<7xf32>) -> tensor<16x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<16x8xf32>, tensor<16x8xf32>
    attn.term "(j - i + 15) d, d"(%t, %w) scale 1.000000e+00 : tensor<31x7xf32>, tensor<7xf32>
  } : tensor<16x8xf32> -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}

// -----
// The same with eight steps.
// CHECK-LABEL: func.func @eight_steps
// CHECK: %[[T:.*]] = attn.einsum "r0 d, d -> r0"
// CHECK: attn.term "(j - i + 15)"(%[[T]])
func.func @eight_steps(%q: tensor<16x8xf32>, %t: tensor<31x8xf32>, %w: tensor<8xf32>) -> tensor<16x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<16x8xf32>, tensor<16x8xf32>
    attn.term "(j - i + 15) d, d"(%t, %w) scale 1.000000e+00 : tensor<31x8xf32>, tensor<8xf32>
  } : tensor<16x8xf32> -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}

// -----
// Two dimensions of one size, read by two expressions, are two axes; one expression in two operands is one.
// CHECK-LABEL: func.func @two_of_a_size
// CHECK: attn.einsum "j i d, i d -> i j"
func.func @two_of_a_size(%q: tensor<16x8xf32>, %z: tensor<16x16x8xf32>, %g: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<16x8xf32>, tensor<16x8xf32>
    attn.term "j i d, i d"(%z, %g) scale 1.000000e+00 : tensor<16x16x8xf32>, tensor<16x8xf32>
  } : tensor<16x8xf32> -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}

// -----
// A function of a sum takes the whole sum, which is not divided. Without a sum nothing is moved.
// CHECK-LABEL: func.func @no_sum
// CHECK-NOT: attn.einsum
// CHECK: attn.term "i j"
func.func @no_sum(%q: tensor<16x8xf32>, %b: tensor<16x16xf32>) -> tensor<16x8xf32> {
  %o = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.000000e+00 : tensor<16x8xf32>, tensor<16x8xf32>
    attn.term "i j"(%b) scale 1.000000e+00 : tensor<16x16xf32>
  } : tensor<16x8xf32> -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}

// -----
// As many sums as scores, of vectors that all heads share, but fewer than the numbers in these vectors.
// CHECK-LABEL: func.func @smaller
// CHECK: %[[B:.*]] = attn.einsum "i r1 d, h d -> i h r1"{{.*}} -> tensor<4x2x4xf32>
// CHECK: attn.term "i h j"(%[[B]])
func.func @smaller(%q: tensor<2x4x8xf32>, %z: tensor<4x4x8xf32>, %w: tensor<2x8xf32>) -> tensor<2x4x8xf32> {
  %o = attn.attention "h i j" value "h j e -> h i e"(%q) score {
    attn.term "h i d, h j d"(%q, %q) scale 1.000000e+00 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
    attn.term "i (j mod 4) d, h d"(%z, %w) scale 1.000000e+00 : tensor<4x4x8xf32>, tensor<2x8xf32>
  } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
