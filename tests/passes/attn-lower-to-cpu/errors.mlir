// RUN: not skewer-opt %s --attn-lower-to-cpu=target=abacus 2>&1 | FileCheck %s
// CHECK: error: unknown target 'abacus'
func.func @layer(%x: tensor<4x8xf32> {attn.name = "x"}) -> tensor<4x8xf32> attributes {attn.kernel} {
  return %x : tensor<4x8xf32>
}
