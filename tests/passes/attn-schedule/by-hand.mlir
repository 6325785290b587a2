// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 -split-input-file -verify-diagnostics | FileCheck %s
// RUN: skewer-opt %s --attn-lower-to-cpu=target=x86-64-v3 -split-input-file -verify-diagnostics
// A schedule that is written by hand is obeyed, or refused with what would fit, by its first reader.

// CHECK-LABEL: func.func @obeyed
// CHECK: schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = {{\[}}"matmul", "band"]>
func.func @obeyed(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>, %t: tensor<89x20xf32>) -> tensor<45x12xf32> attributes {attn.kernel} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x20xf32>, tensor<89x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "band"]>
  return %0 : tensor<45x12xf32>
}

// -----
// Narrower vectors than the target has, and the other strategy for an offset.
// CHECK-LABEL: func.func @narrow
// CHECK: schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 4, tile_rows = 3, tile_vectors = 1, row_block = 6, key_block = 16, rows_per_item = 12, strategies = {{\[}}"matmul", "strided_add"]>
func.func @narrow(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>, %t: tensor<89x20xf32>) -> tensor<45x12xf32> attributes {attn.kernel} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x20xf32>, tensor<89x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 4, tile_rows = 3, tile_vectors = 1, row_block = 6, key_block = 16, rows_per_item = 12, strategies = ["matmul", "strided_add"]>
  return %0 : tensor<45x12xf32>
}

// -----
// cpu_schedule_c7: another target
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>, %t: tensor<89x20xf32>) -> tensor<45x12xf32> attributes {attn.kernel} {
  // expected-error @below {{schedule is for target 'zen5', but code is made for 'x86-64-v3' (cpu_schedule_c7)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, {{.*}}strategies = ["matmul", "band"]>}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x20xf32>, tensor<89x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "zen5", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "band"]>
  return %0 : tensor<45x12xf32>
}

// -----
// cpu_schedule_c8: wider vectors
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>, %t: tensor<89x20xf32>) -> tensor<45x12xf32> attributes {attn.kernel} {
  // expected-error @below {{schedule has vectors of 16 lanes; those of 'x86-64-v3' have 8 (cpu_schedule_c8)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, {{.*}}strategies = ["matmul", "band"]>}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x20xf32>, tensor<89x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "band"]>
  return %0 : tensor<45x12xf32>
}

// -----
// cpu_schedule_c9: a strategy of another class
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>, %t: tensor<89x20xf32>) -> tensor<45x12xf32> attributes {attn.kernel} {
  // expected-error @below {{strategy 1 is 'band', but that term is computed by 'matmul' (cpu_schedule_c9)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, {{.*}}strategies = ["matmul", "band"]>}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x20xf32>, tensor<89x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["band", "band"]>
  return %0 : tensor<45x12xf32>
}

// -----
// cpu_schedule_c9: where there is a choice
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>, %t: tensor<89x20xf32>) -> tensor<45x12xf32> attributes {attn.kernel} {
  // expected-error @below {{strategy 2 is 'axis_logits', but that term is computed by 'band' or 'strided_add' (cpu_schedule_c9)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, {{.*}}strategies = ["matmul", "band"]>}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x20xf32>, tensor<89x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "axis_logits"]>
  return %0 : tensor<45x12xf32>
}

// -----
// cpu_schedule_c10: what goes by rows has no use for one
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x3x4xf32>) -> tensor<45x3x4xf32> attributes {attn.kernel} {
  // expected-error-re @below {{has a schedule, but goes by rows of scores: {{.+}} (cpu_schedule_c10)}}
  %0 = attn.attention "i j" value "j e f -> i e f" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
  } : tensor<45x3x4xf32> -> tensor<45x3x4xf32> schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>
  return %0 : tensor<45x3x4xf32>
}
