// RUN: skewer-opt %s -attn-lower-generic -canonicalize -cse -split-input-file | FileCheck %s
// Operations that do not fuse become loops that read inside memory only, and round once.

// Padding is not read: a guard is around the load.
// CHECK-LABEL: func.func @pad_move(
// CHECK: scf.for %{{.*}} = %c0 to %c7
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: %[[VALUE:.*]] = scf.if %[[INSIDE]] -> (f32) {
// CHECK: memref.load %arg0
// CHECK: } else {
// CHECK-NEXT: scf.yield %cst
// CHECK: memref.store %[[VALUE]], %arg1
func.func @pad(%x: tensor<4xf32> {attn.name = "x"}) -> tensor<7xf32> {
  %r = attn.pad %x low [1] high [2] : tensor<4xf32> to tensor<7xf32>
  return %r : tensor<7xf32>
}

// -----
// A concatenation is a phase for each operand, one after the other.
// CHECK-LABEL: func.func @concat_concatenate(
// CHECK: scf.for %{{.*}} = %c0 to %c4
// CHECK: memref.load %arg0
// CHECK: memref.store %{{.*}}, %arg2
// CHECK-LABEL: func.func @concat_concatenate_2(
// CHECK: scf.for %[[K:.*]] = %c0 to %c3
// CHECK: memref.load %arg1
// CHECK: arith.addi %[[K]], %c4
// CHECK: memref.store %{{.*}}, %arg2
func.func @concat(%x: tensor<2x4xf32> {attn.name = "x"}, %y: tensor<2x3xf32> {attn.name = "y"}) -> tensor<2x7xf32> {
  %r = attn.concat %x, %y dimension 1 : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  return %r : tensor<2x7xf32>
}

// -----
// Halves are widened when they are read, summed in f32, and rounded when they are stored.
// CHECK-LABEL: func.func @half_einsum(
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.shli %{{.*}} : vector<8xi32>
// CHECK: arith.addf %[[SUM]], %{{.*}} : vector<8xf32>
// CHECK: scf.yield
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
// CHECK-NOT: truncf
func.func @half(%x: tensor<4x8xf16> {attn.name = "x"}, %w: tensor<8x8xbf16> {attn.name = "w"}) -> tensor<4x8xf16> {
  %r = attn.einsum "i c, c d -> i d"(%x, %w) : (tensor<4x8xf16>, tensor<8x8xbf16>) -> tensor<4x8xf16>
  return %r : tensor<4x8xf16>
}

// -----
// A run-time index is read inside its operand at every position; its element is in its range by promise.
// CHECK-LABEL: func.func @read_einsum(
// CHECK: %[[LAST:.*]] = arith.subi %arg3, %c1
// CHECK: arith.maxsi %{{.*}}, %c0
// CHECK: %[[AT:.*]] = arith.minsi %{{.*}}, %[[LAST]]
// CHECK: memref.load %arg1[%[[AT]]] : memref<?xi32>
// CHECK: memref.load %arg0
func.func @read(%x: tensor<?x4xf32> {attn.name = "x", attn.shape = ["b", 4]},
                %n: tensor<?xi32> {attn.name = "n", attn.range = array<i64: 0, 3>, attn.shape = ["b"]})
    -> (tensor<?xf32> {attn.shape = ["b"]}) attributes {attn.sizes = ["b"]} {
  %r = attn.einsum "b (n[b]) -> b" indices(n = %n : tensor<?xi32>)(%x) : (tensor<?x4xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----
// Division of positions rounds towards minus infinity by definition, unlike the machine's.
// CHECK-LABEL: func.func @position_elementwise(
// CHECK: %[[OFFSET:.*]] = arith.subi
// CHECK: arith.remsi %[[OFFSET]], %c3
// CHECK: %[[NEGATIVE:.*]] = arith.cmpi slt
// CHECK: arith.select %[[NEGATIVE]]
// CHECK: arith.sitofp
func.func @position(%x: tensor<4xf32> {attn.name = "x"}) -> tensor<4x4xf32> {
  %r = attn.position "i j" = "(i - j) floordiv 3" : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----
// A row without a visible element is -inf, which must not be subtracted as a largest score.
// CHECK-LABEL: func.func @lse_logsumexp(
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[NONE]])
// CHECK: scf.if
// CHECK: arith.cmpf oeq, %{{.*}}, %[[NONE]]
// CHECK: %[[LARGEST:.*]] = arith.select %{{.*}}, %[[ZERO]]
// CHECK: math.exp
// CHECK: math.log
// CHECK: arith.addf %[[LARGEST]]
func.func @lse(%x: tensor<4x8xf32> {attn.name = "x"}) -> tensor<4xf32> {
  %r = attn.logsumexp "i j" over "j" where "j <= i"(%x) : tensor<4x8xf32> -> tensor<4xf32>
  return %r : tensor<4xf32>
}
