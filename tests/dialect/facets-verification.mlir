// RUN: skewer-opt %s -split-input-file -verify-diagnostics
// Constraints that can be broken in several ways: each way that the other files leave out.

// attention_c1: a key dimension of no axis
func.func @attention_c1(%q: tensor<4x8xf32>, %v: tensor<1x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'attn.attention' op space "i 1" has a query or a key dimension without an axis (attention_c1)}}
  %0 = attn.attention "i 1" value "1 e -> i e"(%v) score {
    attn.term "i d, 1 d"(%q, %v) scale 1.0 : tensor<4x8xf32>, tensor<1x8xf32>
  } : tensor<1x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// attention_c1: an index expression is no dimension of a space
func.func @attention_c1_index(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'attn.attention' op space has the index expression j + 1; expected axes or products of axes (attention_c1)}}
  %0 = attn.attention "i (j + 1)" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// attention_c1: one axis is query and key
func.func @attention_c1_twice(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'attn.attention' op space names the axis 'i' twice (attention_c1)}}
  %0 = attn.attention "i i" value "i e -> i e"(%q) score {
    attn.term "i d, i d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// attention_c3: two operands of values
func.func @attention_c3(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'attn.attention' op value_spec "j e, j e -> i e" is not of the form "values -> result" (attention_c3)}}
  %0 = attn.attention "i j" value "j e, j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// attention_c5: the result has an axis that neither the space nor the values have
func.func @attention_c5(%q: tensor<4x8xf32>) -> tensor<4x8x2xf32> {
  // expected-error @below {{'attn.attention' op value_spec gives the result the axis 'x', which nothing has (attention_c5)}}
  %0 = attn.attention "i j" sizes {x = 2 : i64} value "j e -> i e x"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8x2xf32>
  return %0 : tensor<4x8x2xf32>
}

// -----
// attention_c5: values that are read by the query
func.func @attention_c5_query(%q: tensor<4x8xf32>, %v: tensor<4x4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'attn.attention' op values are read by the query axis 'i' (attention_c5)}}
  %0 = attn.attention "i j" value "i j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// attention_c7: a score of no terms
func.func @attention_c7(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'attn.attention' op score has no term (attention_c7)}}
  %0 = attn.attention "i j" value "j e -> i e"(%q) score {
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// attention_c8: a strategy too few, of a term of the values
func.func @attention_c8(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'attn.attention' op schedule has 1 strategies for 2 terms (attention_c8)}}
  %0 = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } values {
    attn.term "j e"(%q) scale 1.0 : tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
    schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, tile_rows = 1, tile_vectors = 1, row_block = 4, key_block = 8,
                                rows_per_item = 4, strategies = ["matmul"]>
  return %0 : tensor<4x8xf32>
}

