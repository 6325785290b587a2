// The verifiers of attention, its terms and its schedules refuse these: one case for each constraint of dialect/SPEC.md.
// RUN: skewer-opt %s --verify-diagnostics --split-input-file

// attention_c1: the space parses
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error-re @below {{space "i (j" does not parse at byte {{[0-9]+}}: {{.+}} (attention_c1)}}
  %0 = attn.attention "i (j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c1: a query and a key dimension
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{space "j" has 1 dimensions, expected a query and a key dimension at its end (attention_c1)}}
  %0 = attn.attention "j" value "j e -> e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

// attention_c1: each has an axis
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{space "1 j" has a query or a key dimension without an axis (attention_c1)}}
  %0 = attn.attention "1 j" value "j e -> 1 e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}

// -----

// attention_c1: each axis once
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{space names the axis 'i' twice (attention_c1)}}
  %0 = attn.attention "i i" value "i e -> i e" (%v) score { attn.term "" () times "i" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c2: sizes agree
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{axis 'e' has size 8 elsewhere, but 7 here (attention_c2)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x7xf32>
  return
}

// -----

// attention_c2: every axis has a size
func.func @f(%v: tensor<6x8xf32>) {
  // expected-error-re @below {{axis 'jy' has no size{{.+}} (attention_c2)}}
  %0 = attn.attention "i (jy jx)" value "(jy jx) e -> i e" (%v) score { attn.term "" () times "jy" scale 1.0 } : tensor<6x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c2: keys are of compile-time size
func.func @f(%v: tensor<?x8xf32>) {
  // expected-error @below {{axis 'j' has run-time size; query and key axes need a compile-time size (attention_c2)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<?x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c2: as many as an i32 counts
func.func @f(%v: tensor<4294967296x8xf32>) {
  // expected-error @below {{has more than 2^31 - 1 queries or keys (attention_c2)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4294967296x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c3: the values' spec
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{value_spec "j e" is not of the form "values -> result" (attention_c3)}}
  %0 = attn.attention "i j" value "j e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c3: the values' rank
func.func @f(%v: tensor<2x4x8xf32>) {
  // expected-error @below {{values have 3 dimensions, but value_spec gives them 2 (attention_c3)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<2x4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c4: the result's rank
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{result has 3 dimensions, but value_spec gives it 2 (attention_c4)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<1x4x8xf32>
  return
}

// -----

// attention_c5: the values are read by the keys
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{values are not read by the key axis 'j' (attention_c5)}}
  %0 = attn.attention "i j" sizes {j = 4 : i64} value "k e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c5: keys are summed over
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{value_spec keeps the key axis 'j', which is summed over (attention_c5)}}
  %0 = attn.attention "i j" value "j e -> i j e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x4x8xf32>
  return
}

// -----

// attention_c5: no values of a query's own
func.func @f(%v: tensor<4x4x8xf32>) {
  // expected-error @below {{values are read by the query axis 'i' (attention_c5)}}
  %0 = attn.attention "i j" value "i j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c5: the result has all queries
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{result lacks the query axis 'i' (attention_c5)}}
  %0 = attn.attention "i j" sizes {i = 4 : i64} value "j e -> e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

// attention_c5: the result has all leading axes
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{result lacks the leading axis 'h' (attention_c5)}}
  %0 = attn.attention "h i j" sizes {h = 2 : i64} value "j e -> i e" (%v) score { attn.term "" () times "h" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c5: nothing but keys is summed over
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{value_spec sums over 'e', which is no key axis (attention_c5)}}
  %0 = attn.attention "i j" value "j e -> i" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// attention_c6: values are read inside
func.func @f(%v: tensor<2x4x8xf32>) {
  // expected-error @below {{operand #0 is read outside dimension 0: h floordiv 2 reads 2 at h = 4, but the dimension has indices 0..1 (attention_c6)}}
  // expected-note @below {{h floordiv 2 runs from 0 to 2;}}
  %0 = attn.attention "h i j" value "(h floordiv 2) j e -> h i e" (%v) score { attn.term "" () times "h" scale 1.0 } : tensor<2x4x8xf32> -> tensor<5x4x8xf32>
  return
}

// -----

// attention_c7: terms only
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{score holds 'arith.constant', expected terms only (attention_c7)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { %c = arith.constant 1.0 : f32 } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c8: a strategy for each term
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{schedule has 2 strategies for 1 terms (attention_c8)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
    schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 4, key_block = 16, rows_per_item = 4, strategies = ["band", "matmul"]>
  return
}

// -----

// attention_c8: terms of the values have one too
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{schedule has 1 strategies for 2 terms (attention_c8)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } values { attn.term "j e" (%v) scale 1.0 : tensor<4x8xf32> } : tensor<4x8xf32> -> tensor<4x8xf32>
    schedule #attn.cpu_schedule<target = "t", lanes = 8, tile_rows = 4, tile_vectors = 2, row_block = 4, key_block = 16, rows_per_item = 4, strategies = ["matmul"]>
  return
}

