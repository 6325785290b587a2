// RUN: skewer-opt %s --attn-schedule=target=zen4 -split-input-file -verify-diagnostics | FileCheck %s
// RUN: skewer-opt %s --attn-lower-to-cpu=target=zen4 -split-input-file -verify-diagnostics > /dev/null
// A layer of run-time length that is by one schedule up to some length, and by another from there on: written by hand it
// is obeyed, or refused (cpu_schedule_c11).

#long = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 4, row_block = 4, key_block = 64, rows_per_item = 4, strategies = ["matmul", "strided_add"]>
#short = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "band"]>
// CHECK-LABEL: func.func @obeyed
// CHECK: attn.short_length = 20 : i64, attn.short_schedule = #attn.cpu_schedule<{{.*}}"band"]>{{.*}} schedule #attn.cpu_schedule<{{.*}}"strided_add"]>
func.func @obeyed(%q: tensor<64x16xf32> {attn.name = "q", attn.shape = ["N", 16]}, %v: tensor<64x16xf32> {attn.name = "v", attn.shape = ["N", 16]}, %t: tensor<127x16xf32> {attn.name = "t", attn.shape = ["2*N - 1", 16]}, %n: tensor<1xi32> {attn.length, attn.name = "N", attn.range = array<i64: 1, 64>, attn.shape = [1]}) -> (tensor<64x16xf32> {attn.shape = ["N", 16]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = ["N"]} {
  %0 = attn.attention "i j" where "i < N[0] and j < N[0]" indices(N = %n : tensor<1xi32>) value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %v) scale 0.25 : tensor<64x16xf32>, tensor<64x16xf32>
    attn.term "i d, (j - i + N[0] - 1) d" indices(N = %n : tensor<1xi32>)(%q, %t) scale 0.25 : tensor<64x16xf32>, tensor<127x16xf32>
  } {attn.axis_extents = {i = "N", j = "N"}, attn.extents = ["N", 0], attn.short_length = 20, attn.short_schedule = #short} : tensor<64x16xf32> -> tensor<64x16xf32> schedule #long
  return %0 : tensor<64x16xf32>
}

// -----
// cpu_schedule_c11: one without the other
#long = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 4, row_block = 4, key_block = 64, rows_per_item = 4, strategies = ["matmul", "strided_add"]>
#short = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "band"]>
func.func @f(%q: tensor<64x16xf32> {attn.name = "q", attn.shape = ["N", 16]}, %v: tensor<64x16xf32> {attn.name = "v", attn.shape = ["N", 16]}, %t: tensor<127x16xf32> {attn.name = "t", attn.shape = ["2*N - 1", 16]}, %n: tensor<1xi32> {attn.length, attn.name = "N", attn.range = array<i64: 1, 64>, attn.shape = [1]}) -> (tensor<64x16xf32> {attn.shape = ["N", 16]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = ["N"]} {
  // expected-error @below {{'attn.short_schedule', a schedule for processors, and 'attn.short_length', a number, go together (cpu_schedule_c11)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<{{.*}}>}}
  %0 = attn.attention "i j" where "i < N[0] and j < N[0]" indices(N = %n : tensor<1xi32>) value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %v) scale 0.25 : tensor<64x16xf32>, tensor<64x16xf32>
    attn.term "i d, (j - i + N[0] - 1) d" indices(N = %n : tensor<1xi32>)(%q, %t) scale 0.25 : tensor<64x16xf32>, tensor<127x16xf32>
  } {attn.axis_extents = {i = "N", j = "N"}, attn.extents = ["N", 0], attn.short_length = 20} : tensor<64x16xf32> -> tensor<64x16xf32> schedule #long
  return %0 : tensor<64x16xf32>
}

