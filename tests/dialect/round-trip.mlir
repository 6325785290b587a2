// What texts and types of operations keep when they are printed and parsed, beyond one case of each (ops.mlir).
// RUN: skewer-opt %s | skewer-opt | FileCheck %s
// RUN: skewer-opt %s --mlir-print-op-generic | skewer-opt | FileCheck %s
// RUN: skewer-opt %s --emit-bytecode | skewer-opt | FileCheck %s
// RUN: skewer-opt %s --mlir-print-debuginfo --mlir-print-local-scope | skewer-opt | FileCheck %s

// Texts stay as written: spaces, spellings of operators and the order of terms belong to the program.
// CHECK-LABEL: func.func @words
func.func @words(%q: tensor<4x8xf32>, %t: tensor<9x8xf32>) {
  // CHECK: attn.einsum "i d,  (4+j-i) d   -> i j" where "i>=j  &&  !(j==3)"
  %0 = attn.einsum "i d,  (4+j-i) d   -> i j" where "i>=j  &&  !(j==3)" sizes {j = 4 : i64}(%q, %t)
      : (tensor<4x8xf32>, tensor<9x8xf32>) -> tensor<4x4xf32>
  // CHECK: attn.position "i j" = "j // 2 + i % 3"
  %1 = attn.position "i j" = "j // 2 + i % 3" : tensor<4x4xf32>
  return
}

// Index operands of every operation that has texts, in any number and order.
// CHECK-LABEL: func.func @indices
// CHECK-SAME: %{{.*}}: tensor<?x4xi32> {attn.name = "seg", attn.range = array<i64: 0, 1>}
// CHECK-SAME: %{{.*}}: tensor<?xi32> {attn.name = "lengths"}
func.func @indices(%q: tensor<?x4x8xf32>, %e: tensor<2x8xf32>,
                   %seg: tensor<?x4xi32> {attn.name = "seg", attn.range = array<i64: 0, 1>},
                   %lengths: tensor<?xi32> {attn.name = "lengths"}) -> tensor<?x4x8xf32> {
  // CHECK: attn.einsum "b i d, (seg[b, i] != seg[b, j]) d -> b i j" where "j < lengths[b]" sizes {j = 4 : i64} indices(lengths = %{{.*}} : tensor<?xi32>, seg = %{{.*}} : tensor<?x4xi32>)(%{{.*}}, %{{.*}})
  %0 = attn.einsum "b i d, (seg[b, i] != seg[b, j]) d -> b i j" where "j < lengths[b]" sizes {j = 4 : i64}
      indices(lengths = %lengths : tensor<?xi32>, seg = %seg : tensor<?x4xi32>)(%q, %e)
      : (tensor<?x4x8xf32>, tensor<2x8xf32>) -> tensor<?x4x4xf32>
  // CHECK: attn.softmax "b i j" over "j" where "seg[b, i] == seg[b, j]" indices(seg = %{{.*}} : tensor<?x4xi32>)
  %1 = attn.softmax "b i j" over "j" where "seg[b, i] == seg[b, j]" indices(seg = %seg : tensor<?x4xi32>)(%0)
      : tensor<?x4x4xf32>
  // CHECK: attn.logsumexp "b i j" over "j" where "j < lengths[b]" indices(lengths = %{{.*}} : tensor<?xi32>)(%{{.*}}) : tensor<?x4x4xf32> -> tensor<?x4xf32>
  %2 = attn.logsumexp "b i j" over "j" where "j < lengths[b]" indices(lengths = %lengths : tensor<?xi32>)(%0)
      : tensor<?x4x4xf32> -> tensor<?x4xf32>
  // CHECK: attn.position "b i j" = "seg[b, i] - seg[b, j]" indices(seg = %{{.*}} : tensor<?x4xi32>) : tensor<?x4x4xf32>
  %3 = attn.position "b i j" = "seg[b, i] - seg[b, j]" indices(seg = %seg : tensor<?x4xi32>) : tensor<?x4x4xf32>
  // CHECK: attn.attention "b i j" where "j < lengths[b]" indices(lengths = %{{.*}} : tensor<?xi32>) value "b j e -> b i e"
  // CHECK-NEXT: attn.term "" indices(seg = %{{.*}} : tensor<?x4xi32>)() times "seg[b, i] != seg[b, j]" scale -1.000000e+02
  // CHECK-NEXT: attn.term "b i d, (seg[b, j]) d" indices(seg = %{{.*}} : tensor<?x4xi32>)(%{{.*}}, %{{.*}}) scale 1.000000e+00 where "seg[b, i] == 0"
  %4 = attn.attention "b i j" where "j < lengths[b]" indices(lengths = %lengths : tensor<?xi32>) value "b j e -> b i e"(%q) score {
    attn.term "" indices(seg = %seg : tensor<?x4xi32>)() times "seg[b, i] != seg[b, j]" scale -100.0
    attn.term "b i d, (seg[b, j]) d" indices(seg = %seg : tensor<?x4xi32>)(%q, %e) scale 1.0 where "seg[b, i] == 0"
        : tensor<?x4x8xf32>, tensor<2x8xf32>
  } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %4 : tensor<?x4x8xf32>
}

// Every element type that tensors have.
// CHECK-LABEL: func.func @types
func.func @types(%a: tensor<4x8xf16>, %b: tensor<4x8xbf16>, %c: tensor<4x8xf64>) {
  // CHECK: attn.einsum "i d, j d -> i j"(%{{.*}}, %{{.*}}) : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x4xf32>
  %0 = attn.einsum "i d, j d -> i j"(%a, %a) : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x4xf32>
  // CHECK: attn.pad %{{.*}} value 2.500000e-01 : tensor<4x8xbf16> to tensor<5x8xbf16>
  %1 = attn.pad %b low [1, 0] high [0, 0] value 0.25 : tensor<4x8xbf16> to tensor<5x8xbf16>
  // CHECK: attn.softmax "i d" over "d"(%{{.*}}) : tensor<4x8xf64>
  %2 = attn.softmax "i d" over "d"(%c) : tensor<4x8xf64>
  return
}

// Numbers that a decimal text could lose.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: attn.term "i d, j d"(%{{.*}}, %{{.*}}) scale 0.35355339059327379
  // CHECK-NEXT: attn.term "i d, j d"(%{{.*}}, %{{.*}}) scale -0.000000e+00
  // CHECK-NEXT: attn.term "i d, j d"(%{{.*}}, %{{.*}}) scale 4.940660e-324
  %0 = attn.attention "i j" value "j e -> i e"(%q) score {
    attn.term "i d, j d"(%q, %q) scale 0.35355339059327379 : tensor<4x8xf32>, tensor<4x8xf32>
    attn.term "i d, j d"(%q, %q) scale -0.0 : tensor<4x8xf32>, tensor<4x8xf32>
    attn.term "i d, j d"(%q, %q) scale 4.9406564584124654E-324 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Attributes of other dialects stay in place.
// CHECK-LABEL: func.func @foreign_attributes
func.func @foreign_attributes(%q: tensor<4x8xf32>) {
  // CHECK: attn.einsum "i d -> d i"(%{{.*}}) {note = "kept"} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %0 = attn.einsum "i d -> d i"(%q) {note = "kept"} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: attn.reshape %{{.*}} {note = 1 : i64} : tensor<4x8xf32> to tensor<32xf32>
  %1 = attn.reshape %q {note = 1 : i64} : tensor<4x8xf32> to tensor<32xf32>
  return
}
