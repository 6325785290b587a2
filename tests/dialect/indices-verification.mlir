// RUN: skewer-opt %s -split-input-file -verify-diagnostics

// A read of an operand of the kernel, in all texts that may have one.
func.func @good(%q: tensor<?x2x8x4xf32>, %k: tensor<?x2x8x4xf32>, %e: tensor<2x2x4xf32>,
                %seg: tensor<?x8xi32> {attn.name = "seg", attn.range = array<i64: 0, 1>},
                %lengths: tensor<?xi32> {attn.name = "lengths"}) -> tensor<?x2x8x4xf32> {
  %s = attn.einsum "b h i d, h (seg[b, i] != seg[b, j]) d -> b h i j" where "j < lengths[b]" sizes {j = 8 : i64}
      indices(lengths = %lengths : tensor<?xi32>, seg = %seg : tensor<?x8xi32>) (%q, %e)
      : (tensor<?x2x8x4xf32>, tensor<2x2x4xf32>) -> tensor<?x2x8x8xf32>
  %far = attn.position "b i j" = "seg[b, i] != seg[b, j]" indices(seg = %seg : tensor<?x8xi32>) : tensor<?x8x8xf32>
  %p = attn.softmax "b h i j" over "j" where "j < lengths[b]" indices(lengths = %lengths : tensor<?xi32>) (%s)
      : tensor<?x2x8x8xf32>
  %o = attn.attention "b h i j" where "j < lengths[b]" indices(lengths = %lengths : tensor<?xi32>)
      value "b h j e -> b h i e" (%k) score {
    attn.term "b h i d, b h j d" (%q, %k) scale 5.000000e-01 : tensor<?x2x8x4xf32>, tensor<?x2x8x4xf32>
    attn.term "b h i d, h (seg[b, i] != seg[b, j]) d" indices(seg = %seg : tensor<?x8xi32>) (%q, %e)
        scale 5.000000e-01 : tensor<?x2x8x4xf32>, tensor<2x2x4xf32>
    attn.term "" indices(seg = %seg : tensor<?x8xi32>) () times "seg[b, i] != seg[b, j]" scale -1.000000e+02
  } : tensor<?x2x8x4xf32> -> tensor<?x2x8x4xf32>
  return %o : tensor<?x2x8x4xf32>
}

// -----

// It is inside only because of the guard, or of the conjunct next to it.
func.func @guarded(%t: tensor<32x4xf32>, %near: tensor<9xi32> {attn.name = "near", attn.range = array<i64: 0, 31>}) {
  %0 = attn.einsum "(near[j - i + 4]) h -> h i j" where "abs(j - i) <= 4" sizes {i = 20 : i64, j = 20 : i64}
      indices(near = %near : tensor<9xi32>) (%t) : (tensor<32x4xf32>) -> tensor<4x20x20xf32>
  %1 = attn.einsum "i h -> h i j" where "abs(j - i) <= 4 and near[j - i + 4] == 0" sizes {j = 32 : i64}
      indices(near = %near : tensor<9xi32>) (%t) : (tensor<32x4xf32>) -> tensor<4x32x32xf32>
  return
}

// -----

