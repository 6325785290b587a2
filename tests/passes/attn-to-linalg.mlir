// The dialect as linalg on tensors: inputs with a map, reads by tensor.extract, and clamps.
// RUN: skewer-opt -attn-to-linalg -split-input-file %s | FileCheck %s
// Nothing of the dialect is left, and upstream passes lower the rest.
// RUN: skewer-opt -attn-to-linalg -split-input-file %s | skewer-opt -split-input-file -convert-elementwise-to-linalg -one-shot-bufferize=bufferize-function-boundaries=1 -convert-linalg-to-loops | FileCheck %s --check-prefix=LOOPS
// LOOPS-NOT: linalg.generic
// LOOPS-NOT: {{= "?attn\.}}

// The example of the pass's description.
// CHECK-DAG: #[[QUERY:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[SCORE:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @example
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4x4xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[QUERY]], #[[SCORE]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0 : tensor<4x8xf32>) outs(%[[ZERO]] : tensor<4x4xf32>)
// CHECK: %[[ROW:.*]] = arith.addi
// CHECK: %[[ROW:.*]] = arith.addi
// CHECK: %[[ELEMENT:.*]] = tensor.extract %arg1[%[[ROW]], %{{.*}}] : tensor<7x8xf32>
// CHECK: arith.mulf %{{.*}}, %[[ELEMENT]] : f32
func.func @example(%q: tensor<4x8xf32>, %t: tensor<7x8xf32>) -> tensor<4x4xf32> {
  %s = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64} (%q, %t)
      : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// A contraction over plain axes with a batch of run-time size.
// CHECK-LABEL: func.func @product
// CHECK: %[[B:.*]] = tensor.dim %arg0
// CHECK: tensor.empty(%[[B]]) : tensor<?x4x5xf32>
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1
// CHECK-NOT: tensor.extract
func.func @product(%q: tensor<?x4x8xf32>, %k: tensor<?x5x8xf32>) -> tensor<?x4x5xf32> {
  %s = attn.einsum "b i d, b j d -> b i j" (%q, %k) : (tensor<?x4x8xf32>, tensor<?x5x8xf32>) -> tensor<?x4x5xf32>
  return %s : tensor<?x4x5xf32>
}

// -----
// Under a guard the table is always read inside, and the product is 0 where the guard does not hold.
// CHECK-LABEL: func.func @guarded
// CHECK: linalg.generic
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: tensor.extract %arg1
// CHECK: arith.cmpi sle
// CHECK: arith.select
func.func @guarded(%q: tensor<4x8xf32>, %t: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = attn.einsum "i d, (i - j) d -> i j" where "j <= i" sizes {j = 4 : i64} (%q, %t)
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----
// Products of axes are taken apart, an axis that no operand has alone gets its length from a tensor of that shape.
// CHECK-LABEL: func.func @maps
// CHECK: %[[SHAPE:.*]] = tensor.empty() : tensor<3xf32>
// CHECK: linalg.generic {{.*}}"reduction"]} ins(%[[SHAPE]]
func.func @maps(%x: tensor<6x5xf32>) -> tensor<2x3xf32> {
  %s = attn.einsum "(2*c + y) (x + c) -> y x" sizes {c = 3 : i64, x = 3 : i64, y = 2 : i64} (%x) : (tensor<6x5xf32>) -> tensor<2x3xf32>
  return %s : tensor<2x3xf32>
}

// -----
// Sums of f16 are in f32 and rounded once.
// CHECK-LABEL: func.func @half
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x4xf32>)
// CHECK: arith.extf
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x4xf16>)
// CHECK: arith.truncf
func.func @half(%q: tensor<4x8xf16>, %k: tensor<4x8xf16>) -> tensor<4x4xf16> {
  %s = attn.einsum "i d, j d -> i j" (%q, %k) : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x4xf16>
  return %s : tensor<4x4xf16>
}

