// RUN: skewer-opt %s -attn-form-attention -split-input-file -verify-diagnostics | FileCheck %s
// Layers that do not become one attention, each with the reason and the memory that it costs.

// CHECK-LABEL: func.func @guarded_product
// CHECK-SAME: attn.unfused = "the product with the weights is not of two operands without a guard; scores of [4,4] are held in memory"
// CHECK-NOT: attn.attention
func.func @guarded_product(%s: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not fused: the product with the weights is not of two operands without a guard; scores of [4,4] are held in memory}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d" where "d < 4"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// CHECK-LABEL: func.func @three_operands
// CHECK-NOT: attn.attention
func.func @three_operands(%s: tensor<4x4xf32>, %v: tensor<4x8xf32>, %g: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not fused: the product with the weights is not of two operands without a guard}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d, j -> i d"(%p, %v, %g) : (tensor<4x4xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// CHECK-LABEL: func.func @weights_by_weights
// CHECK-NOT: attn.attention
func.func @weights_by_weights(%s: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-remark @below {{not fused: the weights are used more than once, and not in a sum of products}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j k -> i k"(%p, %p) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %o : tensor<4x4xf32>
}

// -----
// A sum over queries, by weights that are normalised over keys.
// CHECK-LABEL: func.func @other_dimension
// CHECK-NOT: attn.attention
func.func @other_dimension(%s: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not fused: a dimension of the weights is neither a query, nor a key, nor common to weights and values}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "j i, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// CHECK-LABEL: func.func @indexed_weights
// CHECK-NOT: attn.attention
func.func @indexed_weights(%s: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not fused: the weights are read through an index expression}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i (3 - j), j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Heads are mixed with the weights (talking heads): neither query nor key.
// CHECK-LABEL: func.func @summed_heads
// CHECK-NOT: attn.attention
func.func @summed_heads(%s: tensor<2x4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not fused: a dimension of the weights is neither a query, nor a key, nor common to weights and values}}
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, j d -> i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// CHECK-LABEL: func.func @run_time_keys
// CHECK-NOT: attn.attention
func.func @run_time_keys(%s: tensor<4x?xf32>, %v: tensor<?x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not fused: the number of queries or keys is known at run time only; scores of [4,?] are held in memory}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x?xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x?xf32>, tensor<?x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Values with an axis of their own that is summed.
// CHECK-LABEL: func.func @summed_values
// CHECK-NOT: attn.attention
func.func @summed_values(%s: tensor<4x4xf32>, %v: tensor<4x3x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not fused: the product sums over an axis that the weights lack}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j c d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x3x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Weights that are the result.
// CHECK-LABEL: func.func @returned
// CHECK-NOT: attn.attention
func.func @returned(%s: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-remark @below {{not fused: the weights do not go into an einsum with the values}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----
// Both the weights' dimensions stay, so that nothing is summed.
// CHECK-LABEL: func.func @outer_product
// CHECK-NOT: attn.attention
func.func @outer_product(%s: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x4x8xf32> {
  // expected-remark @below {{not fused: the product does not sum over the dimension that the softmax is over}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i j d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x4x8xf32>
  return %o : tensor<4x4x8xf32>
}

// -----
// A function of the weights, such as dropout's mask or a threshold, comes before the values.
// CHECK-LABEL: func.func @function_of_weights
// CHECK-NOT: attn.attention
func.func @function_of_weights(%s: tensor<4x4xf32>, %v: tensor<4x8xf32>, %m: tensor<4x4xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not fused: the weights do not go into an einsum with the values}}
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %w = arith.mulf %p, %m : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%w, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Two layers, of which one fuses: the function has the reason of the other one only.
// CHECK-LABEL: func.func @one_of_two
// CHECK-SAME: attn.unfused = "the weights are used more than once, and not in a sum of products; scores of [4,4] are held in memory"
// CHECK: attn.attention "i j"
// CHECK: attn.softmax
func.func @one_of_two(%s: tensor<4x4xf32>, %t: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>) {
  %a = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %x = attn.einsum "i j, j d -> i d"(%a, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{not fused: the weights are used more than once, and not in a sum of products}}
  %b = attn.softmax "i j" over "j"(%t) : tensor<4x4xf32>
  %y = attn.einsum "i j, j k -> i k"(%b, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %x, %y : tensor<4x8xf32>, tensor<4x4xf32>
}
