// RUN: skewer-opt %s -attn-lower-generic -split-input-file -verify-diagnostics
// An error of the lowering names the kernel; nothing crashes.

func.func @first(%x: tensor<4x8xf32> {attn.name = "x"}) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
// expected-error @below {{a module holds one kernel when it is lowered; 'second' is another}}
func.func @second(%x: tensor<4x8xf32> {attn.name = "x"}) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}

// -----

// An index that a kernel reads is an argument.
func.func @computed(%t: tensor<7x8xf32> {attn.name = "t"}, %a: tensor<4xi32> {attn.name = "a"}) -> tensor<4x8xf32> {
  // expected-error @below {{index operand 'row' is computed in the kernel; attn-outline makes an argument of it}}
  %row = attn.index "row" in [0, 6] (%a) : tensor<4xi32>
  %0 = attn.einsum "(row[i]) d -> i d" sizes {i = 4 : i64} indices(row = %row : tensor<4xi32>) (%t) : (tensor<7x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
