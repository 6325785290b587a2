// The verifiers of pad, reshape, slice, skew, gather and rearrange refuse these: one case for each constraint of dialect/SPEC.md.
// RUN: skewer-opt %s --verify-diagnostics --split-input-file

// attn_c5: elements keep their type
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{moves elements of type 'f32' to a result of 'f16'; expected the same type (attn_c5)}}
  %0 = attn.reshape %x : tensor<4x4xf32> to tensor<16xf16>
  return
}

// -----

// pad_c1: an entry for each dimension
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{has 1 entries in 'low', expected one for each of the 2 dimensions (pad_c1)}}
  %0 = attn.pad %x low [1] high [0, 0] : tensor<4x4xf32> to tensor<5x4xf32>
  return
}

// -----

// pad_c1: ranks
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{result has 3 dimensions, expected 2 as the operand (pad_c1)}}
  %0 = attn.pad %x low [1, 0] high [0, 0] : tensor<4x4xf32> to tensor<5x4x1xf32>
  return
}

// -----

// pad_c2: nothing negative
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{dimension 0 is padded by -1 and 0; expected no negative number, attn.slice removes elements (pad_c2)}}
  %0 = attn.pad %x low [-1, 0] high [0, 0] : tensor<4x4xf32> to tensor<3x4xf32>
  return
}

// -----

// pad_c3: run-time dimensions stay
func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @below {{dimension 0 has run-time size and cannot be padded (pad_c3)}}
  %0 = attn.pad %x low [1, 0] high [0, 0] : tensor<?x4xf32> to tensor<?x4xf32>
  return
}

// -----

// pad_c4: the result's shape
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{dimension 1 of the result has size 7, expected size 4 + 1 + 1 (pad_c4)}}
  %0 = attn.pad %x low [0, 1] high [0, 1] : tensor<4x4xf32> to tensor<4x7xf32>
  return
}

// -----

// pad_c4: sums that overflow
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{(pad_c4)}}
  %0 = attn.pad %x low [9223372036854775807] high [9223372036854775807] : tensor<4xf32> to tensor<2xf32>
  return
}

// -----

// reshape_c1: only the first dimension may be of run-time size
func.func @f(%x: tensor<4x?xf32>) {
  // expected-error @below {{dimension 1 of 4x? has run-time size; only the first may (reshape_c1)}}
  %0 = attn.reshape %x : tensor<4x?xf32> to tensor<?x4xf32>
  return
}

// -----

// reshape_c1: and it stays
func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @below {{reshapes ?x4 to 16; a first dimension of run-time size must stay (reshape_c1)}}
  %0 = attn.reshape %x : tensor<?x4xf32> to tensor<16xf32>
  return
}

// -----

// reshape_c2: the number of elements
func.func @f(%x: tensor<4x27xf32>) {
  // expected-error @below {{reshapes 4x27, 108 elements, to 100, 100 elements (reshape_c2)}}
  %0 = attn.reshape %x : tensor<4x27xf32> to tensor<100xf32>
  return
}

// -----

// slice_c1: an entry for each dimension
func.func @f(%x: tensor<4x27xf32>) {
  // expected-error @below {{has 3 entries in 'strides', expected one for each of the 2 dimensions (slice_c1)}}
  %0 = attn.slice %x offsets [0, 0] strides [1, 1, 1] : tensor<4x27xf32> to tensor<4x14xf32>
  return
}

// -----

// slice_c2: offsets and strides
func.func @f(%x: tensor<4x27xf32>) {
  // expected-error @below {{dimension 1 starts at 0 with stride 0; expected an offset of at least 0 and a stride of at least 1 (slice_c2)}}
  %0 = attn.slice %x offsets [0, 0] strides [1, 0] : tensor<4x27xf32> to tensor<4x14xf32>
  return
}

// -----

// slice_c3: run-time dimensions are taken whole
func.func @f(%x: tensor<?x27xf32>) {
  // expected-error @below {{dimension 0 has run-time size and must be taken whole (slice_c3)}}
  %0 = attn.slice %x offsets [1, 0] strides [1, 1] : tensor<?x27xf32> to tensor<?x27xf32>
  return
}

// -----

// slice_c4: inside
func.func @f(%x: tensor<4x27xf32>) {
  // expected-error @below {{dimension 1 is read at 27, but has indices 0..26 (slice_c4)}}
  %0 = attn.slice %x offsets [0, 14] strides [1, 1] : tensor<4x27xf32> to tensor<4x14xf32>
  return
}

// -----

// slice_c4: far outside
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{dimension 0 is read at an index beyond 64 bits, but has indices 0..3 (slice_c4)}}
  %0 = attn.slice %x offsets [9223372036854775807] strides [9223372036854775807] : tensor<4xf32> to tensor<4xf32>
  return
}

// -----

// skew_c1: two dimensions
func.func @f(%x: tensor<27xf32>) {
  // expected-error @below {{skews 27 to 14; expected the same number of dimensions, at least 2 (skew_c1)}}
  %0 = attn.skew %x : tensor<27xf32> to tensor<14xf32>
  return
}

// -----

// skew_c2: 2l - 1 offsets
func.func @f(%x: tensor<14x28xf32>) {
  // expected-error @below {{operand ends in 14x28; expected l x (2l - 1) with l known at compile time, here 14x27 (skew_c2)}}
  %0 = attn.skew %x : tensor<14x28xf32> to tensor<14x14xf32>
  return
}

// -----

