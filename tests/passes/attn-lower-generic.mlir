// RUN: skewer-opt %s -attn-lower-generic -canonicalize -cse -split-input-file | FileCheck %s

// The example of the pass's description: one phase, the skew as an address.
// CHECK-LABEL: module attributes {attn.plan = #attn.plan<"f", inputs = [<"x", f32, [4 : i64, 7 : i64]>]
// CHECK-SAME: phases = [<function = "f_move", title = "move", items = <fixed = 4, scaled = 0, factors = []>>]
// CHECK-SAME: shared_bytes = <fixed = 0, scaled = 0, factors = []>
// CHECK-LABEL: func.func @f_move(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[OUT:[a-z0-9]+]]: memref<?xf32>
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: scf.for %[[J:[a-z0-9]+]] = %c0 to %c4
// CHECK: %[[ROW:[a-z0-9]+]] = arith.muli %[[I]], %c7
// CHECK: %[[VALUE:[a-z0-9]+]] = memref.load %[[X]]
// CHECK: memref.store %[[VALUE]], %[[OUT]]
// CHECK-NOT: attn.skew
func.func @f(%x: tensor<4x7xf32> {attn.name = "x"}) -> tensor<4x4xf32> {
  %r = attn.skew %x : tensor<4x7xf32> to tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----
// A stage each for the products, the softmax and the sum: [batch, 4, 4] products and weights live together, so 2·64 bytes for
// each of the batch. Their first axes count work items. A masked weight guards the values it is multiplied with.
// CHECK-LABEL: module attributes {attn.plan
// CHECK-SAME: stages = [<title = "elementwise", line = {{[0-9]+}}, bytes = <fixed = 0, scaled = 64, factors = ["batch"]>>
// CHECK-SAME: phases = [<function = "layer_elementwise", title = "elementwise", items = <fixed = 0, scaled = 4, factors = ["batch"]>>
// CHECK-SAME: <function = "layer_softmax", title = "softmax", items = <fixed = 0, scaled = 4, factors = ["batch"]>>
// CHECK-SAME: <function = "layer_einsum", title = "einsum", items = <fixed = 0, scaled = 4, factors = ["batch"]>>]
// CHECK-SAME: shared_bytes = <fixed = 0, scaled = 128, factors = ["batch"]>
// CHECK-LABEL: func.func @layer_elementwise(
// CHECK: memref.view %{{.*}}[%c0][%{{.*}}] : memref<?xi8> to memref<?xf32>
// CHECK: arith.mulf
// CHECK-LABEL: func.func @layer_softmax(
// CHECK: math.exp
// CHECK-LABEL: func.func @layer_einsum(
// CHECK: arith.cmpi ne, {{.*}}, %c-2147483648_i32 : i32
// CHECK: scf.if
// CHECK-NOT: attn.{{softmax|einsum}}
func.func @layer(%s: tensor<?x4x4xf32> {attn.name = "s", attn.shape = ["batch", 4, 4]},
                 %v: tensor<?x4x4xf32> {attn.name = "v", attn.shape = ["batch", 4, 4]})
    -> (tensor<?x4x4xf32> {attn.shape = ["batch", 4, 4]}) attributes {attn.sizes = ["batch"]} {
  %t = arith.mulf %s, %s : tensor<?x4x4xf32>
  %p = attn.softmax "b i j" over "j" where "j <= i" (%t) : tensor<?x4x4xf32>
  %o = attn.einsum "b i j, b j e -> b i e" (%p, %v) : (tensor<?x4x4xf32>, tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return %o : tensor<?x4x4xf32>
}

// -----
// A chain of arithmetic and index maps is one loop without a buffer; it goes in vectors where the subscripts allow.
// CHECK-LABEL: module attributes {attn.plan
// CHECK-SAME: shared_bytes = <fixed = 0, scaled = 0, factors = []>
// CHECK-LABEL: func.func @chain_elementwise(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.load %{{.*}} : memref<?xf32>, vector<8xf32>
// CHECK: math.exp %{{.*}} : vector<8xf32>
// CHECK: arith.addf %{{.*}} : vector<8xf32>
// CHECK: vector.store
// CHECK-NOT: func.func
func.func @chain(%x: tensor<4x64xf32>, %u: tensor<64xf32>) -> tensor<4x64xf32> {
  %a = math.exp %x : tensor<4x64xf32>
  %b = arith.negf %a : tensor<4x64xf32>
  %c = attn.rearrange "d -> i d" sizes {i = 4 : i64} %u : tensor<64xf32> to tensor<4x64xf32>
  %d = arith.addf %b, %c : tensor<4x64xf32>
  return %d : tensor<4x64xf32>
}

// -----
// Three buffers, one after the other, share two places.
// CHECK-LABEL: module attributes {attn.plan
// CHECK-SAME: shared_bytes = <fixed = 512, scaled = 0, factors = []>
func.func @buffers(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %a = attn.softmax "i j" over "j" (%x) : tensor<4x16xf32>
  %b = attn.softmax "i j" over "i" (%a) : tensor<4x16xf32>
  %c = attn.softmax "i j" over "j" (%b) : tensor<4x16xf32>
  %d = attn.softmax "i j" over "i" (%c) : tensor<4x16xf32>
  return %d : tensor<4x16xf32>
}

// -----
// A contraction along consecutive elements is summed in vectors.
// CHECK-LABEL: func.func @dot_einsum
// CHECK: vector.load %{{.*}} : memref<?xf32>, vector<8xf32>
// CHECK: vector.reduction <add>
func.func @dot(%q: tensor<3x32xf32>, %k: tensor<5x32xf32>) -> tensor<3x5xf32> {
  %s = attn.einsum "i d, j d -> i j" (%q, %k) : (tensor<3x32xf32>, tensor<5x32xf32>) -> tensor<3x5xf32>
  return %s : tensor<3x5xf32>
}

// -----
// A constant matrix of indices is a table of the module.
// CHECK: memref.global "private" constant @index_table_0 : memref<3xi64> = dense<[2, 0, 1]>
// CHECK-LABEL: func.func @rows_move
// CHECK: memref.get_global @index_table_0
func.func @rows(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %r = attn.gather %x dimension 0 indices dense<[2, 0, 1]> : tensor<3xi64> : tensor<3x2xf32> to tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