// -----

// attention_c9: terms only
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{values hold 'arith.constant', expected terms only (attention_c9)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } values { %c = arith.constant 1.0 : f32 } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attn_c3: a mask is a predicate of the space's axes
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{mask names 'e', which is no axis here; the axes are 'i' and 'j' (attn_c3)}}
  %0 = attn.attention "i j" where "e <= i" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c1: subscripts parse
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error-re @below {{'attn.term' op subscripts "j (d" does not parse at byte {{[0-9]+}}: {{.+}} (term_c1)}}
    attn.term "j (d" (%v) scale 1.0 : tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c1: no result
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{subscripts "j d -> j" have an '->'; a term's result is always the score (term_c1)}}
    attn.term "j d -> j" (%v) scale 1.0 : tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c1: no result among the values either
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } values {
    // expected-error @below {{subscripts "j e -> e" have an '->'; a term's result is always the values' (term_c1)}}
    attn.term "j e -> e" (%v) scale 1.0 : tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c1: terms stand in an attention
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{'attn.term' op expects parent op 'attn.attention'}}
  attn.term "j d" (%v) scale 1.0 : tensor<4x8xf32>
  return
}

// -----

// term_c2: operands and ranks
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{operand #0 has 2 dimensions, but is subscripted 'j', which has 1 (term_c2)}}
    attn.term "j" (%v) scale 1.0 : tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c3: sizes are those of the score
func.func @f(%v: tensor<4x8xf32>, %k: tensor<5x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{axis 'j' has size 4 elsewhere, but 5 here (term_c3)}}
    attn.term "j d" (%k) scale 1.0 : tensor<5x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c3: among the values, sizes are those of the values
func.func @f(%v: tensor<4x8xf32>, %near: tensor<7x6xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } values {
    // expected-error @below {{axis 'e' has size 8 elsewhere, but 6 here (term_c3)}}
    attn.term "(j - i + 3) e" (%near) scale 1.0 : tensor<7x6xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c3: `sizes` are of contracted axes
func.func @f(%v: tensor<4x8xf32>, %k: tensor<5x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{gives the axis 'j' a size, which the attention says (term_c3)}}
    attn.term "(j + 1) d" sizes {j = 4 : i64} (%k) scale 1.0 : tensor<5x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c3: … which have one each
func.func @f(%v: tensor<4x8xf32>, %k: tensor<5x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{axis 'd' has no size; no operand has it alone, so give it: d = … (term_c3)}}
    attn.term "(j + 1) (d + 2)" (%k) scale 1.0 : tensor<5x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attn_c2: of a term too
func.func @f(%v: tensor<4x8xf32>, %k: tensor<5x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{size of axis 'd' is 0 : i64; expected a positive 64-bit integer (attn_c2)}}
    attn.term "(j + 1) (d + 2)" sizes {d = 0 : i64} (%k) scale 1.0 : tensor<5x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c4: `sizes` say how far is read
func.func @f(%v: tensor<4x8xf32>, %k: tensor<5x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{operand #0 is read outside dimension 1: d + 2 reads 8 at d = 6, but the dimension has indices 0..7 (term_c4)}}
    // expected-note @below {{d + 2 runs from 2 to 8; correct the index, clamp it, or leave the point out with 'where'}}
    attn.term "(j + 1) (d + 2)" sizes {d = 7 : i64} (%k) scale 1.0 : tensor<5x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c4: among the values, subscripts stay inside where the guard holds
func.func @f(%v: tensor<4x8xf32>, %near: tensor<5x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } values {
    // expected-error @below {{operand #0 is read outside dimension 0: j - i + 2 reads -1 at i = 3, j = 0, but the dimension has indices 0..4 (term_c4)}}
    // expected-note @below {{j - i + 2 runs from -1 to 2; the guard leaves this point in; narrow it, correct the index, or clamp it}}
    attn.term "(j - i + 2) e" (%near) scale 1.0 where "j <= i" : tensor<5x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c3: an axis is of run-time size in the score and its terms, or in none
func.func @f(%v: tensor<?x4x8xf32>, %k: tensor<3x4x8xf32>) {
  %0 = attn.attention "b i j" value "b j e -> b i e" (%v) score {
    // expected-error @below {{axis 'b' has compile-time size here, but not in the score (term_c3)}}
    attn.term "b j d" (%k) scale 1.0 : tensor<3x4x8xf32>
  } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----

// term_c3: contracted axes are of compile-time size
func.func @f(%v: tensor<4x8xf32>, %k: tensor<?x4xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{contracts the axis 'd' of run-time size (term_c3)}}
    attn.term "d j" (%k) scale 1.0 : tensor<?x4xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c4: subscripts stay inside
func.func @f(%v: tensor<8x8xf32>, %q: tensor<8x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{operand #1 is read outside dimension 0: j - i + 7 reads}}
    // expected-note @below {{j - i + 7 runs from 0 to 14}}
    attn.term "i d, (j - i + 7) d" (%q, %q) scale 1.0 : tensor<8x8xf32>, tensor<8x8xf32>
  } : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

// term_c4: the mask counts
func.func @f(%v: tensor<8x8xf32>, %q: tensor<8x8xf32>) {
  %0 = attn.attention "i j" where "j <= i" value "j e -> i e" (%v) score {
    attn.term "i d, (j - i + 7) d" (%q, %q) scale 1.0 : tensor<8x8xf32>, tensor<8x8xf32>
  } : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

// term_c4: mask and guard count together
func.func @f(%v: tensor<8x8xf32>, %q: tensor<8x8xf32>, %table: tensor<4x8xf32>) {
  %0 = attn.attention "i j" where "j <= i" value "j e -> i e" (%v) score {
    attn.term "i d, (j - i + 3) d" (%q, %table) scale 1.0 where "i - j <= 3" : tensor<8x8xf32>, tensor<4x8xf32>
    // expected-error @below {{operand #1 is read outside dimension 0: j - i + 3 reads -1}}
    // expected-note @below {{the guard leaves this point in}}
    attn.term "i d, (j - i + 3) d" (%q, %table) scale 1.0 where "i - j <= 4" : tensor<8x8xf32>, tensor<4x8xf32>
  } : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

// term_c5: something to add
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{has neither an operand nor a factor; give it 'times' an expression (term_c5)}}
    attn.term "" () scale 1.0
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c5: a finite scale
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{scale is not finite (term_c5)}}
    attn.term "" () times "j" scale 0x7FF0000000000000
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attn_c3: guards and factors do not see contracted axes
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{guard names 'd', which is no axis here; the axes are 'i' and 'j' (attn_c3)}}
    attn.term "j d" (%v) scale 1.0 where "d < 4" : tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// gpu_schedule_c1: a target
// expected-error @below {{a schedule needs the name of its target (gpu_schedule_c1)}}
#s = #attn.gpu_schedule<target = "", engine = "mma_sync", rows = 64, keys = 64, stages = 2, keep_queries = true, strategies = ["matmul"]>

// -----

// gpu_schedule_c2: an engine
// expected-error @below {{a schedule needs the name of its engine (gpu_schedule_c2)}}
#s = #attn.gpu_schedule<target = "sm_90a", engine = "", rows = 64, keys = 64, stages = 2, keep_queries = true, strategies = ["matmul"]>

// -----

// gpu_schedule_c3: tiles of whole fragments
// expected-error @below {{keys is 24, expected a multiple of 16 between 16 and 256 (gpu_schedule_c3)}}
#s = #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 24, stages = 2, keep_queries = true, strategies = ["matmul"]>

// -----

// gpu_schedule_c4: what is read stands somewhere
// expected-error @below {{stages is 0, expected a number from 1 to 4 (gpu_schedule_c4)}}
#s = #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 64, stages = 0, keep_queries = true, strategies = ["matmul"]>

// -----

// gpu_schedule_c5: strategies have names
// expected-error @below {{there is no strategy ''; known: matmul, band, key_band, lookup, line, gated_line, per_score, nothing (gpu_schedule_c5)}}
#s = #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 64, stages = 2, keep_queries = true, strategies = [""]>

// -----

// gpu_schedule_c6: whole fragments of the values
// expected-error @below {{columns is 24, expected 0 (all of the values) or a multiple of 16 up to 256 (gpu_schedule_c6)}}
#s = #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 64, stages = 2, keep_queries = true, strategies = ["matmul"], columns = 24>

// -----

// gpu_schedule_c11: whole tiles of rows, one or two a warp
// expected-error @below {{warp_rows is 32 and rows is 48, expected 16, or 32 where rows is a multiple of 32 (gpu_schedule_c11)}}
#s = #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 48, keys = 64, stages = 2, keep_queries = true, strategies = ["matmul"], warp_rows = 32>

// -----

// gpu_schedule_c11: parts that there are
// expected-error @below {{unknown part 'warps', expected 'columns', 'warp_rows' or 'copies'}}
#s = #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 48, keys = 64, stages = 2, keep_queries = true, strategies = ["matmul"], warps = 2>

// -----

// gpu_schedule_c13: ways to copy that there are
// expected-error @below {{copies is 'ldgsts', expected 'cp_async' or 'tma' (gpu_schedule_c13)}}
#s = #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 64, keys = 64, stages = 2, keep_queries = false, strategies = ["matmul"], copies = "ldgsts">

// -----

// gpu_schedule_c13: once
// expected-error @below {{'copies' is given twice}}
#s = #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 64, keys = 64, stages = 2, keep_queries = false, strategies = ["matmul"], copies = "tma", copies = "tma">

// -----

// attention_c8: the same for GPUs
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{schedule has 2 strategies for 1 terms (attention_c8)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } : tensor<4x8xf32> -> tensor<4x8xf32>
    schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 64, stages = 2, keep_queries = true, strategies = ["matmul", "line"]>
  return
}
