// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 --attn-lower-to-cpu=target=x86-64-v3 --split-input-file | FileCheck %s
// RUN: skewer-opt %s --attn-lower-to-cpu --split-input-file | FileCheck %s --check-prefix=UNSCHEDULED

// The plan: tables are packed in one phase, rows attended to in the next; nothing of 64x64 scores is in the workspace
// of a head but the row block's.
// CHECK-LABEL: module attributes {attn.plan
// CHECK-NOT: func.func @layer(
// CHECK: func.func @layer_pack(%{{.*}}: memref<?xf32>, {{.*}}: memref<?xi8>, %{{.*}}: memref<?xi8>, %{{.*}}: index, %{{.*}}: index)
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
// CHECK: func.func @layer_attend(
// The tile: products of broadcast queries and packed keys, and the window of the table one element further left a row.
// CHECK: vector.fma
// CHECK: arith.shli
// CHECK: vector.reduction <add>
// CHECK-NOT: attn.attention

// UNSCHEDULED-NOT: attn.plan
// UNSCHEDULED: attn.attention
func.func @layer(%q: tensor<2x64x64xf32> {attn.name = "q", attn.shape = [2, 64, 64]},
                 %k: tensor<2x64x64xf32> {attn.name = "k", attn.shape = [2, 64, 64]},
                 %v: tensor<2x64x64xf32> {attn.name = "v", attn.shape = [2, 64, 64]},
                 %table: tensor<127x64xf32> {attn.name = "table", attn.shape = [127, 64]})
    -> (tensor<2x64x64xf32> {attn.shape = [2, 64, 64]}) attributes {attn.kernel, attn.sizes = []} {
  %o = attn.attention "h i j" value "h j e -> h i e" (%v) score {
    attn.term "h i d, h j d" (%q, %k) scale 1.250000e-01 : tensor<2x64x64xf32>, tensor<2x64x64xf32>
    attn.term "h i d, (j - i + 63) d" (%q, %table) scale 1.250000e-01 : tensor<2x64x64xf32>, tensor<127x64xf32>
  } : tensor<2x64x64xf32> -> tensor<2x64x64xf32>
  return %o : tensor<2x64x64xf32>
}

// -----
// Arithmetic before the attention is computed while its operands are packed, so that it has no buffer; what stands behind
// reads the attention's. Half-precision operands are widened where they are read; the attention is rounded as it is stored.
// CHECK-LABEL: module attributes {attn.plan
// CHECK-SAME: stages = [<title = "attention", line = {{[0-9]+}}, bytes = <fixed = 0, scaled = 1024, factors = ["batch"]>>
// CHECK-SAME: <title = "elementwise", line = {{[0-9]+}}, bytes = <fixed = 256, scaled = 0, factors = []>>
// CHECK-SAME: <title = "einsum", line = {{[0-9]+}}, bytes = <fixed = 0, scaled = 0, factors = []>>]
// CHECK-SAME: phases = [<function = "module_attend", title = "attend", items = <fixed = 0, scaled = 1, factors = ["batch"]>>
// CHECK-SAME: <function = "module_move", title = "move"
// CHECK-SAME: <function = "module_einsum"
// CHECK: func.func @module_attend(
// CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: arith.addf %[[WIDE:[a-z0-9]+]], %[[WIDE]] : vector<8xf32>
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
// CHECK: func.func @module_move(
// CHECK: func.func @module_einsum(
// CHECK-NOT: attn.attention
func.func @module(%x: tensor<?x32x16xf16> {attn.name = "x", attn.shape = ["batch", 32, 16]},
                  %w: tensor<16x8xf16> {attn.name = "w", attn.shape = [16, 8]})
    -> (tensor<?x32x8xf16> {attn.shape = ["batch", 32, 8]}) attributes {attn.kernel, attn.sizes = ["batch"]} {
  %q = arith.addf %x, %x : tensor<?x32x16xf16>
  %o = attn.attention "b i j" value "b j d -> b i d" (%x) score {
    attn.term "b i d, b j d" (%q, %x) scale 2.500000e-01 : tensor<?x32x16xf16>, tensor<?x32x16xf16>
  } : tensor<?x32x16xf16> -> tensor<?x32x16xf16>
  %y = attn.einsum "b i d, d e -> b i e" (%o, %w) : (tensor<?x32x16xf16>, tensor<16x8xf16>) -> tensor<?x32x8xf16>
  return %y : tensor<?x32x8xf16>
}
