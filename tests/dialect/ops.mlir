// Every operation parses, verifies, prints, and parses again to the same; the generic form too.
// RUN: skewer-opt %s | skewer-opt | FileCheck %s
// RUN: skewer-opt %s --mlir-print-op-generic | skewer-opt | FileCheck %s
// RUN: skewer-opt %s --emit-bytecode | skewer-opt | FileCheck %s

// CHECK-LABEL: func.func @einsum
func.func @einsum(%q: tensor<?x4x14x64xf32>, %k: tensor<?x4x14x64xf32>, %table: tensor<27x64xf32>,
                  %causal: tensor<14x64xf32>, %scale: tensor<f32>) {
  // CHECK: attn.einsum "b h i d, b h j d -> b h i j"(%{{.*}}, %{{.*}}) : (tensor<?x4x14x64xf32>, tensor<?x4x14x64xf32>) -> tensor<?x4x14x14xf32>
  %0 = attn.einsum "b h i d, b h j d -> b h i j" (%q, %k) : (tensor<?x4x14x64xf32>, tensor<?x4x14x64xf32>) -> tensor<?x4x14x14xf32>
  // CHECK: attn.einsum "b h i d, (j - i + 13) d -> b h i j" sizes {j = 14 : i64}(%{{.*}}, %{{.*}})
  %1 = attn.einsum "b h i d, (j - i + 13) d -> b h i j" sizes {j = 14 : i64} (%q, %table)
      : (tensor<?x4x14x64xf32>, tensor<27x64xf32>) -> tensor<?x4x14x14xf32>
  // The causal table has 14 rows, which is enough where the guard holds.
  // CHECK: attn.einsum "b h i d, (j - i + 13) d -> b h i j" where "j <= i" sizes {j = 14 : i64}(%{{.*}}, %{{.*}})
  %2 = attn.einsum "b h i d, (j - i + 13) d -> b h i j" where "j <= i" sizes {j = 14 : i64} (%q, %causal)
      : (tensor<?x4x14x64xf32>, tensor<14x64xf32>) -> tensor<?x4x14x14xf32>
  // CHECK: attn.einsum "bhid,bhjd->bhij"
  %3 = attn.einsum "bhid,bhjd->bhij" (%q, %k) : (tensor<?x4x14x64xf32>, tensor<?x4x14x64xf32>) -> tensor<?x4x14x14xf32>
  // CHECK: attn.einsum "i d, -> i d"
  %4 = attn.einsum "i d, -> i d" (%causal, %scale) : (tensor<14x64xf32>, tensor<f32>) -> tensor<14x64xf32>
  // CHECK: attn.einsum "r d -> d r 1"
  %5 = attn.einsum "r d -> d r 1" (%table) : (tensor<27x64xf32>) -> tensor<64x27x1xf32>
  return
}

// CHECK-LABEL: func.func @einsum_map
func.func @einsum_map(%q: tensor<?x4x6x64xf16>, %rows: tensor<3x64xf16>) {
  // CHECK: attn.einsum "b h (iy ix) d, (jy - iy + 1) d -> b h (iy ix) (jy jx)" sizes {ix = 3 : i64, iy = 2 : i64, jx = 3 : i64, jy = 2 : i64}
  %0 = attn.einsum "b h (iy ix) d, (jy - iy + 1) d -> b h (iy ix) (jy jx)"
      sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64} (%q, %rows)
      : (tensor<?x4x6x64xf16>, tensor<3x64xf16>) -> tensor<?x4x6x6xf16>
  return
}

// CHECK-LABEL: func.func @softmax
func.func @softmax(%score: tensor<?x4x6x6xf32>) {
  // CHECK: attn.softmax "b h i j" over "j"(%{{.*}}) : tensor<?x4x6x6xf32>
  %0 = attn.softmax "b h i j" over "j" (%score) : tensor<?x4x6x6xf32>
  // CHECK: attn.softmax "b h i j" over "j" where "j <= i"(%{{.*}}) : tensor<?x4x6x6xf32>
  %1 = attn.softmax "b h i j" over "j" where "j <= i" (%score) : tensor<?x4x6x6xf32>
  // CHECK: attn.softmax "b h (iy ix) (jy jx)" over "jy jx" where "jy <= iy" sizes {ix = 3 : i64, jx = 3 : i64}(%{{.*}})
  %2 = attn.softmax "b h (iy ix) (jy jx)" over "jy jx" where "jy <= iy" sizes {ix = 3 : i64, jx = 3 : i64} (%score) : tensor<?x4x6x6xf32>
  return
}

