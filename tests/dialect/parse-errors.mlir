// Texts that do not parse: the place in the text, and what was expected.
// RUN: skewer-opt %s -split-input-file -verify-diagnostics

func.func @open_parenthesis(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.einsum' op spec "i (d -> i" does not parse at byte 2: this '(' is never closed (einsum_c1)}}
  %0 = attn.einsum "i (d -> i"(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----
func.func @two_arrows(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.einsum' op spec "i d -> i -> d" does not parse at byte 9: an einsum has one result, found a second '->' (einsum_c1)}}
  %0 = attn.einsum "i d -> i -> d"(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----
func.func @no_arrow(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.einsum' op spec "i d" has no '->' and result (einsum_c1)}}
  %0 = attn.einsum "i d"(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----
func.func @unfinished_guard(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.einsum' op guard "d <=" does not parse at byte 4: expected an operand, found the end of the expression (attn_c3)}}
  %0 = attn.einsum "i d -> i" where "d <="(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----
func.func @unknown_function(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.position' op expression "sqrt(i)" does not parse at byte 0: unknown function 'sqrt'; index expressions have abs, min, max, clamp and select (attn_c3)}}
  %0 = attn.position "i j" = "sqrt(i)" : tensor<4x4xf32>
  return
}

// -----
func.func @empty_mask(%x: tensor<4x4xf32>) {
  // expected-error @below {{'attn.softmax' op mask "" does not parse at byte 0: expected an operand, found the end of the expression (attn_c3)}}
  %0 = attn.softmax "i j" over "j" where ""(%x) : tensor<4x4xf32>
  return
}

// -----
func.func @table_without_row(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.einsum' op guard "[1, 0, 1, 1]" does not parse at byte 0: expected '[' and the row after a table (attn_c3)}}
  %0 = attn.einsum "i d -> i" where "[1, 0, 1, 1]"(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----
func.func @fraction(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.position' op expression "0.5*i" does not parse at byte 1: expected an operator after an integer (attn_c3)}}
  %0 = attn.position "i" = "0.5*i" : tensor<4xf32>
  return
}

// -----
// The syntax refuses an attribute that is no text.
func.func @no_text(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected attribute value}}
  %0 = attn.einsum i d -> i (%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----
// Integers are no numbers of an einsum.
func.func @integers(%x: tensor<4x8xi32>) {
  // expected-error @below {{'attn.einsum' op operand #0 must be variadic of ranked tensor of 16-bit float or bfloat16 type or 32-bit float or 64-bit float values, but got 'tensor<4x8xi32>'}}
  %0 = attn.einsum "i d -> d i"(%x) : (tensor<4x8xi32>) -> tensor<8x4xi32>
  return
}

// -----
// Tensors of unknown rank have no subscripts.
func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @below {{'attn.einsum' op operand #0 must be variadic of ranked tensor of 16-bit float or bfloat16 type or 32-bit float or 64-bit float values, but got 'tensor<*xf32>'}}
  %0 = attn.einsum "i d -> d i"(%x) : (tensor<*xf32>) -> tensor<8x4xf32>
  return
}

// -----
// A term belongs to an attention.
func.func @lone_term(%x: tensor<4x8xf32>) {
  // expected-error @below {{'attn.term' op expects parent op 'attn.attention'}}
  attn.term "i d, j d"(%x, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  return
}
