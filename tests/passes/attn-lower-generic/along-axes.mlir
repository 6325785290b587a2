// RUN: skewer-opt %s -attn-lower-generic -canonicalize -cse -split-input-file | FileCheck %s
// Operations along axes: one pass, with vectors if elements are next to each other.

// A running sum along the last axis: each vector is summed in itself, and the sum before it is carried in f64.
// CHECK-LABEL: func.func @last_einsum(
// CHECK: scf.for %{{.*}} iter_args(%[[BASE:.*]] = %{{.*}}) -> (vector<8xf64>)
// CHECK: vector.load %arg0
// CHECK-COUNT-3: vector.shuffle
// CHECK: vector.store %{{.*}}, %arg1
// CHECK-NOT: scf.if
// CHECK: memref.load %arg0
// CHECK-NOT: scf.if
func.func @last(%x: tensor<3x700xf32> {attn.name = "x"}) -> tensor<3x700xf32> {
  %r = attn.einsum "b t -> b i" where "t <= i" sizes {i = 700 : i64} (%x) : (tensor<3x700xf32>) -> tensor<3x700xf32>
  return %r : tensor<3x700xf32>
}

// -----
// Along another axis there are four independent vectors of lanes; the written sum lacks the element itself.
// CHECK-LABEL: func.func @other_einsum(
// CHECK: scf.for %{{.*}} iter_args({{(%[^,]* = [^,]*, ){3}%.* = .*}}) -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>)
// CHECK-COUNT-4: vector.load %arg0
// CHECK-NOT: vector.shuffle
func.func @other(%x: tensor<700x32xf32> {attn.name = "x"}) -> tensor<700x32xf32> {
  %r = attn.einsum "t d -> i d" where "t < i" sizes {i = 700 : i64} (%x) : (tensor<700x32xf32>) -> tensor<700x32xf32>
  return %r : tensor<700x32xf32>
}

// -----
// A condition on the end of something that the operand has already is no running sum.
// CHECK-LABEL: func.func @window_einsum(
// CHECK: scf.if
func.func @window(%x: tensor<70xf32> {attn.name = "x"}) -> tensor<70xf32> {
  %r = attn.einsum "t -> i" where "t <= i and i - t <= 3" sizes {i = 70 : i64} (%x) : (tensor<70xf32>) -> tensor<70xf32>
  return %r : tensor<70xf32>
}

// -----
// CHECK-LABEL: func.func @largest_extremum(
// CHECK: scf.for %{{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-4: arith.maximumf {{.*}} : vector<8xf32>
// CHECK: vector.reduction <maximumf>
func.func @largest(%x: tensor<3x700xf32> {attn.name = "x"}) -> tensor<3xf32> {
  %r = attn.extremum "b j -> b" (%x) : tensor<3x700xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// -----
// CHECK-LABEL: func.func @least_extremum(
// CHECK: scf.for %{{.*}} -> (vector<8xf32>)
// CHECK: arith.minimumf {{.*}} : vector<8xf32>
// CHECK-NOT: vector.reduction
func.func @least(%x: tensor<700x9xf32> {attn.name = "x"}) -> tensor<9xf32> {
  %r = attn.extremum least "j d -> d" (%x) : tensor<700x9xf32> -> tensor<9xf32>
  return %r : tensor<9xf32>
}
