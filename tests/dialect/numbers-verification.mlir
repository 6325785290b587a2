// RUN: skewer-opt %s -split-input-file -verify-diagnostics

// Constant tables whose values matter: under a guard, next to a conjunct, in the branch of a
// select that is taken.
func.func @good(%q: tensor<4x64xf32>, %t: tensor<3x64xf32>) {
  %0 = attn.einsum "i d, ([0, 2, 1][j]) d -> i j" where "j < 3" sizes {j = 4 : i64} (%q, %t)
      : (tensor<4x64xf32>, tensor<3x64xf32>) -> tensor<4x4xf32>
  %1 = attn.position "i j" = "select(j < 3, [0, 2, 1][j], -1)" : tensor<4x4xf32>
  %2 = attn.position "i j" = "select(j >= 3 or i == 0, 7, [0, 2, 1][j])" : tensor<4x4xf32>
  %3 = attn.softmax "i j" over "j" where "j < 3 and [0, 2, 1][j] <= i" (%0) : tensor<4x4xf32>
  %4 = attn.softmax "i j" over "j" where "not (j < 3) or [0, 2, 1][j] <= i" (%0) : tensor<4x4xf32>
  return
}

// -----

// attn_c12: of an expression
func.func @f() {
  // expected-error @below {{expression looks up row j of [0, 2, 1][j], which is 3 at j = 3, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.position "i j" = "[0, 2, 1][j]" : tensor<4x4xf32>
  return
}

// -----

// attn_c12: a row below the first
func.func @f() {
  // expected-error @below {{expression looks up row j - i of [0, 2, 1][j - i], which is -2 at i = 2, j = 0, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.position "i j" = "[0, 2, 1][j - i]" : tensor<3x3xf32>
  return
}

// -----

// attn_c12: the branch of a select that is taken
func.func @f() {
  // expected-error @below {{expression looks up row j of [0, 2, 1][j], which is 3 at j = 3, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.position "i j" = "select(j < 3, -1, [0, 2, 1][j])" : tensor<4x4xf32>
  return
}

// -----

// attn_c12: in a table that looks up the row of another
func.func @f() {
  // expected-error @below {{which is 5 at j = 1, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.position "j" = "[0, 2, 1][[0, 5][j]]" : tensor<2xf32>
  return
}

// -----

// attn_c12: of a mask
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{mask looks up row j of [0, 2, 1][j], which is 3 at j = 3, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.softmax "i j" over "j" where "[0, 2, 1][j] <= i" (%x) : tensor<4x4xf32>
  return
}

// -----

// attn_c12: a conjunct that leaves the row in
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{mask looks up row j of [0, 2, 1][j], which is 3 at j = 3, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.softmax "i j" over "j" where "j <= 3 and [0, 2, 1][j] <= i" (%x) : tensor<4x4xf32>
  return
}

// -----

// attn_c12: of a guard
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{guard looks up row i of [0, 2, 1][i], which is 3 at i = 3, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.einsum "i d -> i" where "[0, 2, 1][i] == 1" (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c12: of a subscript that is inside its dimension whatever the row
func.func @f(%q: tensor<4x64xf32>, %t: tensor<3x64xf32>) {
  // expected-error @below {{subscript 0 of operand #1 looks up row j of [0, 2, 1][j], which is 3 at j = 3, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.einsum "i d, ([0, 2, 1][j]) d -> i j" sizes {j = 4 : i64} (%q, %t)
      : (tensor<4x64xf32>, tensor<3x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

// attn_c12: by an element of an index operand that has no range
func.func @f(%seg: tensor<4xi32> {attn.name = "seg"}) {
  // expected-error @below {{expression looks up row seg[j] of [0, 2, 1][seg[j]], which is not proven to stay inside, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.position "j" = "[0, 2, 1][seg[j]]" indices(seg = %seg : tensor<4xi32>) : tensor<4xf32>
  return
}

// -----

// attn_c12: of an attention, whose own mask comes before its values
func.func @f(%q: tensor<1x2x4x8xf32>) {
  // expected-error @below {{mask looks up row j of [0, 2, 1][j], which is 3 at j = 3, but the table has rows 0..2 (attn_c12)}}
  %0 = attn.attention "b h i j" where "[0, 2, 1][j] <= i" value "b h j e -> b h i e" (%q) score {
    attn.term "b h i d, b h j d" (%q, %q) scale 1.0 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>
  } : tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  return
}

// -----

// attn_c12: of a term's factor
func.func @f(%q: tensor<1x2x4x8xf32>) {
  %0 = attn.attention "b h i j" value "b h j e -> b h i e" (%q) score {
    // expected-error @below {{factor looks up row j of [0, 2, 1][j], which is 3 at j = 3, but the table has rows 0..2 (attn_c12)}}
    attn.term "b h i d, b h j d" (%q, %q) times "[0, 2, 1][j]" scale 1.0 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>
  } : tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  return
}

// -----

// attn_c13: a sum of products
func.func @f() {
  // expected-error @below {{expression computes j*4611686018427387904, which may not fit 64 bits (attn_c13)}}
  %0 = attn.position "i j" = "(j * 4611686018427387904 + i) mod 7" : tensor<4x4xf32>
  return
}

// -----

// attn_c13: of a mask, with a run-time operand of any value
func.func @f(%x: tensor<4x4xf32>, %seg: tensor<4xi32> {attn.name = "seg"}) {
  // expected-error @below {{mask computes seg[j]*8589934592, which may not fit 64 bits (attn_c13)}}
  %0 = attn.softmax "i j" over "j" where "seg[j] * 8589934592 <= i" indices(seg = %seg : tensor<4xi32>) (%x) : tensor<4x4xf32>
  return
}

// -----

// attn_c13: with a range that it fits
func.func @fits(%x: tensor<4x4xf32>, %seg: tensor<4xi32> {attn.name = "seg", attn.range = array<i64: 0, 9>}) {
  %0 = attn.softmax "i j" over "j" where "seg[j] * 8589934592 <= i" indices(seg = %seg : tensor<4xi32>) (%x) : tensor<4x4xf32>
  return
}