// -----
// term_c1: subscripts with a result
func.func @term_c1(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = attn.attention "i j" value "j e -> i e"(%q) score {
    // expected-error @below {{'attn.term' op subscripts "i d, j d -> i j" have an '->'; a term's result is always the score (term_c1)}}
    attn.term "i d, j d -> i j"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// term_c1: a text that does not parse
func.func @term_c1_parse(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = attn.attention "i j" value "j e -> i e"(%q) score {
    // expected-error @below {{'attn.term' op subscripts "i d, (j d" does not parse at byte 5: this '(' is never closed (term_c1)}}
    attn.term "i d, (j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// term_c4: inside under the guard of another term only
func.func @term_c4(%q: tensor<4x8xf32>, %t: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %0 = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, (i - j) d"(%q, %t) scale 1.0 where "0 <= i - j and i - j <= 1" : tensor<4x8xf32>, tensor<2x8xf32>
    // expected-error @below {{'attn.term' op operand #1 is read outside dimension 0: i - j reads -3 at i = 0, j = 3, but the dimension has indices 0..1 (term_c4)}}
    // expected-note @below {{i - j runs from -3 to 3; correct the index, clamp it, or leave the point out with 'where'}}
    attn.term "i d, (i - j) d"(%q, %t) scale 1.0 : tensor<4x8xf32>, tensor<2x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// term_c5: infinite scales
func.func @term_c5(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = attn.attention "i j" value "j e -> i e"(%q) score {
    // expected-error @below {{'attn.term' op scale is not finite (term_c5)}}
    attn.term "i d, j d"(%q, %q) scale 0x7FF0000000000000 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----
// softmax_c1: axes that do not parse, an axis named twice
func.func @softmax_c1(%x: tensor<4x4xf32>) {
  // expected-error @below {{'attn.softmax' op axes "i (j" does not parse at byte 2: this '(' is never closed (softmax_c1)}}
  %0 = attn.softmax "i (j" over "j"(%x) : tensor<4x4xf32>
  return
}

// -----
func.func @softmax_c1_twice(%x: tensor<4x4xf32>) {
  // expected-error @below {{'attn.softmax' op axes names the axis 'i' twice (softmax_c1)}}
  %0 = attn.softmax "i i" over "i"(%x) : tensor<4x4xf32>
  return
}

// -----
// softmax_c3: the axes of a dimension in another order, a part of them, none
func.func @softmax_c3_order(%x: tensor<4x6xf32>) {
  // expected-error @below {{'attn.softmax' op over "jx jy" is not one of the dimensions "i (jy jx)" (softmax_c3)}}
  %0 = attn.softmax "i (jy jx)" over "jx jy" sizes {jy = 2 : i64}(%x) : tensor<4x6xf32>
  return
}

// -----
func.func @softmax_c3_part(%x: tensor<4x6xf32>) {
  // expected-error @below {{'attn.softmax' op over "jx" is not one of the dimensions "i (jy jx)" (softmax_c3)}}
  %0 = attn.softmax "i (jy jx)" over "jx" sizes {jy = 2 : i64}(%x) : tensor<4x6xf32>
  return
}

// -----
func.func @softmax_c3_none(%x: tensor<4x6xf32>) {
  // expected-error @below {{'attn.softmax' op over "" is not one of the dimensions "i j" (softmax_c3)}}
  %0 = attn.softmax "i j" over ""(%x) : tensor<4x6xf32>
  return
}

// -----
// position_c1: an index expression is no axis
func.func @position_c1() {
  // expected-error @below {{'attn.position' op axes has the index expression i + 1; expected axes or products of axes (position_c1)}}
  %0 = attn.position "(i + 1)" = "i" : tensor<4xf32>
  return
}

// -----
// gather_c3: a negative index
func.func @gather_c3(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.gather' op index -1 at position 1 is outside dimension 0, indices 0..3 (gather_c3)}}
  %0 = attn.gather %x dimension 0 indices dense<[0, -1]> : tensor<2xi64> : tensor<4x8xf32> to tensor<2x8xf32>
  return
}

// -----
// rearrange_c1: no arrow, an index expression
func.func @rearrange_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.rearrange' op spec "a b" has no '->' and result (rearrange_c1)}}
  %0 = attn.rearrange "a b" %x : tensor<4x8xf32> to tensor<8x4xf32>
  return
}

// -----
func.func @rearrange_c1_index(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.rearrange' op spec reads the operand at 3 - a; expected axes or products of axes, attn.slice picks elements (rearrange_c1)}}
  %0 = attn.rearrange "(3 - a) b -> a b" sizes {a = 4 : i64} %x : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----
// einsum_c4: a product of the result that its axes do not make, an axis named twice, an index expression
func.func @einsum_c4_product(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.einsum' op dimension 0 of the result has size 31, but '(i d)' makes size 32 (einsum_c4)}}
  %0 = attn.einsum "i d -> (i d)"(%x) : (tensor<4x8xf32>) -> tensor<31xf32>
  return
}

// -----
func.func @einsum_c4_twice(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.einsum' op result names the axis 'i' twice (einsum_c4)}}
  %0 = attn.einsum "i d -> i i"(%x) : (tensor<4x8xf32>) -> tensor<4x4xf32>
  return
}

// -----
func.func @einsum_c4_index(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.einsum' op result has the index expression i + 1; expected axes or products of axes (einsum_c4)}}
  %0 = attn.einsum "i d -> (i + 1)"(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----
// einsum_c5: outside at the last point, outside at the first, with a run-time dimension
func.func @einsum_c5_last(%x: tensor<4x8xf32>, %t: tensor<6x8xf32>) {
  // expected-error @below {{'attn.einsum' op operand #1 is read outside dimension 0: j - i + 3 reads 6 at i = 0, j = 3, but the dimension has indices 0..5 (einsum_c5)}}
  // expected-note @below {{j - i + 3 runs from 0 to 6; correct the index, clamp it, or leave the point out with 'where'}}
  %0 = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64}(%x, %t) : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x4xf32>
  return
}

// -----
func.func @einsum_c5_first(%x: tensor<4x8xf32>, %t: tensor<7x8xf32>) {
  // expected-error @below {{'attn.einsum' op operand #1 is read outside dimension 0: j - i + 2 reads -1 at i = 3, j = 0, but the dimension has indices 0..6 (einsum_c5)}}
  // expected-note @below {{j - i + 2 runs from -1 to 5; correct the index, clamp it, or leave the point out with 'where'}}
  %0 = attn.einsum "i d, (j - i + 2) d -> i j" sizes {j = 4 : i64}(%x, %t) : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x4xf32>
  return
}

// -----
func.func @einsum_c5_run_time(%x: tensor<4x8xf32>, %t: tensor<?x8xf32>) {
  // expected-error @below {{'attn.einsum' op subscript 0 of operand #1 is the index expression i + 1, but the dimension has run-time size; only a compile-time size can be proven against (einsum_c5)}}
  %0 = attn.einsum "i d, (i + 1) d -> i"(%x, %t) : (tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<4xf32>
  return
}

// -----
// attn_c4: a divisor that is 0 somewhere, in a subscript that is otherwise inside
func.func @attn_c4(%t: tensor<8xf32>) {
  // expected-error @below {{'attn.einsum' op subscript 0 of operand #0 divides by i, which is not known to be positive (attn_c4)}}
  %0 = attn.einsum "(min(6 floordiv i, 7)) -> i" sizes {i = 3 : i64}(%t) : (tensor<8xf32>) -> tensor<3xf32>
  return
}

// -----
// concat_c1: along a dimension that there is not
func.func @concat_c1(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.concat' op dimension 2 is none of the 2 dimensions, counted from 0 (concat_c1)}}
  %0 = attn.concat %x, %x dimension 2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----
// concat_c4: sizes that do not add up
func.func @concat_c4(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.concat' op dimension 0 of the result has size 9, but the operands have 8 together (concat_c4)}}
  %0 = attn.concat %x, %x dimension 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  return
}
