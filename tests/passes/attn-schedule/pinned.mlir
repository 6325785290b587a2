// RUN: skewer-opt %s --attn-schedule="target=x86-64-v3 tile-rows=5 tile-vectors=1 row-block=10 key-block=24 rows-per-item=30" | FileCheck %s --check-prefix=ALL
// RUN: skewer-opt %s --attn-schedule="target=x86-64-v3 row-block=35" | FileCheck %s --check-prefix=ROWS
// RUN: skewer-opt %s --attn-schedule="target=x86-64-v3 key-block=16 strategies=2:strided_add" | FileCheck %s --check-prefix=STRIDED
// RUN: not skewer-opt %s --attn-schedule="target=x86-64-v3 row-block=7 tile-rows=6" 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// RUN: not skewer-opt %s --attn-schedule="target=x86-64-v3 row-block=4000" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not skewer-opt %s --attn-schedule="target=x86-64-v3 row-block=9223372036854775807" 2>&1 | FileCheck %s --check-prefix=IMMENSE
// RUN: not skewer-opt %s --attn-schedule="target=x86-64-v3 strategies=2:axis_logits" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not skewer-opt %s --attn-schedule=target=x86-64-v3 --attn-schedule="target=x86-64-v3 row-block=8" 2>&1 | FileCheck %s --check-prefix=TWICE
// Options pin parts of the schedule; the cost model chooses the others so that they fit.

// ALL: tile_rows = 5, tile_vectors = 1, row_block = 10, key_block = 24, rows_per_item = 30, strategies = ["matmul", "band"]
// ROWS: tile_rows = {{[57]}}, {{.*}}row_block = 35,
// STRIDED: tile_vectors = {{[12]}}, {{.*}}key_block = 16, {{.*}}strategies = ["matmul", "strided_add"]
// MULTIPLE: error: row_block is 7, expected a multiple of tile_rows, which is 6 (cpu_schedule_c5)
// LARGE: error: 'attn.attention' op row_block is 4000, expected at most {{[0-9]+}}: 45 queries, in whole tiles (attention_c11)
// IMMENSE: error: row_block is 9223372036854775807, expected a number below 2^31
// NONE: error: strategy 2 is 'axis_logits', but that term is computed by 'band' or 'strided_add' (cpu_schedule_c9)
// TWICE: error: has a schedule; parts that are asked for are not put into it
func.func @layer(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>, %t: tensor<89x20xf32>) -> tensor<45x12xf32> attributes {attn.kernel} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x20xf32>, tensor<89x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32>
  return %0 : tensor<45x12xf32>
}
