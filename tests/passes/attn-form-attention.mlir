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
// REMARK: depends on the query only: softmax is invariant to it, so it is dropped
// CHECK-LABEL: func.func @query_only
// CHECK: attn.term "i d, j d"
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
// A result in another order is put into it afterwards.
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
// What cannot be fused stays, and the function says why.
// REMARK: not fused: the weights are used more than once; scores of [4,4] are held in memory
// CHECK-LABEL: func.func @unfused
// CHECK-SAME: attributes {attn.unfused = "the weights are used more than once; scores of [4,4] are held in memory"}
// CHECK: attn.softmax
func.func @unfused(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>) {
  %s = attn.einsum "i d, j d -> i j"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x4xf32>
  %o = attn.einsum "i j, j c -> i c"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %p : tensor<4x8xf32>, tensor<4x4xf32>
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
// What an einsum computes for two readers is not computed twice: only the score is looked through.
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
