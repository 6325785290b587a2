// The einsum's verifier refuses these: one case for each constraint of dialect/SPEC.md.
// RUN: skewer-opt %s --verify-diagnostics --split-input-file

// attn_c1: no dimension is empty
func.func @f(%q: tensor<0x64xf32>) {
  // expected-error @below {{'attn.einsum' op operand #0 has shape 0x64; every dimension must hold at least one element (attn_c1)}}
  %0 = attn.einsum "i d -> i" (%q) : (tensor<0x64xf32>) -> tensor<0xf32>
  return
}

// -----

// attn_c1: shapes whose size overflows
func.func @f(%q: tensor<4611686018427387904x4611686018427387904xf32>) {
  // expected-error @below {{more elements than memory can address (attn_c1)}}
  %0 = attn.einsum "i d -> i" (%q) : (tensor<4611686018427387904x4611686018427387904xf32>) -> tensor<4611686018427387904xf32>
  return
}

// -----

// attn_c2: sizes are positive integers
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{size of axis 'j' is -4 : i64; expected a positive 64-bit integer (attn_c2)}}
  %0 = attn.einsum "i d -> i j" sizes {j = -4 : i64} (%q) : (tensor<4x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// attn_c2: the value that means a run-time size elsewhere is refused
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{expected a positive 64-bit integer (attn_c2)}}
  %0 = attn.einsum "i d -> i j" sizes {j = -9223372036854775808 : i64} (%q) : (tensor<4x64xf32>) -> tensor<4x?xf32>
  return
}

// -----

