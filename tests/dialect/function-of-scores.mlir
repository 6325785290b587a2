// The operations that an attention's `through` may hold, and the results that go with direct weights.
// RUN: skewer-opt %s -split-input-file -verify-diagnostics

// attention_c12: a block that takes numbers
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{expected 'through' to be one block that takes one or more f32 (attention_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } through {
    %c = arith.constant 1.0 : f32
    attn.yield %c : f32
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c12: its end
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{expected 'through' to end in 'attn.yield' (attention_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } through {
  ^bb0(%s: f32):
    %t = math.tanh %s : f32
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c12: arithmetic on single numbers
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{'through' holds 'arith.extf', expected arithmetic on single numbers of f32 (attention_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } through {
  ^bb0(%s: f32):
    %w = arith.extf %s : f32 to f64
    attn.yield %s : f32
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c12: nothing from outside
func.func @f(%v: tensor<4x8xf32>, %x: f32) {
  // expected-error @below {{'through' reads a value from outside (attention_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } through {
  ^bb0(%s: f32):
    %t = arith.mulf %s, %x : f32
    attn.yield %t : f32
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c13: a term for each sum
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{sum 1 of 'through' has no term (attention_c13)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } through {
  ^bb0(%s: f32, %t: f32):
    %w = arith.addf %s, %t : f32
    attn.yield %w : f32
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c14: a softmax's weights have no other sum than 1
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{has a 'total', but its weights are not 'direct': a softmax's sum is 1 (attention_c14)}}
  %0, %1 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 }
    : tensor<4x8xf32> -> tensor<4x8xf32> total tensor<4xf32>
  return
}

// -----

// attention_c14: and direct ones no logarithm of it
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error @below {{has direct weights and an 'lse', which is of a softmax; ask for 'total' (attention_c14)}}
  %0, %1 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } direct
    : tensor<4x8xf32> -> tensor<4x8xf32> lse tensor<4xf32>
  return
}

// -----

// term_c7: a sum that there is
func.func @f(%v: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    // expected-error @below {{is in sum 1, but the attention's 'through' takes 1 (term_c7)}}
    attn.term "" () times "j" scale 1.0 in sum 1
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// term_c7: terms of the values are in none
func.func @f(%v: tensor<4x8xf32>, %t: tensor<4x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 } values {
    // expected-error @below {{is in sum 1, but terms of the values are in none (term_c7)}}
    attn.term "j e" (%t) scale 1.0 in sum 1 : tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// attention_c16: weights of all queries and keys
func.func @f(%v: tensor<4x8xf32>) {
  // expected-error-re @below {{{{.+}} (attention_c16)}}
  %0, %1 = attn.attention "i j" value "j e -> i e" (%v) score { attn.term "" () times "j" scale 1.0 }
    : tensor<4x8xf32> -> tensor<4x8xf32> weights tensor<4x5xf32>
  return
}