// attn_c6: a name for each
func.func @f(%q: tensor<4x64xf32>, %seg: tensor<4xi32> {attn.name = "seg"}) {
  // expected-error @below {{names 0 index operands, but has 1 (attn_c6)}}
  %0 = "attn.einsum"(%q, %seg) <{spec = "i d -> i", operandSegmentSizes = array<i32: 1, 1>}>
      : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// attn_c6: an argument of the kernel
func.func @f(%q: tensor<4x64xf32>) {
  %seg = arith.constant dense<0> : tensor<4xi32>
  // expected-error @below {{index operand 'seg' is no argument of the kernel and no attn.index, which gives what is computed a name (attn_c6)}}
  %0 = attn.einsum "i d -> i" where "seg[i] == 0" indices(seg = %seg : tensor<4xi32>) (%q)
      : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c6: under its own name
func.func @f(%q: tensor<4x64xf32>, %seg: tensor<4xi32> {attn.name = "segment"}) {
  // expected-error @below {{index operand 'seg' is argument #1, but that has another 'attn.name' (attn_c6)}}
  %0 = attn.einsum "i d -> i" where "seg[i] == 0" indices(seg = %seg : tensor<4xi32>) (%q)
      : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c6: which no other argument has
func.func @f(%q: tensor<4x64xf32> {attn.name = "seg"}, %seg: tensor<4xi32> {attn.name = "seg"}) {
  // expected-error @below {{index operand 'seg' is argument #1, but argument #0 has that 'attn.name', too (attn_c6)}}
  %0 = attn.softmax "i d" over "d" where "seg[i] == 0" indices(seg = %seg : tensor<4xi32>) (%q) : tensor<4x64xf32>
  return
}

// -----

// attn_c7: what is read is among the indices
func.func @f(%q: tensor<4x64xf32>) {
  // expected-error @below {{guard reads 'segment', which is not among its indices (attn_c7)}}
  %0 = attn.einsum "i d -> i" where "segment[i] == 0" (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c7: of as many dimensions
func.func @f(%q: tensor<4x64xf32>, %seg: tensor<4x2xi32> {attn.name = "seg"}) {
  // expected-error @below {{mask reads seg[i], but 'seg' has 2 dimensions (attn_c7)}}
  %0 = attn.softmax "i d" over "d" where "seg[i] == 0" indices(seg = %seg : tensor<4x2xi32>) (%q) : tensor<4x64xf32>
  return
}

// -----

// attn_c8: a subscript stays inside
func.func @f(%seg: tensor<4xi32> {attn.name = "seg"}) {
  // expected-error @below {{expression reads seg[i + 1], and i + 1 may be 4, but dimension 0 of 'seg' has indices 0..3 (attn_c8)}}
  %0 = attn.position "i" = "seg[i + 1]" indices(seg = %seg : tensor<4xi32>) : tensor<4xf32>
  return
}

// -----

// attn_c8: a subscript that is read itself has a range
func.func @f(%t: tensor<8xf32>, %seg: tensor<4xi32> {attn.name = "seg", attn.range = array<i64: 0, 7>},
             %order: tensor<4xi32> {attn.name = "order"}) {
  // expected-error @below {{subscript 0 of operand #0 reads seg[order[i]], and order[i] is not proven to stay inside, but dimension 0 of 'seg' has indices 0..3 (attn_c8)}}
  %0 = attn.einsum "(seg[order[i]]) -> i" sizes {i = 4 : i64}
      indices(order = %order : tensor<4xi32>, seg = %seg : tensor<4xi32>) (%t) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c8: a dimension of run-time size
func.func @f(%q: tensor<?x4xf32>, %lengths: tensor<?xi32> {attn.name = "lengths"}) {
  // expected-error @below {{mask reads lengths[j], but dimension 0 of 'lengths' has run-time size and is read by an axis of that size only (attn_c8)}}
  %0 = attn.softmax "b j" over "j" where "lengths[j] == 0" indices(lengths = %lengths : tensor<?xi32>) (%q)
      : tensor<?x4xf32>
  return
}

// -----

// attn_c9: two numbers in order
// expected-error @below {{argument #0 has the range array<i64: 3, 1>; expected array<i64: low, high>, low <= high, both within 32 bits (attn_c9)}}
func.func @f(%seg: tensor<4xi32> {attn.range = array<i64: 3, 1>}) {
  return
}

// -----

// attn_c9: of a tensor of i32
// expected-error @below {{argument #0 has a range, but is no tensor of i32 (attn_c9)}}
func.func @f(%q: tensor<4xf32> {attn.range = array<i64: 0, 1>}) {
  return
}

// -----

// attn_c15: two numbers or expressions
// expected-error @below {{argument #0 has a range with the ends [1, "2 *"]; expected two numbers or expressions of lengths beside attn.range (attn_c15)}}
func.func @f(%seg: tensor<4xi32> {attn.range = array<i64: 1, 3>, attn.range_ends = [1, "2 *"]}) {
  return
}

// -----

// attn_c15: beside a range
// expected-error @below {{argument #0 has a range with the ends [1, "N"]; expected two numbers or expressions of lengths beside attn.range (attn_c15)}}
func.func @f(%seg: tensor<4xi32> {attn.range_ends = [1, "N"]}) {
  return
}

// -----

// attn_c10: a positive number
// expected-error @below {{argument #0 has the standard deviation 0.000000e+00 : f64; expected a positive f64 (attn_c10)}}
func.func @f(%w: tensor<4xf32> {attn.deviation = 0.0 : f64}) {
  return
}

// -----

// attn_c10: a finite mean
// expected-error @below {{argument #0 has the mean 2 : i64; expected a finite f64 (attn_c10)}}
func.func @f(%w: tensor<4xf32> {attn.mean = 2 : i64}) {
  return
}

// -----

// attn_c10: two ends in order
// expected-error @below {{argument #0 has values between array<f64: 2.000000e+00, 1.000000e+00>; expected array<f64: low, high> with low <= high (attn_c10)}}
func.func @f(%w: tensor<4xf32> {attn.between = array<f64: 2.0, 1.0>}) {
  return
}

// -----

// attn_c10: how the values of a tensor of floating point numbers lie
// expected-error @below {{argument #0 says how its values lie, but is no tensor of floating point numbers (attn_c10)}}
func.func @f(%seg: tensor<4xi32> {attn.between = array<f64: 1.0, 2.0>}) {
  return
}

// -----

// attn_c10: of f64
// expected-error @below {{argument #0 has the standard deviation 2 : i64; expected a positive f64 (attn_c10)}}
func.func @f(%w: tensor<4xf32> {attn.deviation = 2 : i64}) {
  return
}

// -----

// attn_c10: of a tensor of floating point numbers
// expected-error @below {{argument #0 has a standard deviation, but is no tensor of floating point numbers (attn_c10)}}
func.func @f(%seg: tensor<4xi32> {attn.deviation = 2.0 : f64}) {
  return
}

// -----

// einsum_c5: the range leaves the table
func.func @f(%t: tensor<4x64xf32>, %seg: tensor<8xi32> {attn.name = "seg", attn.range = array<i64: 0, 5>}) {
  // expected-error @below {{operand #0 is read outside dimension 0: seg[i] reads 5 at seg[i] = 5, but the dimension has indices 0..3 (einsum_c5)}}
  // expected-note @below {{seg[i] runs from 0 to 5}}
  %0 = attn.einsum "(seg[i]) d -> i d" sizes {i = 8 : i64} indices(seg = %seg : tensor<8xi32>) (%t)
      : (tensor<4x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

// einsum_c5: no range at all
func.func @f(%t: tensor<4x64xf32>, %seg: tensor<8xi32> {attn.name = "seg"}) {
  // expected-error @below {{subscript 0 of operand #0, seg[i], is not proven to stay inside the dimension, indices 0..3, as 'seg' declares no range (einsum_c5); give the argument 'attn.range'}}
  %0 = attn.einsum "(seg[i]) d -> i d" sizes {i = 8 : i64} indices(seg = %seg : tensor<8xi32>) (%t)
      : (tensor<4x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

// attn_c11: an origin is a word of the argument struct
// expected-error @below {{argument #0 has the origin "p0"; expected "q0", "k0" or "head0" (attn_c11)}}
func.func @f(%p: tensor<1xi32> {attn.name = "p0", attn.range = array<i64: 0, 4>, attn.origin = "p0"}) { return }

// -----

// attn_c11: one element, with a range from 0
// expected-error @below {{argument #0 is an origin, but no tensor<1xi32> with a range from 0 (attn_c11)}}
func.func @f(%p: tensor<1xi32> {attn.name = "q0", attn.origin = "q0", attn.range = array<i64: 1, 4>}) { return }

// -----

// attn_c14: a promise about a tensor
// expected-error @below {{argument #0 has attn.const = 1 : i64; expected a unit attribute of a tensor that is neither origin nor length (attn_c14)}}
func.func @const_number(%x: tensor<4xf32> {attn.const = 1 : i64}) {
  return
}

// -----

// attn_c14: an origin differs from call to call
// expected-error @below {{argument #0 has attn.const = unit; expected a unit attribute of a tensor that is neither origin nor length (attn_c14)}}
func.func @const_origin(%x: tensor<1xi32> {attn.const, attn.origin = "q0", attn.range = array<i64: 0, 4>}) {
  return
}

// -----

// attn_c11: of i32
// expected-error @below {{argument #0 is an origin, but no tensor<1xi32> with a range from 0 (attn_c11)}}
func.func @f(%p: tensor<2xf32> {attn.name = "q0", attn.origin = "q0"}) { return }

// -----

// A computed index has a name, and a range if reads rely on more than guards. It may come from anywhere, also from linalg.
func.func @computed(%q: tensor<4x64xf32>, %t: tensor<8x64xf32>, %a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xf32> {
  %sum = linalg.add ins(%a, %b : tensor<4xi32>, tensor<4xi32>) outs(%a : tensor<4xi32>) -> tensor<4xi32>
  %row = attn.index "row" in [0, 7] (%sum) : tensor<4xi32>
  %any = attn.index "any" (%b) : tensor<4xi32>
  %0 = attn.einsum "i d, (row[i]) d -> i" where "any[i] == 0" indices(any = %any : tensor<4xi32>, row = %row : tensor<4xi32>) (%q, %t)
      : (tensor<4x64xf32>, tensor<8x64xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// attn_c6: under the name that it was given
func.func @f(%q: tensor<4x64xf32>, %x: tensor<4xi32>) {
  %row = attn.index "row" (%x) : tensor<4xi32>
  // expected-error @below {{index operand 'seg' is an attn.index called 'row' (attn_c6)}}
  %0 = attn.einsum "i d -> i" where "seg[i] == 0" indices(seg = %row : tensor<4xi32>) (%q) : (tensor<4x64xf32>) -> tensor<4xf32>
  return
}

// -----

// attn_c8: proofs use the range
func.func @f(%t: tensor<7x64xf32>, %x: tensor<4xi32>) {
  %row = attn.index "row" in [0, 7] (%x) : tensor<4xi32>
  // expected-error @below {{(einsum_c5)}}
  // expected-note @below {{row[i] runs from 0 to 7; correct the index}}
  %0 = attn.einsum "(row[i]) d -> i d" sizes {i = 4 : i64} indices(row = %row : tensor<4xi32>) (%t) : (tensor<7x64xf32>) -> tensor<4x64xf32>
  return
}

// -----

// index_c1: a name that texts can read
func.func @f(%x: tensor<4xi32>) {
  // expected-error @below {{is called 'a row', which no text can read (index_c1)}}
  %row = attn.index "a row" (%x) : tensor<4xi32>
  return
}

// -----

// index_c1: which no argument has
func.func @f(%x: tensor<4xi32> {attn.name = "row"}) {
  // expected-error @below {{is called 'row', as argument #0 is (index_c1)}}
  %row = attn.index "row" (%x) : tensor<4xi32>
  return
}

// -----

// index_c1: and no other of the function's
func.func @f(%x: tensor<4xi32>) {
  // expected-error @below {{is called 'row', as another attn.index is (index_c1)}}
  %row = attn.index "row" (%x) : tensor<4xi32>
  %same = attn.index "row" (%x) : tensor<4xi32>
  return
}

// -----

// index_c2: a range
func.func @f(%x: tensor<4xi32>) {
  // expected-error @below {{is in array<i64: 5, 2>; expected [low, high], low <= high, both within 32 bits (index_c2)}}
  %row = attn.index "row" in [5, 2] (%x) : tensor<4xi32>
  return
}
