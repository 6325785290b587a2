// RUN: skewer-opt %s -split-input-file -verify-diagnostics
// Errors of schedules, alone and with their layer. Errors for a target are found where its code is made:
// tests/passes/attn-schedule/by-hand.mlir.

// cpu_schedule_c1: a target
// expected-error @below {{a schedule needs the name of its target (cpu_schedule_c1)}}
#s = #attn.cpu_schedule<target = "", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>

// -----

// cpu_schedule_c2: vectors that there are
// expected-error @below {{lanes is 0, expected 4, 8 or 16 (cpu_schedule_c2)}}
#s = #attn.cpu_schedule<target = "t", lanes = 0, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>

// -----

// cpu_schedule_c2: of no processor
// expected-error @below {{lanes is 9223372036854775807, expected 4, 8 or 16 (cpu_schedule_c2)}}
#s = #attn.cpu_schedule<target = "t", lanes = 9223372036854775807, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>

// -----

// cpu_schedule_c2: negative
// expected-error @below {{lanes is -8, expected 4, 8 or 16 (cpu_schedule_c2)}}
#s = #attn.cpu_schedule<target = "t", lanes = -8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>

// -----

// cpu_schedule_c3: strategies have names
// expected-error @below {{there is no strategy ''; known: matmul, key_dots, band, strided_add, axis_logits, offset_lines, axis_lines, gathered_rows, key_diagonals, key_lines, gathered_keys, difference_line, key_line, query_numbers, score_table, row_load, live_tiles, axis_numbers, gathered_scalars, added_to_values, diagonals, axis_sums, read_for_each_pair, live_products, gathered_products, element (cpu_schedule_c3)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = [""]>

// -----

// cpu_schedule_c3: that are known
// expected-error @below {{there is no strategy 'nonsense'; known: matmul, key_dots, band, strided_add, axis_logits, offset_lines, axis_lines, gathered_rows, key_diagonals, key_lines, gathered_keys, difference_line, key_line, query_numbers, score_table, row_load, live_tiles, axis_numbers, gathered_scalars, added_to_values, diagonals, axis_sums, read_for_each_pair, live_products, gathered_products, element (cpu_schedule_c3)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul", "nonsense"]>

// -----

// cpu_schedule_c4: a tile is straight-line code
// expected-error @below {{tile_rows is 17, expected a number from 1 to 16 (cpu_schedule_c4)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 17, tile_vectors = 2, row_block = 17, key_block = 32, rows_per_item = 17, strategies = ["matmul"]>

// -----

// cpu_schedule_c4: of something
// expected-error @below {{tile_vectors is 0, expected a number from 1 to 8 (cpu_schedule_c4)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 0, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>

// -----

// cpu_schedule_c5: whole tiles in a block of rows
// expected-error @below {{row_block is 7, expected a multiple of tile_rows, which is 6 (cpu_schedule_c5)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 6, tile_vectors = 2, row_block = 7, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>

// -----

// cpu_schedule_c5: of keys
// expected-error @below {{key_block is 40, expected a multiple of tile_vectors × lanes, which is 16 (cpu_schedule_c5)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 40, rows_per_item = 16, strategies = ["matmul"]>

// -----

// cpu_schedule_c5: whole blocks in an item
// expected-error @below {{rows_per_item is 12, expected a multiple of row_block, which is 8 (cpu_schedule_c5)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 12, strategies = ["matmul"]>

// -----

// cpu_schedule_c5: whole blocks of keys in a part
// expected-error @below {{keys_per_item is 40, expected a multiple of key_block, which is 32 (cpu_schedule_c5)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"], keys_per_item = 40>

// -----

// cpu_schedule_c5: a part is no less than nothing
// expected-error @below {{keys_per_item is -32, expected a multiple of key_block, which is 32 (cpu_schedule_c5)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 16, strategies = ["matmul"], keys_per_item = -32>

// -----

