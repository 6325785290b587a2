// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 --attn-lower-to-cpu | FileCheck %s
// RUN: skewer-opt %s --attn-lower-to-cpu | FileCheck %s --check-prefix=UNSCHEDULED

// The plan: tables are packed in one phase, rows attended to in the next; nothing of 64x64 scores is in the workspace
// of a head but the row block's.
// CHECK: module attributes {attn.plan
// CHECK-NOT: func.func @layer(
// CHECK: func.func @layer_pack(%{{.*}}: memref<?xf32>, {{.*}}: memref<?xi8>, %{{.*}}: memref<?xi8>, %{{.*}}: index, %{{.*}}: index)
// CHECK: vector.transpose %{{.*}}, [1, 0] : vector<8x8xf32> to vector<8x8xf32>
// CHECK: func.func @layer_attend(
// The tile: products of broadcast queries and packed keys, and the window of the table one element further left a row.
// CHECK: vector.fma
// CHECK: math.roundeven
// CHECK: vector.reduction <add>
// CHECK-NOT: attn.attention

// UNSCHEDULED: attn.unfused = "it has no schedule"
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