// CHECK-LABEL: func.func @position
func.func @position() {
  // CHECK: attn.position "i j" = "abs(i - j)" : tensor<14x14xf32>
  %0 = attn.position "i j" = "abs(i - j)" : tensor<14x14xf32>
  // CHECK: attn.position "(iy ix)" = "iy mod (ix + 1)" sizes {ix = 7 : i64} : tensor<14xf32>
  %1 = attn.position "(iy ix)" = "iy mod (ix + 1)" sizes {ix = 7 : i64} : tensor<14xf32>
  return
}

// CHECK-LABEL: func.func @index_maps
func.func @index_maps(%x: tensor<?x4x14x27xf32>, %y: tensor<15x27xf32>, %t: tensor<3x64xf32>) {
  // CHECK: attn.pad %{{.*}} low [0, 0, 0, 0] high [0, 0, 0, 1] : tensor<?x4x14x27xf32> to tensor<?x4x14x28xf32>
  %0 = attn.pad %x low [0, 0, 0, 0] high [0, 0, 0, 1] : tensor<?x4x14x27xf32> to tensor<?x4x14x28xf32>
  // CHECK: attn.pad %{{.*}} low [1, 0] high [0, 0] value 1.500000e+00 : tensor<15x27xf32> to tensor<16x27xf32>
  %1 = attn.pad %y low [1, 0] high [0, 0] value 1.5 : tensor<15x27xf32> to tensor<16x27xf32>
  // CHECK: attn.reshape %{{.*}} : tensor<?x4x14x28xf32> to tensor<?x4x392xf32>
  %2 = attn.reshape %0 : tensor<?x4x14x28xf32> to tensor<?x4x392xf32>
  // CHECK: attn.slice %{{.*}} offsets [0, 13] strides [1, 1] : tensor<15x27xf32> to tensor<14x14xf32>
  %3 = attn.slice %y offsets [0, 13] strides [1, 1] : tensor<15x27xf32> to tensor<14x14xf32>
  // CHECK: attn.skew %{{.*}} : tensor<?x4x14x27xf32> to tensor<?x4x14x14xf32>
  %4 = attn.skew %x : tensor<?x4x14x27xf32> to tensor<?x4x14x14xf32>
  // CHECK: attn.gather %{{.*}} dimension 0 indices dense<{{\[\[}}1, 2], [0, 1]]> : tensor<2x2xi64> : tensor<3x64xf32> to tensor<2x2x64xf32>
  %5 = attn.gather %t dimension 0 indices dense<[[1, 2], [0, 1]]> : tensor<2x2xi64> : tensor<3x64xf32> to tensor<2x2x64xf32>
  // CHECK: attn.rearrange "b h i j -> b h j (i k)" sizes {k = 2 : i64} %{{.*}} : tensor<?x4x14x14xf32> to tensor<?x4x14x28xf32>
  %6 = attn.rearrange "b h i j -> b h j (i k)" sizes {k = 2 : i64} %4 : tensor<?x4x14x14xf32> to tensor<?x4x14x28xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x4x14x64xf32>, %k: tensor<?x4x14x64xf32>, %v: tensor<?x4x14x32xf32>,
                     %table: tensor<27x64xf32>, %slope: tensor<4xf32>) -> tensor<?x4x14x32xf32> {
  // CHECK: attn.attention "b h i j" where "j <= i" value "b h j e -> b h i e"(%{{.*}}) score {
  // CHECK-NEXT: attn.term "b h i d, b h j d"(%{{.*}}, %{{.*}}) scale 1.250000e-01 : tensor<?x4x14x64xf32>, tensor<?x4x14x64xf32>
  // CHECK-NEXT: attn.term "b h i d, (j - i + 13) d"(%{{.*}}, %{{.*}}) scale 1.250000e-01 where "i - j <= 13" : tensor<?x4x14x64xf32>, tensor<27x64xf32>
  // CHECK-NEXT: attn.term "h"(%{{.*}}) times "abs(i - j)" scale -1.000000e+00 : tensor<4xf32>
  // CHECK-NEXT: attn.term ""() times "j - i" scale 2.000000e+00
  // CHECK-NEXT: } : tensor<?x4x14x32xf32> -> tensor<?x4x14x32xf32>
  // CHECK-SAME: schedule #attn.cpu_schedule<target = "x86-64-v4", lanes = 16, tile_rows = 6, tile_vectors = 4, row_block = 12, key_block = 64, rows_per_item = 12, strategies = ["matmul", "band", "difference_line", "difference_line"]>
  %0 = attn.attention "b h i j" where "j <= i" value "b h j e -> b h i e" (%v) score {
    attn.term "b h i d, b h j d" (%q, %k) scale 0.125 : tensor<?x4x14x64xf32>, tensor<?x4x14x64xf32>
    attn.term "b h i d, (j - i + 13) d" (%q, %table) scale 0.125 where "i - j <= 13" : tensor<?x4x14x64xf32>, tensor<27x64xf32>
    attn.term "h" (%slope) times "abs(i - j)" scale -1.0 : tensor<4xf32>
    attn.term "" () times "j - i" scale 2.0
  } : tensor<?x4x14x32xf32> -> tensor<?x4x14x32xf32>
    schedule #attn.cpu_schedule<target = "x86-64-v4", lanes = 16, tile_rows = 6, tile_vectors = 4, row_block = 12,
                                key_block = 64, rows_per_item = 12, strategies = ["matmul", "band", "difference_line", "difference_line"]>
  return %0 : tensor<?x4x14x32xf32>
}