// -----
// cpu_schedule_c11: none shorter
#long = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 4, row_block = 4, key_block = 64, rows_per_item = 4, strategies = ["matmul", "strided_add"]>
#short = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "band"]>
func.func @f(%q: tensor<64x16xf32> {attn.name = "q", attn.shape = ["N", 16]}, %v: tensor<64x16xf32> {attn.name = "v", attn.shape = ["N", 16]}, %t: tensor<127x16xf32> {attn.name = "t", attn.shape = ["2*N - 1", 16]}, %n: tensor<1xi32> {attn.length, attn.name = "N", attn.range = array<i64: 1, 64>, attn.shape = [1]}) -> (tensor<64x16xf32> {attn.shape = ["N", 16]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = ["N"]} {
  // expected-error @below {{'attn.short_length' is 64, expected 1 to 63 (cpu_schedule_c11)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<{{.*}}>}}
  %0 = attn.attention "i j" where "i < N[0] and j < N[0]" indices(N = %n : tensor<1xi32>) value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %v) scale 0.25 : tensor<64x16xf32>, tensor<64x16xf32>
    attn.term "i d, (j - i + N[0] - 1) d" indices(N = %n : tensor<1xi32>)(%q, %t) scale 0.25 : tensor<64x16xf32>, tensor<127x16xf32>
  } {attn.axis_extents = {i = "N", j = "N"}, attn.extents = ["N", 0], attn.short_length = 64, attn.short_schedule = #short} : tensor<64x16xf32> -> tensor<64x16xf32> schedule #long
  return %0 : tensor<64x16xf32>
}

// -----
// cpu_schedule_c11: a number
#long = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 4, row_block = 4, key_block = 64, rows_per_item = 4, strategies = ["matmul", "strided_add"]>
#short = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "band"]>
func.func @f(%q: tensor<64x16xf32> {attn.name = "q", attn.shape = ["N", 16]}, %v: tensor<64x16xf32> {attn.name = "v", attn.shape = ["N", 16]}, %t: tensor<127x16xf32> {attn.name = "t", attn.shape = ["2*N - 1", 16]}, %n: tensor<1xi32> {attn.length, attn.name = "N", attn.range = array<i64: 1, 64>, attn.shape = [1]}) -> (tensor<64x16xf32> {attn.shape = ["N", 16]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = ["N"]} {
  // expected-error @below {{'attn.short_schedule', a schedule for processors, and 'attn.short_length', a number, go together (cpu_schedule_c11)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<{{.*}}>}}
  %0 = attn.attention "i j" where "i < N[0] and j < N[0]" indices(N = %n : tensor<1xi32>) value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %v) scale 0.25 : tensor<64x16xf32>, tensor<64x16xf32>
    attn.term "i d, (j - i + N[0] - 1) d" indices(N = %n : tensor<1xi32>)(%q, %t) scale 0.25 : tensor<64x16xf32>, tensor<127x16xf32>
  } {attn.axis_extents = {i = "N", j = "N"}, attn.extents = ["N", 0], attn.short_length = "20", attn.short_schedule = #short} : tensor<64x16xf32> -> tensor<64x16xf32> schedule #long
  return %0 : tensor<64x16xf32>
}

// -----
// cpu_schedule_c11: a strategy for each term
#long = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 4, row_block = 4, key_block = 64, rows_per_item = 4, strategies = ["matmul", "strided_add"]>
#short = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>
func.func @f(%q: tensor<64x16xf32> {attn.name = "q", attn.shape = ["N", 16]}, %v: tensor<64x16xf32> {attn.name = "v", attn.shape = ["N", 16]}, %t: tensor<127x16xf32> {attn.name = "t", attn.shape = ["2*N - 1", 16]}, %n: tensor<1xi32> {attn.length, attn.name = "N", attn.range = array<i64: 1, 64>, attn.shape = [1]}) -> (tensor<64x16xf32> {attn.shape = ["N", 16]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = ["N"]} {
  // expected-error @below {{'attn.short_schedule' has 1 strategies for 2 terms (attention_c8)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<{{.*}}>}}
  %0 = attn.attention "i j" where "i < N[0] and j < N[0]" indices(N = %n : tensor<1xi32>) value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %v) scale 0.25 : tensor<64x16xf32>, tensor<64x16xf32>
    attn.term "i d, (j - i + N[0] - 1) d" indices(N = %n : tensor<1xi32>)(%q, %t) scale 0.25 : tensor<64x16xf32>, tensor<127x16xf32>
  } {attn.axis_extents = {i = "N", j = "N"}, attn.extents = ["N", 0], attn.short_length = 20, attn.short_schedule = #short} : tensor<64x16xf32> -> tensor<64x16xf32> schedule #long
  return %0 : tensor<64x16xf32>
}