// attention_c15: a part is less than the whole
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>) -> tensor<45x12xf32> {
  // expected-error @below {{keys_per_item is 48, expected less than 45, all keys, or no such part (attention_c15)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 1.0 : tensor<45x20xf32>, tensor<45x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 48, key_block = 16, rows_per_item = 48, strategies = ["matmul"], keys_per_item = 48>
  return %0 : tensor<45x12xf32>
}

// -----

// attention_c15: items have all queries, or all keys
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>) -> tensor<45x12xf32> {
  // expected-error @below {{keys_per_item is 16, but items have parts of the keys only where one block has all 45 queries; row_block is 8 (attention_c15)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 1.0 : tensor<45x20xf32>, tensor<45x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 16, rows_per_item = 48, strategies = ["matmul"], keys_per_item = 16>
  return %0 : tensor<45x12xf32>
}

// -----

// cpu_schedule_c5: and at least one
// expected-error @below {{row_block is 0, expected a multiple of tile_rows, which is 4 (cpu_schedule_c5)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 0, key_block = 32, rows_per_item = 16, strategies = ["matmul"]>

// -----

// cpu_schedule_c6: scores that can be held
// expected-error @below {{a block of 8192 rows and 16384 keys has more than 2^26 scores (cpu_schedule_c6)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8192, key_block = 16384, rows_per_item = 8192, strategies = ["matmul"]>

// -----

// cpu_schedule_c6: nor beyond 64 bits
// expected-error @below {{a block of 4611686018427387904 rows and 4611686018427387904 keys has more than 2^26 scores (cpu_schedule_c6)}}
#s = #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 4611686018427387904, key_block = 4611686018427387904, rows_per_item = 4611686018427387904, strategies = ["matmul"]>

// -----

// attention_c11: a block has no more rows than the score
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>) -> tensor<45x12xf32> {
  // expected-error @below {{row_block is 52, expected at most 48: 45 queries, in whole tiles (attention_c11)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 1.0 : tensor<45x20xf32>, tensor<45x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 52, key_block = 32, rows_per_item = 52, strategies = ["matmul"]>
  return %0 : tensor<45x12xf32>
}

// -----

// attention_c11: nor more keys
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>) -> tensor<45x12xf32> {
  // expected-error @below {{key_block is 64, expected at most 48: 45 keys, in whole tiles (attention_c11)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 1.0 : tensor<45x20xf32>, tensor<45x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 64, rows_per_item = 16, strategies = ["matmul"]>
  return %0 : tensor<45x12xf32>
}

// -----

// attention_c11: an item has no more rows than the score
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>) -> tensor<45x12xf32> {
  // expected-error @below {{rows_per_item is 56, expected at most 48: 45 queries, in whole blocks (attention_c11)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 1.0 : tensor<45x20xf32>, tensor<45x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 8, key_block = 32, rows_per_item = 56, strategies = ["matmul"]>
  return %0 : tensor<45x12xf32>
}

// -----

// attention_c11: a phase is an eighth of the queries
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>) -> tensor<45x12xf32> {
  // expected-error @below {{row_block is 16, expected at most 8: 45 queries in 8 phases, in whole tiles (attention_c11)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 1.0 : tensor<45x20xf32>, tensor<45x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 16, key_block = 32, rows_per_item = 16, strategies = ["strided_add"]>
  return %0 : tensor<45x12xf32>
}

// -----

// attention_c11: and an item is a phase
func.func @f(%q: tensor<45x20xf32>, %v: tensor<45x12xf32>) -> tensor<45x12xf32> {
  // expected-error @below {{rows_per_item is 4, expected 8: with 'strided_add' an item is one of the phases (attention_c11)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 1.0 : tensor<45x20xf32>, tensor<45x20xf32>
  } : tensor<45x12xf32> -> tensor<45x12xf32> schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 4, key_block = 32, rows_per_item = 4, strategies = ["strided_add"]>
  return %0 : tensor<45x12xf32>
}

// -----

// schedule is an attribute of a kind that says how to run an attention
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
    // expected-error @below {{custom op 'attn.attention' invalid kind of attribute specified}}
    schedule "by rows"
  return
}
