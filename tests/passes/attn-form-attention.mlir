// RUN: skewer-opt %s -attn-form-attention -split-input-file 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// The example of the pass's description.
// CHECK-LABEL: func.func @example
// CHECK-NEXT: attn.attention "i j" value "j e -> i e"(%arg2) score {
// CHECK-NEXT: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
func.func @example(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "x c, y c -> x y"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "x y" over "y"(%s) : tensor<4x4xf32>
  %o = attn.einsum "x y, y c -> x c"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// Scales of the sum, of a term and of the queries; a difference; a mask; terms by position and by head.
// CHECK-LABEL: func.func @terms
// CHECK-NEXT: attn.attention "h i j" where "j <= i" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.250000e-01
// CHECK-NEXT: attn.term "h"(%arg3) times "{{.*}}" scale -5.000000e-01 : tensor<2xf32>
// CHECK-NEXT: attn.term "i j"(%arg4) scale -5.000000e-01 : tensor<4x4xf32>
// CHECK-NEXT: }
func.func @terms(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %slope: tensor<2xf32>,
                 %bias: tensor<4x4xf32>) -> tensor<2x4x8xf32> {
  %quarter = arith.constant dense<0.25> : tensor<2x4x8xf32>
  %half = arith.constant dense<0.5> : tensor<2x4x4xf32>
  %scaled = arith.mulf %q, %quarter : tensor<2x4x8xf32>
  %content = attn.einsum "h i d, h j d -> h i j"(%scaled, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %slopes = attn.rearrange "h -> h i j" sizes {i = 4 : i64, j = 4 : i64} %slope : tensor<2xf32> to tensor<2x4x4xf32>
  %distance = attn.position "h i j" = "i - j" : tensor<2x4x4xf32>
  %penalty = arith.mulf %slopes, %distance : tensor<2x4x4xf32>
  %a = arith.subf %content, %penalty : tensor<2x4x4xf32>
  %wide = attn.rearrange "i j -> h i j" sizes {h = 2 : i64} %bias : tensor<4x4xf32> to tensor<2x4x4xf32>
  %b = arith.subf %a, %wide : tensor<2x4x4xf32>
  %score = arith.mulf %b, %half : tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j" where "j <= i"(%score) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// A term that depends on the query alone leaves only its infinities: -inf hides the row.
// REMARK: depends on the query only: softmax is invariant to it, so it is dropped
// CHECK-LABEL: func.func @query_only
// CHECK: %[[T:.*]] = attn.einsum "i -> i"(%arg3)
// CHECK: %[[B:.*]] = arith.maximumf %[[T]], %{{.*}} : tensor<4xf32>
// CHECK: %[[I:.*]] = arith.subf %[[T]], %[[B]] : tensor<4xf32>
// CHECK: attn.term "i d, j d"
// CHECK-NEXT: attn.term "i"(%[[I]]) scale 1.000000e+00
// CHECK-NEXT: }
func.func @query_only(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %t: tensor<4xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %r = attn.rearrange "i -> i j" sizes {j = 4 : i64} %t : tensor<4xf32> to tensor<4x4xf32>
  %a = arith.addf %s, %r : tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%a) : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
// A result in another order is rearranged afterwards.
// CHECK-LABEL: func.func @merged_heads
// CHECK-NEXT: %[[O:.*]] = attn.attention "h i j" value "h j e -> h i e"
// CHECK: attn.rearrange "h i e -> i (h e)" %[[O]] : tensor<2x4x8xf32> to tensor<4x16xf32>
func.func @merged_heads(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<4x16xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> i (h d)"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<4x16xf32>
  return %o : tensor<4x16xf32>
}

// -----
// An attention that cannot be fused stays, and the function says why.
// REMARK: not fused: the weights are used more than once, and not in a sum of products; scores of [4,4] are held in memory
// CHECK-LABEL: func.func @unfused
// CHECK-SAME: attributes {attn.unfused = "the weights are used more than once, and not in a sum of products; scores of [4,4] are held in memory"}
// CHECK: attn.softmax
func.func @unfused(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = attn.einsum "i j, j d, i d -> i"(%p, %k, %q) : (tensor<4x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  return %o, %t : tensor<4x8xf32>, tensor<4xf32>
}

// -----
// Groups of heads share keys and values, and operands that are views of others are read through their strides.
// CHECK-LABEL: func.func @grouped
// CHECK-NEXT: attn.attention "h i j" value "(h floordiv 2) j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "i (h d), (h floordiv 2) j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: }
func.func @grouped(%q: tensor<4x32xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<4x4x8xf32> {
  %heads = attn.rearrange "n (h d) -> h n d" sizes {h = 4 : i64} %q : tensor<4x32xf32> to tensor<4x4x8xf32>
  %s = attn.einsum "(g r) i d, g j d -> (g r) i j"(%heads, %k) : (tensor<4x4x8xf32>, tensor<2x4x8xf32>) -> tensor<4x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<4x4x4xf32>
  %o = attn.einsum "(g r) i j, g j d -> (g r) i d"(%p, %v) : (tensor<4x4x4xf32>, tensor<2x4x8xf32>) -> tensor<4x4x8xf32>
  return %o : tensor<4x4x8xf32>
}

// -----
// An einsum with two readers is not computed twice: only the score is examined.
// CHECK-LABEL: func.func @projected
// CHECK: %[[Q:.*]] = attn.einsum "n c, c h d -> h n d"
// CHECK: attn.term "h i d, h j d"(%[[Q]], %[[Q]])
func.func @projected(%x: tensor<4x16xf32>, %w: tensor<16x2x8xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %q = attn.einsum "n c, c h d -> h n d"(%x, %w) : (tensor<4x16xf32>, tensor<16x2x8xf32>) -> tensor<2x4x8xf32>
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %q) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}

// -----
// Lengths and segments, read at run time: one attention, whose mask and terms keep them.
// CHECK-LABEL: func.func @indices
// CHECK-NEXT: attn.attention "b h i j" where "j < lengths[b]" indices(lengths = %arg5 : tensor<?xi32>) value "b h j e -> b h i e"(%arg2) score {
// CHECK-NEXT: attn.term "b h i d, b h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: attn.term "b h i d, h (seg[b, i] != seg[b, j]) d" indices(seg = %arg4 : tensor<?x8xi32>)(%arg0, %arg3) scale 1.000000e+00
// CHECK-NEXT: attn.term "" indices(seg = %arg4 : tensor<?x8xi32>)() times "seg[b, i] != seg[b, j]" scale -1.000000e+02
// CHECK-NEXT: }
func.func @indices(%q: tensor<?x2x8x4xf32>, %k: tensor<?x2x8x4xf32>, %v: tensor<?x2x8x4xf32>, %e: tensor<2x2x4xf32>,
                   %seg: tensor<?x8xi32> {attn.name = "seg", attn.range = array<i64: 0, 1>},
                   %lengths: tensor<?xi32> {attn.name = "lengths"}) -> tensor<?x2x8x4xf32> {
  %content = attn.einsum "b h i d, b h j d -> b h i j"(%q, %k)
      : (tensor<?x2x8x4xf32>, tensor<?x2x8x4xf32>) -> tensor<?x2x8x8xf32>
  %segments = attn.einsum "b h i d, h (seg[b, i] != seg[b, j]) d -> b h i j" sizes {j = 8 : i64}
      indices(seg = %seg : tensor<?x8xi32>)(%q, %e) : (tensor<?x2x8x4xf32>, tensor<2x2x4xf32>) -> tensor<?x2x8x8xf32>
  %apart = attn.position "b i j" = "seg[b, i] != seg[b, j]" indices(seg = %seg : tensor<?x8xi32>) : tensor<?x8x8xf32>
  %all = attn.rearrange "b i j -> b h i j" sizes {h = 2 : i64} %apart : tensor<?x8x8xf32> to tensor<?x2x8x8xf32>
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %q, %c0 : tensor<?x2x8x4xf32>
  %number = arith.constant 1.000000e+02 : f32
  %hundred = tensor.splat %number[%batch] : tensor<?x2x8x8xf32>
  %penalty = arith.mulf %all, %hundred : tensor<?x2x8x8xf32>
  %sum = arith.addf %content, %segments : tensor<?x2x8x8xf32>
  %score = arith.subf %sum, %penalty : tensor<?x2x8x8xf32>
  %p = attn.softmax "b h i j" over "j" where "j < lengths[b]" indices(lengths = %lengths : tensor<?xi32>)(%score)
      : tensor<?x2x8x8xf32>
  %o = attn.einsum "b h i j, b h j d -> b h i d"(%p, %v)
      : (tensor<?x2x8x8xf32>, tensor<?x2x8x4xf32>) -> tensor<?x2x8x4xf32>
  return %o : tensor<?x2x8x4xf32>
}

// -----
// Another sum over the weights is added to the values: a window of relative values (VITS).
// CHECK-LABEL: func.func @relative_values
// CHECK-NEXT: attn.attention "h i j" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: } values {
// CHECK-NEXT: attn.term "(j - i + 1) e"(%arg3) scale 1.000000e+00 where "abs(j - i) <= 1" : tensor<3x8xf32>
// CHECK-NEXT: } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
// CHECK-NEXT: return
func.func @relative_values(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %t: tensor<3x8xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %near = attn.einsum "h i j, (j - i + 1) d -> h i d" where "abs(j - i) <= 1"(%p, %t) : (tensor<2x4x4xf32>, tensor<3x8xf32>) -> tensor<2x4x8xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %r = arith.addf %o, %near : tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----
// The same in published code: absolute to relative by pad, reshape and slice, the window as a padded table.
// CHECK-LABEL: func.func @absolute_to_relative
// CHECK-NEXT: attn.attention "h i j" value "h j e -> h i e"(%arg2) score {
// CHECK-NEXT: attn.term "h i d, h j d"(%arg0, %arg1) scale 1.000000e+00
// CHECK-NEXT: } values {
// CHECK-NEXT: attn.term "(j - i + 1) e"(%arg3) scale 1.000000e+00 where "abs(j - i) <= 1" : tensor<3x8xf32>
// CHECK-NEXT: } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
// CHECK-NEXT: return
func.func @absolute_to_relative(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %t: tensor<3x8xf32>) -> tensor<2x4x8xf32> {
  %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %p = attn.softmax "h i j" over "j"(%s) : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j d -> h i d"(%p, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %a = attn.pad %p low [0, 0, 0] high [0, 0, 3] : tensor<2x4x4xf32> to tensor<2x4x7xf32>
  %b = attn.reshape %a : tensor<2x4x7xf32> to tensor<2x28xf32>
  %c = attn.pad %b low [0, 4] high [0, 0] : tensor<2x28xf32> to tensor<2x32xf32>
  %d = attn.reshape %c : tensor<2x32xf32> to tensor<2x4x8xf32>
  %x = attn.slice %d offsets [0, 0, 1] strides [1, 1, 1] : tensor<2x4x8xf32> to tensor<2x4x7xf32>
  %full = attn.pad %t low [2, 0] high [2, 0] : tensor<3x8xf32> to tensor<7x8xf32>
  %near = attn.einsum "h i r, r d -> h i d"(%x, %full) : (tensor<2x4x7xf32>, tensor<7x8xf32>) -> tensor<2x4x8xf32>
  %r = arith.addf %o, %near : tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----
// Clamped offsets under a causal mask, a second tensor of values, scales; the added tensor stays outside.
// CHECK-LABEL: func.func @sum_of_products
// CHECK: %[[O:.*]] = attn.attention "i j" where "j <= i" value "j e -> i e"(%arg2) score {
// CHECK: } values {
// CHECK-NEXT: attn.term "(clamp(j - i, -2, 0) + 2) e"(%arg3) scale -5.000000e-01 : tensor<3x8xf32>
// CHECK-NEXT: attn.term "j e"(%arg4) scale 2.500000e-01 : tensor<4x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[O]], %{{.*}} : tensor<4x8xf32>
// CHECK-NEXT: %[[R:.*]] = arith.addf %[[S]], %arg0 : tensor<4x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @sum_of_products(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %t: tensor<3x8xf32>, %w: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %two = arith.constant dense<2.0> : tensor<4x8xf32>
  %half = arith.constant dense<0.5> : tensor<4x8xf32>
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %twice = arith.mulf %o, %two : tensor<4x8xf32>
  %near = attn.einsum "i j, (clamp(j - i, -2, 0) + 2) d -> i d"(%p, %t) : (tensor<4x4xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %more = attn.einsum "i j, j d -> i d"(%p, %w) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %less = arith.mulf %more, %half : tensor<4x8xf32>
  %a = arith.subf %twice, %near : tensor<4x8xf32>
  %b = arith.addf %a, %q : tensor<4x8xf32>
  %r = arith.addf %b, %less : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
// Per axis of a map.
// CHECK-LABEL: func.func @axes
// CHECK-NEXT: attn.attention "(iy ix) (jy jx)"
// CHECK: } values {
// CHECK-NEXT: attn.term "(jy - iy + 1) e"(%arg1) scale 1.000000e+00 : tensor<3x8xf32>
// CHECK-NEXT: attn.term "(ix - jx + 2) e"(%arg2) scale 1.000000e+00 : tensor<5x8xf32>
// CHECK-NEXT: }
func.func @axes(%q: tensor<6x8xf32>, %y: tensor<3x8xf32>, %x: tensor<5x8xf32>) -> tensor<6x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<6x6xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %q) : (tensor<6x6xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %a = attn.einsum "(iy ix) (jy jx), (jy - iy + 1) d -> (iy ix) d" sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64}(%p, %y) : (tensor<6x6xf32>, tensor<3x8xf32>) -> tensor<6x8xf32>
  %b = attn.einsum "(iy ix) (jy jx), (ix - jx + 2) d -> (iy ix) d" sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64}(%p, %x) : (tensor<6x6xf32>, tensor<5x8xf32>) -> tensor<6x8xf32>
  %c = arith.addf %o, %a : tensor<6x8xf32>
  %r = arith.addf %c, %b : tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// -----
// A read of another query's weights is no sum over this query's keys.
// REMARK: not fused: the weights are read in a way that is no sum over keys; scores of [4,4] are held in memory
// CHECK-LABEL: func.func @other_query
// CHECK: attn.softmax
func.func @other_query(%q: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = attn.pad %p low [0, 1] high [0, 0] : tensor<4x4xf32> to tensor<4x5xf32>
  %b = attn.reshape %a : tensor<4x5xf32> to tensor<5x4xf32>
  %c = attn.slice %b offsets [1, 0] strides [1, 1] : tensor<5x4xf32> to tensor<4x4xf32>
  %n = attn.einsum "i j, j d -> i d"(%c, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = arith.addf %o, %n : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
// A single query and key, whose axes are read at the constant 0.
// CHECK-LABEL: func.func @single
// CHECK: } values {
// CHECK-NEXT: attn.term "1 e"(%arg2) scale 1.000000e+00 : tensor<1x8xf32>
// CHECK-NEXT: }
func.func @single(%q: tensor<1x8xf32>, %v: tensor<1x8xf32>, %t: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %s = attn.einsum "i d, j d -> i j"(%q, %q) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x1xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<1x1xf32>
  %o = attn.einsum "i j, j d -> i d"(%p, %v) : (tensor<1x1xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %near = attn.einsum "i j, (j - i) d -> i d"(%p, %t) : (tensor<1x1xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %r = arith.addf %o, %near : tensor<1x8xf32>
  return %r : tensor<1x8xf32>
}
