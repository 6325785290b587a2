// The verifiers of logsumexp, and of the attention whose lse it becomes, refuse these: one case for each constraint
// of dialect/SPEC.md.
// RUN: skewer-opt %s --verify-diagnostics --split-input-file

// logsumexp_c1: one name for each dimension
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{operand #0 has 2 dimensions, but is subscripted 'b i j', which has 3 (logsumexp_c1)}}
  %0 = attn.logsumexp "b i j" over "j" (%x) : tensor<4x4xf32> -> tensor<4xf32>
  return
}

// -----

// logsumexp_c2: sizes resolve
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error-re @below {{axis 'jy' has no size{{.*}} (logsumexp_c2)}}
  %0 = attn.logsumexp "i (jy jx)" over "jy jx" (%x) : tensor<4x6xf32> -> tensor<4xf32>
  return
}

// -----

// logsumexp_c3: over is one of the dimensions
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @below {{over "k" is not one of the dimensions "i j" (logsumexp_c3)}}
  %0 = attn.logsumexp "i j" over "k" (%x) : tensor<4x6xf32> -> tensor<4xf32>
  return
}

// -----

// logsumexp_c4: the result lacks that dimension
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error-re @below {{{{.+}} (logsumexp_c4)}}
  %0 = attn.logsumexp "i j" over "j" (%x) : tensor<4x6xf32> -> tensor<6xf32>
  return
}

// -----

// attn_c3: the mask names axes of the operand
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error-re @below {{mask {{.*}}'k'{{.*}} (attn_c3)}}
  %0 = attn.logsumexp "i j" over "j" where "k <= i" (%x) : tensor<4x6xf32> -> tensor<4xf32>
  return
}

// -----

// The result is of f32.
func.func @f(%x: tensor<4x6xf16>) {
  // expected-error @below {{result #0 must be ranked tensor of 32-bit float values, but got 'tensor<4xf16>'}}
  %0 = attn.logsumexp "i j" over "j" (%x) : tensor<4x6xf16> -> tensor<4xf16>
  return
}

// -----

// attention_c10: the lse has the space's dimensions but the last
func.func @f(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>) {
  // expected-error-re @below {{{{.+}} (attention_c10)}}
  %0, %1 = attn.attention "b i j" value "b j e -> b i e" (%k) score {
    attn.term "b i d, b j d" (%q, %k) scale 1.0 : tensor<2x4x8xf32>, tensor<2x6x8xf32>
  } : tensor<2x6x8xf32> -> tensor<2x4x8xf32> lse tensor<2x6xf32>
  return
}
