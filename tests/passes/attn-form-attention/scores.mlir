// RUN: skewer-opt %s -attn-form-attention -split-input-file | FileCheck %s
// How a score is divided into terms.

// A quotient by a number is a scale, a negation a sign, and scales of factors multiply.
// CHECK-LABEL: func.func @scales
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale -6.250000e-02
// CHECK-NEXT: }
func.func @scales(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %four = arith.constant dense<4.0> : tensor<4x4xf32>
  %half = arith.constant dense<0.5> : tensor<4x8xf32>
  %two = arith.constant dense<2.0> : tensor<4x8xf32>
  %a = arith.mulf %q, %half : tensor<4x8xf32>
  %b = arith.divf %k, %two : tensor<4x8xf32>
  %s = attn.einsum "i d, j d -> i j"(%a, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %n = arith.negf %s : tensor<4x4xf32>
  %m = arith.divf %n, %four : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%m) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A scale of 0 removes its term.
// CHECK-LABEL: func.func @zero
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
func.func @zero(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %n = arith.mulf %b, %zero : tensor<4x4xf32>
  %m = arith.addf %s, %n : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%m) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Sums in a product of sums are terms each; an addition to the queries is prepared once, by the query.
// CHECK-LABEL: func.func @two_views_of_queries
// CHECK: %[[V0:.*]] = arith.addf %arg0, %{{.*}}
// CHECK: attn.term "i d, j d"(%[[V0]], %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term "i d, (j - i + 3) d"(%arg0, %arg4) scale 1.000000e+00
// CHECK-NEXT: }
func.func @two_views_of_queries(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %u: tensor<8xf32>, %t: tensor<7x8xf32>) -> tensor<4x8xf32> {
  %wide = attn.rearrange "d -> i d" sizes {i = 4 : i64} %u : tensor<8xf32> to tensor<4x8xf32>
  %a = arith.addf %q, %wide : tensor<4x8xf32>
  %s = attn.einsum "i d, j d -> i j"(%a, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %r = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64}(%q, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x4xf32>
  %m = arith.addf %s, %r : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%m) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Key-only terms stay, and query-only terms go, in every spelling.
// CHECK-LABEL: func.func @one_sided
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term "j d, d"(%arg1, %arg3) scale 1.000000e+00
// CHECK-NEXT: }
func.func @one_sided(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %a = attn.einsum "j d, d -> i j" sizes {i = 4 : i64}(%k, %w) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x4xf32>
  %b = attn.einsum "i d, d -> i j" sizes {j = 4 : i64}(%q, %w) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x4xf32>
  %m = arith.addf %s, %a : tensor<4x4xf32>
  %n = arith.addf %m, %b : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%n) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// If a score has only query-only terms, and they are numbers (as products of the query's vector are assumed to be), all
// keys have the same weight: one term of nothing says so.
// CHECK-LABEL: func.func @nothing_left
// CHECK: attn.term ""() times "0" scale 1.000000e+00
// CHECK-NEXT: }
func.func @nothing_left(%v: tensor<4x8xf32>, %t: tensor<4xf16>) -> tensor<4x8xf32> {
  %x = arith.extf %t : tensor<4xf16> to tensor<4xf32>
  %s = attn.rearrange "i -> i j" sizes {j = 4 : i64} %x : tensor<4xf32> to tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Positions times positions are a factor; a constant of positions is no operand.
// CHECK-LABEL: func.func @positions
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term ""() times "abs(i - j)" scale -1.000000e+00
// CHECK-NEXT: }
func.func @positions(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %a = attn.position "i j" = "abs(i - j)" : tensor<4x4xf32>
  %b = arith.subf %s, %a : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%b) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A gate of the query times a bias of the offset is one term of two operands.
// CHECK-LABEL: func.func @gated
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term "i, (j - i + 3)"(%arg3, %arg4) scale 1.000000e+00
// CHECK-NEXT: }
func.func @gated(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %g: tensor<4xf32>, %b: tensor<7xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %gate = attn.rearrange "i -> i j" sizes {j = 4 : i64} %g : tensor<4xf32> to tensor<4x4xf32>
  %bias = attn.einsum "(j - i + 3) -> i j" sizes {i = 4 : i64, j = 4 : i64}(%b) : (tensor<7xf32>) -> tensor<4x4xf32>
  %gated = arith.mulf %gate, %bias : tensor<4x4xf32>
  %m = arith.addf %s, %gated : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%m) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A function of scores without another term goes with them (functions.mlir).
// CHECK-LABEL: func.func @soft_cap
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: } through {
// CHECK: math.tanh %{{.*}} : f32
func.func @soft_cap(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %c = math.tanh %s : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%c) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// The same term twice stays two terms.
// CHECK-LABEL: func.func @twice
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
func.func @twice(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %m = arith.addf %s, %s : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%m) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A guard that an operand's padding makes is a guard of positions, if it is about query and key.
// CHECK-LABEL: func.func @padded_table
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term "i d, (j - i + 1) d"(%arg0, %arg3) scale 1.000000e+00 where "abs(j - i) <= 1"
// CHECK-NEXT: }
func.func @padded_table(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %t: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %full = attn.pad %t low [2, 0] high [2, 0] : tensor<3x8xf32> to tensor<7x8xf32>
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %r = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64}(%q, %full) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x4xf32>
  %m = arith.addf %s, %r : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%m) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A scale of each head goes to the queries, which may be stored in 16 bits: their product has type f32.
// CHECK-LABEL: func.func @scaled_halves
// CHECK: %[[Q:.*]] = attn.einsum "{{.*}}"(%arg0, %arg2) : (tensor<2x4x8xf16>, tensor<2xf32>) -> tensor<2x4x8xf32>
// CHECK: attn.term "{{.*}}"(%[[Q]], %arg1) scale {{.*}} : tensor<2x4x8xf32>, tensor<2x4x8xf16>
func.func @scaled_halves(%q: tensor<2x4x8xf16>, %k: tensor<2x4x8xf16>, %a: tensor<2xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf16>, tensor<2x4x8xf16>) -> tensor<2x4x4xf32>
  %b = attn.einsum "h -> h i j" sizes {i = 4 : i64, j = 4 : i64}(%a) : (tensor<2xf32>) -> tensor<2x4x4xf32>
  %x = arith.mulf %s, %b : tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%x) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %k) : (tensor<2x4x4xf32>, tensor<2x4x8xf16>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
