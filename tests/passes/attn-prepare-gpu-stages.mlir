// RUN: skewer-opt %s -attn-prepare-gpu-stages -split-input-file | FileCheck %s

// An attention on a GPU reads f16 as it is stored.
// CHECK-LABEL: func.func @halves
// CHECK-NOT: arith.extf
// CHECK: attn.attention "i j" value "j e -> i e"(%arg2)
// CHECK: attn.term "i d, j d"(%arg0, %arg1) scale 1.000000e+00 : tensor<4x8xf16>, tensor<4x8xf16>
// CHECK: return
func.func @halves(%q: tensor<4x8xf16>, %k: tensor<4x8xf16>, %v: tensor<4x8xf16>) -> tensor<4x8xf32> {
  %queries = arith.extf %q : tensor<4x8xf16> to tensor<4x8xf32>
  %keys = arith.extf %k : tensor<4x8xf16> to tensor<4x8xf32>
  %values = arith.extf %v : tensor<4x8xf16> to tensor<4x8xf32>
  %o = attn.attention "i j" value "j e -> i e"(%values) score {
    attn.term "i d, j d"(%queries, %keys) scale 1.000000e+00 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