// CHECK-LABEL: func.func @attention_on_a_gpu
func.func @attention_on_a_gpu(%q: tensor<14x64xf16>, %k: tensor<14x64xf16>) -> tensor<14x64xf16> {
  // CHECK: schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 32, stages = 3, keep_queries = true, strategies = ["matmul"]>
  %0 = attn.attention "i j" value "j e -> i e" (%k) score {
    attn.term "i d, j d" (%q, %k) scale 0.125 : tensor<14x64xf16>, tensor<14x64xf16>
  } : tensor<14x64xf16> -> tensor<14x64xf16>
    schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 32, stages = 3,
                                keep_queries = true, strategies = ["matmul"]>
  return %0 : tensor<14x64xf16>
}

// The parts of a schedule for GPUs that may be left out.
// CHECK-LABEL: func.func @wide_warps
func.func @wide_warps(%q: tensor<64x64xf16>, %k: tensor<64x64xf16>) -> tensor<64x64xf16> {
  // CHECK: schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 32, stages = 3, keep_queries = true, strategies = ["matmul"], columns = 32, warp_rows = 32, copies = "tma">
  %0 = attn.attention "i j" value "j e -> i e" (%k) score {
    attn.term "i d, j d" (%q, %k) scale 0.125 : tensor<64x64xf16>, tensor<64x64xf16>
  } : tensor<64x64xf16> -> tensor<64x64xf16>
    schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 32, stages = 3,
                                keep_queries = true, strategies = ["matmul"], copies = "tma", warp_rows = 32, columns = 32>
  return %0 : tensor<64x64xf16>
}

// A map: the query and the key dimension are products of axes, whose sizes are given.
// CHECK-LABEL: func.func @attention_map
func.func @attention_map(%q: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %rows: tensor<3x8xf32>) -> tensor<2x6x8xf32> {
  // CHECK: attn.attention "b (iy ix) (jy jx)" sizes {ix = 3 : i64, iy = 2 : i64, jx = 3 : i64, jy = 2 : i64} value "b (jy jx) e -> b (iy ix) e"
  %0 = attn.attention "b (iy ix) (jy jx)" sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64}
      value "b (jy jx) e -> b (iy ix) e" (%v) score {
    attn.term "b (iy ix) d, (jy - iy + 1) d" (%q, %rows) scale 1.0 : tensor<2x6x8xf32>, tensor<3x8xf32>
  } : tensor<2x6x8xf32> -> tensor<2x6x8xf32>
  return %0 : tensor<2x6x8xf32>
}

