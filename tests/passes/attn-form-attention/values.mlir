// RUN: skewer-opt %s -attn-form-attention -split-input-file 2>/dev/null | FileCheck %s
// Other sums over the weights: value terms, by way of absolute to relative and back.

// Two tables, one clipped and one guarded, with scaled values: every scale is relative to the values' scale.
// CHECK-LABEL: func.func @two_tables
// CHECK-NEXT: %[[V0:.*]] = arith.constant dense<5.000000e-01>
// CHECK-NEXT: %[[V1:.*]] = attn.attention "h i j" value "h j e -> h i e"(%arg1) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: } values {
// CHECK-NEXT: attn.term "(clamp(j - i, -1, 1) + 1) e"(%arg2) scale 2.000000e+00
// CHECK-NEXT: attn.term "h (i - j + 3) e"(%arg3) scale -2.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: %[[V2:.*]] = arith.mulf %[[V1]], %[[V0]]
// CHECK-NEXT: return %[[V2]]
func.func @two_tables(%q: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %a: tensor<3x8xf32>, %b: tensor<2x7x8xf32>) -> tensor<2x4x8xf32> {
  %half = arith.constant dense<0.5> : tensor<2x4x8xf32>
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %v) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %x = attn.einsum "h i j, (clamp(j - i, -1, 1) + 1) d -> h i d"(%p, %a) : (tensor<2x4x4xf32>, tensor<3x8xf32>) -> tensor<2x4x8xf32>
  %y = attn.einsum "h i j, h (i - j + 3) d -> h i d"(%p, %b) : (tensor<2x4x4xf32>, tensor<2x7x8xf32>) -> tensor<2x4x8xf32>
  %m = arith.mulf %o, %half : tensor<2x4x8xf32>
  %n = arith.addf %m, %x : tensor<2x4x8xf32>
  %r = arith.subf %n, %y : tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----
// A guard that the mask implies is removed; masked keys have weight 0, whatever is added to them.
// CHECK-LABEL: func.func @under_a_mask
// CHECK-NEXT: %[[V0:.*]] = attn.attention "i j" where "j <= i" value "j e -> i e"(%arg0) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg0) scale 1.000000e+00
// CHECK-NEXT: } values {
// CHECK-NEXT: attn.term "(i - j) e"(%arg1) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @under_a_mask(%q: tensor<4x8xf32>, %t: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %q) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %x = attn.einsum "i j, (i - j) d -> i d" where "j <= i"(%p, %t) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = arith.addf %o, %x : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
// Only a table, no values: the table is the values of an attention by position.
// CHECK-LABEL: func.func @table_alone
// CHECK-NEXT: %[[V0:.*]] = attn.attention "i j" value "j e -> i e"(%arg1) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg0) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V0]]
func.func @table_alone(%q: tensor<4x8xf32>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %e) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Other tensors in the sum stay outside the attention, in their places.
// CHECK-LABEL: func.func @residual
// CHECK-NEXT: %[[V0:.*]] = attn.attention "i j" value "j e -> i e"(%arg0) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg0) scale 1.000000e+00
// CHECK-NEXT: }
// CHECK-NEXT: %[[V1:.*]] = arith.subf %arg1, %[[V0]]
// CHECK-NEXT: return %[[V1]]
func.func @residual(%q: tensor<4x8xf32>, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %q) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = arith.subf %x, %o : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
// Two sums of the same weights that read their keys in different ways: the weights are held.
// CHECK-LABEL: func.func @two_ways
// CHECK: %[[V0:.*]] = attn.einsum "i d, j d -> i j"(%arg0, %arg0)
// CHECK-NEXT: %[[V1:.*]] = attn.softmax "i j" over "j"(%[[V0]])
// CHECK-NEXT: %[[V2:.*]] = attn.einsum "i j, j d -> i d"(%[[V1]], %arg0)
// CHECK-NEXT: %[[V3:.*]] = attn.einsum "i j, (3 - j) d -> i d"(%[[V1]], %arg1)
func.func @two_ways(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %q) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = attn.einsum "i j, (3 - j) d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %r : tensor<4x8xf32>, tensor<4x8xf32>
}
