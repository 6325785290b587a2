// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 --attn-lower-to-cpu=target=x86-64-v3 -split-input-file | FileCheck %s
// The phases of a layer and their work items; no operation of the levels above is left.

// Content alone needs no tables: one phase, items of rows and heads.
// CHECK-LABEL: module attributes {attn.plan
// CHECK-SAME: phases = [<function = "plain_attend"
// CHECK-NOT: plain_pack
// CHECK-NOT: attn.attention
// CHECK: func.func @plain_attend(
func.func @plain(%q: tensor<2x64x64xf32> {attn.name = "q", attn.shape = [2, 64, 64]},
                 %v: tensor<2x64x64xf32> {attn.name = "v", attn.shape = [2, 64, 64]})
    -> (tensor<2x64x64xf32> {attn.shape = [2, 64, 64]}) attributes {attn.kernel, attn.sizes = []} {
  %o = attn.attention "h i j" value "h j e -> h i e" (%v) score {
    attn.term "h i d, h j d" (%q, %v) scale 1.250000e-01 : tensor<2x64x64xf32>, tensor<2x64x64xf32>
  } : tensor<2x64x64xf32> -> tensor<2x64x64xf32>
  return %o : tensor<2x64x64xf32>
}

// -----
// A table that is read by an offset is packed once a call, before any row, in a phase of its own. Both leave the batch to the caller.
// CHECK-LABEL: module attributes {attn.plan
// CHECK-SAME: sizes = ["batch"]
// CHECK-SAME: phases = [<function = "relative_pack"
// CHECK-SAME: <function = "relative_attend", title = "attend", items = <fixed = 0, scaled = 2, factors = ["batch"]>>]
// CHECK: func.func @relative_pack(
// CHECK: func.func @relative_attend(
// CHECK-NOT: attn.term
func.func @relative(%q: tensor<?x2x64x64xf32> {attn.name = "q", attn.shape = ["batch", 2, 64, 64]},
                    %v: tensor<?x2x64x64xf32> {attn.name = "v", attn.shape = ["batch", 2, 64, 64]},
                    %t: tensor<127x64xf32> {attn.name = "t", attn.shape = [127, 64]})
    -> (tensor<?x2x64x64xf32> {attn.shape = ["batch", 2, 64, 64]}) attributes {attn.kernel, attn.sizes = ["batch"]} {
  %o = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
    attn.term "b h i d, b h j d" (%q, %v) scale 1.250000e-01 : tensor<?x2x64x64xf32>, tensor<?x2x64x64xf32>
    attn.term "b h i d, (j - i + 63) d" (%q, %t) scale 1.250000e-01 : tensor<?x2x64x64xf32>, tensor<127x64xf32>
  } : tensor<?x2x64x64xf32> -> tensor<?x2x64x64xf32>
  return %o : tensor<?x2x64x64xf32>
}

// -----
// A band of the mask gives the begin and the end of the loops over keys.
// CHECK-LABEL: module attributes {attn.plan
// CHECK: func.func @banded_attend(
// CHECK: arith.maxsi
// CHECK: scf.for
// CHECK: vector.fma
// CHECK-NOT: attn.attention
func.func @banded(%q: tensor<2x512x64xf32> {attn.name = "q", attn.shape = [2, 512, 64]},
                  %v: tensor<2x512x64xf32> {attn.name = "v", attn.shape = [2, 512, 64]})
    -> (tensor<2x512x64xf32> {attn.shape = [2, 512, 64]}) attributes {attn.kernel, attn.sizes = []} {
  %o = attn.attention "h i j" where "j <= i and i - j < 64" value "h j e -> h i e" (%v) score {
    attn.term "h i d, h j d" (%q, %v) scale 1.250000e-01 : tensor<2x512x64xf32>, tensor<2x512x64xf32>
  } : tensor<2x512x64xf32> -> tensor<2x512x64xf32>
  return %o : tensor<2x512x64xf32>
}