// Value terms: a window of offsets with a table a head, another tensor of values, a number for each pair.
// CHECK-LABEL: func.func @values
func.func @values(%q: tensor<?x4x14x64xf32>, %v: tensor<?x4x14x32xf32>, %near: tensor<4x9x32xf32>, %other: tensor<14x32xf32>)
    -> tensor<?x4x14x32xf32> {
  // CHECK: attn.attention "b h i j" value "b h j e -> b h i e"(%{{.*}}) score {
  // CHECK-NEXT: attn.term "b h i d, b h j d"
  // CHECK-NEXT: } values {
  // CHECK-NEXT: attn.term "h (j - i + 4) e"(%{{.*}}) scale 1.000000e+00 where "abs(j - i) <= 4" : tensor<4x9x32xf32>
  // CHECK-NEXT: attn.term "j e"(%{{.*}}) scale 5.000000e-01 : tensor<14x32xf32>
  // CHECK-NEXT: attn.term ""() times "j - i" scale 2.000000e+00
  // CHECK-NEXT: } : tensor<?x4x14x32xf32> -> tensor<?x4x14x32xf32>
  %0 = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
    attn.term "b h i d, b h j d" (%q, %q) scale 0.125 : tensor<?x4x14x64xf32>, tensor<?x4x14x64xf32>
  } values {
    attn.term "h (j - i + 4) e" (%near) scale 1.0 where "abs(j - i) <= 4" : tensor<4x9x32xf32>
    attn.term "j e" (%other) scale 0.5 : tensor<14x32xf32>
    attn.term "" () times "j - i" scale 2.0
  } : tensor<?x4x14x32xf32> -> tensor<?x4x14x32xf32>
  return %0 : tensor<?x4x14x32xf32>
}

// A class token in front of a map, and a subscript that reads a constant table.
// CHECK-LABEL: func.func @concat
func.func @concat(%token: tensor<?x1x8xf32>, %map: tensor<?x6x8xf32>, %table: tensor<5x7xf32>) -> tensor<?x7x8xf32> {
  // CHECK: attn.concat %{{.*}}, %{{.*}} dimension 1 : (tensor<?x1x8xf32>, tensor<?x6x8xf32>) -> tensor<?x7x8xf32>
  %0 = attn.concat %token, %map dimension 1 : (tensor<?x1x8xf32>, tensor<?x6x8xf32>) -> tensor<?x7x8xf32>
  // CHECK: attn.einsum "([0 x 3, 1..4, 4 x 2, 3 x 4][j - i + 6]) j -> i j"
  %1 = attn.einsum "([0 x 3, 1..4, 4 x 2, 3 x 4][j - i + 6]) j -> i j" sizes {i = 7 : i64} (%table)
      : (tensor<5x7xf32>) -> tensor<7x7xf32>
  return %0 : tensor<?x7x8xf32>
}

// CHECK-LABEL: func.func @extrema
func.func @extrema(%x: tensor<?x4x6xf32>, %y: tensor<?x12xbf16>) -> (tensor<?x6xf32>, tensor<?x3xf32>) {
  // CHECK: attn.extremum "b i j -> b j"(%{{.*}}) : tensor<?x4x6xf32> -> tensor<?x6xf32>
  %0 = attn.extremum "b i j -> b j" (%x) : tensor<?x4x6xf32> -> tensor<?x6xf32>
  // CHECK: attn.extremum least "b (y x) -> b y" sizes {x = 4 : i64}(%{{.*}}) : tensor<?x12xbf16> -> tensor<?x3xf32>
  %1 = attn.extremum least "b (y x) -> b y" sizes {x = 4 : i64} (%y) : tensor<?x12xbf16> -> tensor<?x3xf32>
  return %0, %1 : tensor<?x6xf32>, tensor<?x3xf32>
}

// An index operand that the function computes.
// CHECK-LABEL: func.func @computed_index
func.func @computed_index(%t: tensor<7x8xf32>, %a: tensor<4xi32>) -> tensor<4x8xf32> {
  %twice = arith.addi %a, %a : tensor<4xi32>
  // CHECK: %[[ROW:.*]] = attn.index "row" in [0, 6](%{{.*}}) : tensor<4xi32>
  %row = attn.index "row" in [0, 6] (%twice) : tensor<4xi32>
  // CHECK: attn.index "any"(%{{.*}}) : tensor<4xi32>
  %any = attn.index "any" (%a) : tensor<4xi32>
  // CHECK: indices(any = %{{.*}} : tensor<4xi32>, row = %[[ROW]] : tensor<4xi32>)
  %0 = attn.einsum "(row[i]) d -> i d" where "any[i] == 0" sizes {i = 4 : i64}
      indices(any = %any : tensor<4xi32>, row = %row : tensor<4xi32>) (%t) : (tensor<7x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
