// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 | FileCheck %s --check-prefix=V3
// RUN: skewer-opt %s --attn-schedule=target=zen5 | FileCheck %s --check-prefix=ZEN5
// RUN: skewer-opt %s --attn-schedule=target=cascadelake | FileCheck %s --check-prefix=CASCADELAKE
// RUN: not skewer-opt %s --attn-schedule=target=abacus 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// V3: lanes = 8, tile_rows = {{[1-9]}}, tile_vectors = {{[1-4]}}, {{.*}}strategies = ["matmul", "band"]
// ZEN5: target = "zen5", lanes = 16, {{.*}}strategies = ["matmul", "band"]
// CASCADELAKE: target = "cascadelake", lanes = 16
// UNKNOWN: error: unknown target 'abacus'
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

// The same with enough positions: where additions have pipes of their own, table rows are added to the keys.
// V3: @long
// V3: strategies = ["matmul", "band"]
// ZEN5: @long
// ZEN5: tile_rows = 4, tile_vectors = 4, {{.*}}strategies = ["matmul", "strided_add"]
// CASCADELAKE: @long
// CASCADELAKE: strategies = ["matmul", "band"]
func.func @long(%q: tensor<2x1024x64xf32> {attn.name = "q", attn.shape = [2, 1024, 64]},
                %k: tensor<2x1024x64xf32> {attn.name = "k", attn.shape = [2, 1024, 64]},
                %v: tensor<2x1024x64xf32> {attn.name = "v", attn.shape = [2, 1024, 64]},
                %table: tensor<2047x64xf32> {attn.name = "table", attn.shape = [2047, 64]})
    -> (tensor<2x1024x64xf32> {attn.shape = [2, 1024, 64]}) attributes {attn.kernel, attn.sizes = []} {
  %o = attn.attention "h i j" value "h j e -> h i e" (%v) score {
    attn.term "h i d, h j d" (%q, %k) scale 1.250000e-01 : tensor<2x1024x64xf32>, tensor<2x1024x64xf32>
    attn.term "h i d, (j - i + 1023) d" (%q, %table) scale 1.250000e-01 : tensor<2x1024x64xf32>, tensor<2047x64xf32>
  } : tensor<2x1024x64xf32> -> tensor<2x1024x64xf32>
  return %o : tensor<2x1024x64xf32>
}