// skew_c3: the result's shape
func.func @f(%x: tensor<3x14x27xf32>) {
  // expected-error @below {{result has shape 2x14x14, expected 3x14x14 (skew_c3)}}
  %0 = attn.skew %x : tensor<3x14x27xf32> to tensor<2x14x14xf32>
  return
}

// -----

// gather_c1: the dimension exists
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{gathers from dimension 2 of an operand with 2 dimensions (gather_c1)}}
  %0 = attn.gather %x dimension 2 indices dense<[0, 1]> : tensor<2xi64> : tensor<3x4xf32> to tensor<3x2xf32>
  return
}

// -----

// gather_c1: rank 0
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{gathers from dimension 0 of an operand with 0 dimensions (gather_c1)}}
  %0 = attn.gather %x dimension 0 indices dense<[0, 1]> : tensor<2xi64> : tensor<f32> to tensor<2xf32>
  return
}

// -----

// gather_c2: of compile-time size
func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @below {{dimension 0 has run-time size; only a compile-time size can be gathered from (gather_c2)}}
  %0 = attn.gather %x dimension 0 indices dense<[0, 1]> : tensor<2xi64> : tensor<?x4xf32> to tensor<2x4xf32>
  return
}

// -----

// gather_c3: indices are inside
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{index 3 at position 2 is outside dimension 0, indices 0..2 (gather_c3)}}
  %0 = attn.gather %x dimension 0 indices dense<[[0, 1], [3, 0]]> : tensor<2x2xi64> : tensor<3x4xf32> to tensor<2x2x4xf32>
  return
}

// -----

// gather_c3: not negative either
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{index -1 at position 0 is outside dimension 0, indices 0..2 (gather_c3)}}
  %0 = attn.gather %x dimension 0 indices dense<-1> : tensor<2xi64> : tensor<3x4xf32> to tensor<2x4xf32>
  return
}

// -----

// gather_c4: the result's shape
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{result has shape 2x4, expected 3x2 (gather_c4)}}
  %0 = attn.gather %x dimension 1 indices dense<[0, 1]> : tensor<2xi64> : tensor<3x4xf32> to tensor<2x4xf32>
  return
}

// -----

// rearrange_c1: the spec parses
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error-re @below {{spec "a b -> (b" does not parse at byte {{[0-9]+}}: {{.+}} (rearrange_c1)}}
  %0 = attn.rearrange "a b -> (b" %x : tensor<3x4xf32> to tensor<4x3xf32>
  return
}

// -----

// rearrange_c1: no index expressions
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{spec reads the operand at a + 1; expected axes or products of axes, attn.slice picks elements (rearrange_c1)}}
  %0 = attn.rearrange "(a + 1) b -> a b" %x : tensor<3x4xf32> to tensor<2x4xf32>
  return
}

// -----

// rearrange_c2: one operand of the right rank
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{subscripts 2 operands, but has 1 (rearrange_c2)}}
  %0 = attn.rearrange "a, b -> a b" %x : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

// rearrange_c3: sizes resolve
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error-re @below {{axis 'k' has no size{{.*}} (rearrange_c3)}}
  %0 = attn.rearrange "a b -> a b k" %x : tensor<3x4xf32> to tensor<3x4x2xf32>
  return
}

// -----

// rearrange_c4: the result's shape
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{dimension 0 of the result has size 3, but 'b' makes size 4 (rearrange_c4)}}
  %0 = attn.rearrange "a b -> b a" %x : tensor<3x4xf32> to tensor<3x4xf32>
  return
}

// -----

// rearrange_c5: elements are not lost
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{drops the axis 'b' of size 4; only an axis of size 1 can be dropped (rearrange_c5)}}
  %0 = attn.rearrange "a b -> a" %x : tensor<3x4xf32> to tensor<3xf32>
  return
}

// -----

// concat_c1: the dimension is there
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{dimension 2 is none of the 2 dimensions, counted from 0 (concat_c1)}}
  %0 = attn.concat %x, %x dimension 2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

// concat_c1: there is an operand
func.func @f() {
  // expected-error @below {{has no operands, expected at least one (concat_c1)}}
  %0 = "attn.concat"() {dimension = 0 : i64} : () -> tensor<6x4xf32>
  return
}

// -----

// concat_c2: one element type
func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x4xf16>) {
  // expected-error @below {{operand 1 has type 'tensor<3x4xf16>', the result 'tensor<6x4xf32>'; expected the same element type (concat_c2)}}
  %0 = attn.concat %x, %y dimension 0 : (tensor<3x4xf32>, tensor<3x4xf16>) -> tensor<6x4xf32>
  return
}

// -----

// concat_c2: one number of dimensions
func.func @f(%x: tensor<3x4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{operand 1 has 1 dimensions, expected 2 as the result (concat_c2)}}
  %0 = attn.concat %x, %y dimension 0 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// concat_c3: the other dimensions agree
func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) {
  // expected-error @below {{dimension 1 of operand 1 has size 5, expected size 4 as the result (concat_c3)}}
  %0 = attn.concat %x, %y dimension 0 : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<6x4xf32>
  return
}

// -----

// concat_c4: the joined size is known
func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @below {{dimension 0 has run-time size; tensors are joined along a compile-time size (concat_c4)}}
  %0 = attn.concat %x, %x dimension 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// concat_c4: sizes add up
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{dimension 0 of the result has size 7, but the operands have 6 together (concat_c4)}}
  %0 = attn.concat %x, %x dimension 0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<7x4xf32>
  return
}