// attn_c2: sizes are integers
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{size of axis 'j' is "four"; expected a positive 64-bit integer (attn_c2)}}
  %0 = attn.einsum "i d -> i j" sizes {j = "four"} (%q) : (tensor<4x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// attn_c2: no wider integers
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{expected a positive 64-bit integer (attn_c2)}}
  %0 = attn.einsum "i d -> i j" sizes {j = 4 : i128} (%q) : (tensor<4x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// attn_c3: guards name axes of the spec
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{guard names 'k', which is no axis here; the axes are 'd' and 'i' (attn_c3)}}
  %0 = attn.einsum "i d -> i" where "k <= i" (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c3: guards parse
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error-re @below {{guard "i <=" does not parse at byte {{[0-9]+}}: {{.+}} (attn_c3)}}
  %0 = attn.einsum "i d -> i" where "i <=" (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c4: no division by what may be 0
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{guard divides by i, which is not known to be positive (attn_c4)}}
  %0 = attn.einsum "i d -> i" where "d mod i == 0" (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c4: also in subscripts
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{subscript 0 of operand #0 divides by j - 1, which is not known to be positive (attn_c4)}}
  %0 = attn.einsum "(j floordiv (j - 1)) d -> j d" sizes {j = 4 : i64} (%q) : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// -----

// einsum_c1: the spec parses
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error-re @below {{spec "i (d -> i" does not parse at byte 2: {{.+}} (einsum_c1)}}
  %0 = attn.einsum "i (d -> i" (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// einsum_c1: the spec has a result
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{spec "i d" has no '->' and result (einsum_c1)}}
  %0 = attn.einsum "i d" (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// einsum_c2: as many subscripted operands as operands
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{'attn.einsum' op subscripts 2 operands, but has 1 (einsum_c2)}}
  %0 = attn.einsum "i d, j d -> i j" (%q) : (tensor<4x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// einsum_c2: no operand at all
func.func @f() {
  // expected-error @below {{'attn.einsum' op subscripts 1 operand, but has 0 (einsum_c2)}}
  %0 = attn.einsum "i -> i" () : () -> tensor<4xf32>
  return
}

// -----

// einsum_c2: ranks
func.func @f(%q: tensor<4x64xf32>, %k: tensor<2x4x64xf32>) {
  // expected-error @below {{operand #1 has 3 dimensions, but is subscripted 'j d', which has 2 (einsum_c2)}}
  %0 = attn.einsum "i d, j d -> i j" (%q, %k) : (tensor<4x64xf32>, tensor<2x4x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// einsum_c2: rank 0
func.func @f(%q: tensor<f32>) {
  // expected-error @below {{operand #0 has 0 dimensions, but is subscripted 'i', which has 1 (einsum_c2)}}
  %0 = attn.einsum "i -> i" (%q) : (tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// einsum_c3: an axis has one size
func.func @f(%q: tensor<4x64xf32>, %k: tensor<4x32xf32>) {
  // expected-error @below {{axis 'd' has size 64 elsewhere, but 32 here (einsum_c3)}}
  %0 = attn.einsum "i d, j d -> i j" (%q, %k) : (tensor<4x64xf32>, tensor<4x32xf32>) -> tensor<4x4xf32>
  return
}

// -----

// einsum_c3: every axis has a size
func.func @f(%q: tensor<4x64xf32>, %t: tensor<7x64xf32>) {
  // expected-error-re @below {{axis 'j' has no size{{.+}} (einsum_c3)}}
  %0 = attn.einsum "i d, (j - i + 3) d -> i j" (%q, %t) : (tensor<4x64xf32>, tensor<7x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// einsum_c3: products divide
func.func @f(%q: tensor<7x64xf32>) {
  // expected-error-re @below {{a dimension of size 7 is not a multiple of 2{{.+}} (einsum_c3)}}
  %0 = attn.einsum "(y x) d -> y x" sizes {y = 2 : i64} (%q) : (tensor<7x64xf32>) -> tensor<2x3xf32>
  return
}

// -----

// einsum_c3: an axis is of run-time size everywhere or nowhere
func.func @f(%q: tensor<?x64xf32>, %k: tensor<4x64xf32>) {
  // expected-error @below {{dimension 0 of operand #0 has run-time size, but 'b' makes size 4 (einsum_c3)}}
  %0 = attn.einsum "b d, b d -> b" (%q, %k) : (tensor<?x64xf32>, tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// einsum_c3: the stride of an axis is known at compile time
func.func @f(%q: tensor<?x64xf32>) {
  // expected-error @below {{dimension 0 of operand #0 is '(h b)', but only the first axis of a product may be of run-time size (einsum_c3)}}
  %0 = attn.einsum "(h b) d -> b h d" sizes {h = 4 : i64} (%q) : (tensor<?x64xf32>) -> tensor<?x4x64xf32>
  return
}

// -----

// einsum_c4: the result's shape
func.func @f(%q: tensor<4x64xf32>, %k: tensor<5x64xf32>) {
  // expected-error @below {{dimension 1 of the result has size 4, but 'j' makes size 5 (einsum_c4)}}
  %0 = attn.einsum "i d, j d -> i j" (%q, %k) : (tensor<4x64xf32>, tensor<5x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// einsum_c4: the result's rank
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{result has 2 dimensions, but is subscripted 'i', which has 1 (einsum_c4)}}
  %0 = attn.einsum "i d -> i" (%q) : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// -----

// einsum_c4: a result is not written through an index expression
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{result has the index expression i + 1; expected axes or products of axes (einsum_c4)}}
  %0 = attn.einsum "i d -> (i + 1)" (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// einsum_c4: no diagonal results
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{result names the axis 'i' twice (einsum_c4)}}
  %0 = attn.einsum "i d -> i i" (%q) : (tensor<4x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// einsum_c5: subscripts stay inside
func.func @f(%q: tensor<?x4x196x128xf32>, %rows: tensor<27x128xf32>) {
  // expected-error @below {{operand #1 is read outside dimension 0: jy - iy + 14 reads 27 at iy = 0, jy = 13, but the dimension has indices 0..26 (einsum_c5)}}
  // expected-note @below {{jy - iy + 14 runs from 1 to 27; correct the index, clamp it, or leave the point out with 'where'}}
  %0 = attn.einsum "b h (iy ix) d, (jy - iy + 14) d -> b h (iy ix) (jy jx)"
      sizes {iy = 14 : i64, ix = 14 : i64, jy = 14 : i64, jx = 14 : i64} (%q, %rows)
      : (tensor<?x4x196x128xf32>, tensor<27x128xf32>) -> tensor<?x4x196x196xf32>
  return
}

// -----

// einsum_c5: a causal table of N rows is large enough only under a guard
func.func @f(%q: tensor<8x64xf32>, %table: tensor<8x64xf32>) {
  // expected-error-re @below {{operand #1 is read outside dimension 0: j - i + 7 reads {{[0-9]+}} at i = {{[0-9]+}}, j = {{[0-9]+}}, but the dimension has indices 0..7 (einsum_c5)}}
  // expected-note @below {{j - i + 7 runs from 0 to 14;}}
  %0 = attn.einsum "i d, (j - i + 7) d -> i j" sizes {j = 8 : i64} (%q, %table) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x8xf32>
  return
}

// -----

// einsum_c5: under a guard
func.func @f(%q: tensor<8x64xf32>, %table: tensor<8x64xf32>) {
  // expected-error @below {{operand #1 is read outside dimension 0: j - i + 7 reads 8}}
  // expected-note @below {{the guard leaves this point in; narrow it, correct the index, or clamp it}}
  %0 = attn.einsum "i d, (j - i + 7) d -> i j" where "j <= i + 1" sizes {j = 8 : i64} (%q, %table)
      : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x8xf32>
  return
}

// -----

// einsum_c5: run-time positions are not proven
func.func @f(%q: tensor<?x64xf32>, %table: tensor<8x64xf32>) {
  // expected-error-re @below {{subscript 0 of operand #1, i + 1, is not proven to stay inside the dimension, indices 0..7 (einsum_c5); give every axis it names a compile-time size, or clamp it}}
  %0 = attn.einsum "i d, (i + 1) d -> i" (%q, %table) : (tensor<?x64xf32>, tensor<8x64xf32>) -> tensor<?xf32>
  return
}

// -----

// einsum_c5: clamped, they are
func.func @f(%q: tensor<?x64xf32>, %table: tensor<8x64xf32>) {
  %0 = attn.einsum "i d, (clamp(i, 0, 7)) d -> i" (%q, %table) : (tensor<?x64xf32>, tensor<8x64xf32>) -> tensor<?xf32>
  return
}

// -----

// einsum_c5: run-time dimensions are not read through index expressions
func.func @f(%q: tensor<4x64xf32>, %table: tensor<?x64xf32>) {
  // expected-error @below {{subscript 0 of operand #1 is the index expression i + 1, but the dimension has run-time size; only a compile-time size can be proven against (einsum_c5)}}
  %0 = attn.einsum "i d, (i + 1) d -> i" (%q, %table) : (tensor<4x64xf32>, tensor<?x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c13: arithmetic that overflows
func.func @f(%q: tensor<4x64xf32>, %table: tensor<8x64xf32>) {
  // expected-error @below {{subscript 0 of operand #1 computes i*9223372036854775807, which may not fit 64 bits (attn_c13)}}
  %0 = attn.einsum "i d, (i * 9223372036854775807 * 9223372036854775807) d -> i" (%q, %table) : (tensor<4x64xf32>, tensor<8x64xf32>) -> tensor<4xf32>
  return
}