// -----
// CHECK-LABEL: func.func @moves
// CHECK: tensor.extract
// CHECK: arith.select
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice
func.func @moves(%x: tensor<?x4x7xf32>) -> tensor<?x9x4xf32> {
  %skew = attn.skew %x : tensor<?x4x7xf32> to tensor<?x4x4xf32>
  %pad = attn.pad %skew low [0, 1, 0] high [0, 0, 0] value 2.0 : tensor<?x4x4xf32> to tensor<?x5x4xf32>
  %both = attn.concat %pad, %skew dimension 1 : (tensor<?x5x4xf32>, tensor<?x4x4xf32>) -> tensor<?x9x4xf32>
  return %both : tensor<?x9x4xf32>
}

// -----
// The largest of a row, the exponentials, their sum, the quotient; a row that is all hidden is 0.
// CHECK-LABEL: func.func @rows
// CHECK: arith.maxnumf
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: math.log
func.func @rows(%x: tensor<4x6xf32>, %n: tensor<4xi32> {attn.name = "n", attn.range = array<i64: 0, 6>}) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %p = attn.softmax "i j" over "j" where "j < n[i]" indices(n = %n : tensor<4xi32>) (%x) : tensor<4x6xf32>
  %l = attn.logsumexp "i j" over "j" (%x) : tensor<4x6xf32> -> tensor<4xf32>
  return %p, %l : tensor<4x6xf32>, tensor<4xf32>
}

// -----
// CHECK-LABEL: func.func @values
// CHECK-COUNT-2: math.exp
// CHECK: return %{{.*}}, %{{.*}}
func.func @values(%q: tensor<?x4x8xf32>, %v: tensor<?x6x3xf32>, %t: tensor<9x3xf32>) -> (tensor<?x4x3xf32>, tensor<?x4xf32>) {
  %o, %l = attn.attention "b i j" where "j != 2" value "b j e -> b i e" (%v) score {
    attn.term "b i (j + 0*i)" (%q) scale 0.5 : tensor<?x4x8xf32>
  } values {
    attn.term "(j - i + 3) e" (%t) scale 1.0 : tensor<9x3xf32>
  } : tensor<?x6x3xf32> -> tensor<?x4x3xf32> lse tensor<?x4xf32>
  %s = math.exp %l : tensor<?x4xf32>
  return %o, %s : tensor<?x4x3xf32>, tensor<?x4xf32>
}


// -----
// A constant table is a private constant of the module.
// CHECK: memref.global "private" constant @index_table_0
// CHECK-LABEL: func.func @buckets
// CHECK: linalg.generic
// CHECK: memref.get_global @index_table_0
func.func @buckets(%t: tensor<3x2xf32>) -> tensor<2x4x4xf32> {
  %s = attn.einsum "([0 x 3, 1, 2 x 3][j - i + 3]) h -> h i j" sizes {i = 4 : i64, j = 4 : i64} (%t) : (tensor<3x2xf32>) -> tensor<2x4x4xf32>
  return %s : tensor<2x4x4xf32>
}

// -----
// A single number; and a size that only a run-time index operand says.
// CHECK-LABEL: func.func @number
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<f32>)
// CHECK: %[[B:.*]] = tensor.dim %arg1
// CHECK: tensor.empty(%[[B]]) : tensor<?x3xf32>
func.func @number(%x: tensor<9xf32>, %n: tensor<?xi32> {attn.name = "n", attn.range = array<i64: 0, 6>}) -> (tensor<f32>, tensor<?x3xf32>) {
  %s = attn.einsum "i ->" (%x) : (tensor<9xf32>) -> tensor<f32>
  %r = attn.einsum "(i + n[b]) -> b i" sizes {i = 3 : i64} indices(n = %n : tensor<?xi32>) (%x) : (tensor<9xf32>) -> tensor<?x3xf32>
  return %s, %r : tensor<f32>, tensor<?x3xf32>
}

// -----
// CHECK-LABEL: func.func @largest
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4xf32>)
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: arith.maximumf
func.func @largest(%x: tensor<4x6xf32>) -> tensor<4xf32> {
  %r = attn.extremum "i j -> i" (%x) : tensor<4x6xf32> -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----
// CHECK-LABEL: func.func @chosen
// CHECK: linalg.generic
// CHECK: arith.cmpf olt
// CHECK: linalg.generic
// CHECK: arith.select
func.func @chosen(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c = attn.apply "<"(%x, %y) : tensor<4x6xf32>
  %r = attn.apply "?:"(%c, %x, %y) : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
