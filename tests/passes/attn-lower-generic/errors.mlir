// RUN: skewer-opt %s -attn-lower-generic -split-input-file -verify-diagnostics
// What cannot be lowered says which kernel, and nothing crashes.

func.func @first(%x: tensor<4x8xf32> {attn.name = "x"}) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
// expected-error @below {{a module holds one kernel when it is lowered; 'second' is another}}
func.func @second(%x: tensor<4x8xf32> {attn.name = "x"}) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