// -----
// cpu_schedule_c11: strategies that fit
#long = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 4, row_block = 4, key_block = 64, rows_per_item = 4, strategies = ["matmul", "strided_add"]>
#short = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["band", "band"]>
func.func @f(%q: tensor<64x16xf32> {attn.name = "q", attn.shape = ["N", 16]}, %v: tensor<64x16xf32> {attn.name = "v", attn.shape = ["N", 16]}, %t: tensor<127x16xf32> {attn.name = "t", attn.shape = ["2*N - 1", 16]}, %n: tensor<1xi32> {attn.length, attn.name = "N", attn.range = array<i64: 1, 64>, attn.shape = [1]}) -> (tensor<64x16xf32> {attn.shape = ["N", 16]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = ["N"]} {
  // expected-error @below {{strategy 1 is 'band', but that term is computed by 'matmul' (cpu_schedule_c9)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<{{.*}}>}}
  %0 = attn.attention "i j" where "i < N[0] and j < N[0]" indices(N = %n : tensor<1xi32>) value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %v) scale 0.25 : tensor<64x16xf32>, tensor<64x16xf32>
    attn.term "i d, (j - i + N[0] - 1) d" indices(N = %n : tensor<1xi32>)(%q, %t) scale 0.25 : tensor<64x16xf32>, tensor<127x16xf32>
  } {attn.axis_extents = {i = "N", j = "N"}, attn.extents = ["N", 0], attn.short_length = 20, attn.short_schedule = #short} : tensor<64x16xf32> -> tensor<64x16xf32> schedule #long
  return %0 : tensor<64x16xf32>
}

// -----
// cpu_schedule_c11: blocks that there are
#long = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 4, row_block = 4, key_block = 64, rows_per_item = 4, strategies = ["matmul", "strided_add"]>
#short = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 128, key_block = 32, rows_per_item = 128, strategies = ["matmul", "band"]>
func.func @f(%q: tensor<64x16xf32> {attn.name = "q", attn.shape = ["N", 16]}, %v: tensor<64x16xf32> {attn.name = "v", attn.shape = ["N", 16]}, %t: tensor<127x16xf32> {attn.name = "t", attn.shape = ["2*N - 1", 16]}, %n: tensor<1xi32> {attn.length, attn.name = "N", attn.range = array<i64: 1, 64>, attn.shape = [1]}) -> (tensor<64x16xf32> {attn.shape = ["N", 16]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = ["N"]} {
  // expected-error @below {{'attn.attention' op row_block is 128, expected at most 64: 64 queries, in whole tiles (attention_c11)}}
  %0 = attn.attention "i j" where "i < N[0] and j < N[0]" indices(N = %n : tensor<1xi32>) value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %v) scale 0.25 : tensor<64x16xf32>, tensor<64x16xf32>
    attn.term "i d, (j - i + N[0] - 1) d" indices(N = %n : tensor<1xi32>)(%q, %t) scale 0.25 : tensor<64x16xf32>, tensor<127x16xf32>
  } {attn.axis_extents = {i = "N", j = "N"}, attn.extents = ["N", 0], attn.short_length = 20, attn.short_schedule = #short} : tensor<64x16xf32> -> tensor<64x16xf32> schedule #long
  return %0 : tensor<64x16xf32>
}

// -----
// cpu_schedule_c11: a layer whose length is known
#own = #attn.cpu_schedule<target = "zen4", lanes = 16, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>) -> tensor<45x12xf32> attributes {attn.kernel} {
  // expected-error @below {{has 'attn.short_schedule', but the number of its queries is known (cpu_schedule_c11)}}
  // expected-note-re @below {{the cost model would choose #attn.cpu_schedule<{{.*}}>}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf32>, tensor<45x20xf32>
  } {attn.short_length = 20, attn.short_schedule = #own} : tensor<45x12xf32> -> tensor<45x12xf32> schedule #own
  return %0 : tensor<45x12xf32>
}
