// Kernels among other functions: bodies that allocate and call phases; symbols that are taken; kernels that cannot be embedded.
// RUN: skewer-opt -attn-embed-kernels=target=x86-64-v3 -split-input-file -verify-diagnostics %s | FileCheck %s
// RUN: not skewer-opt -attn-embed-kernels=target=x87 -split-input-file %s 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: unknown target 'x87'

// Two kernels, one with the name of the other's phase; the caller and the linalg stay.
// CHECK-LABEL: func.func @first(
// CHECK: bufferization.to_buffer %arg0 read_only
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<4x4xf32>
// CHECK: call @[[MOVE:first_move_[0-9]+]](
// CHECK: memref.dealloc
// CHECK: bufferization.to_tensor %{{.*}} restrict writable
// CHECK-LABEL: func.func @first_move(
// CHECK: call @first_move_move(
// CHECK-LABEL: func.func @caller
// CHECK: call @first(
// CHECK: linalg.add
// CHECK: func.func private @[[MOVE]](
// CHECK-NOT: attn.plan
func.func @first(%x: tensor<4x7xf32>) -> tensor<4x4xf32> {
  %r = attn.skew %x : tensor<4x7xf32> to tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
func.func @first_move(%x: tensor<4x7xf32>) -> tensor<7x4xf32> {
  %r = attn.rearrange "a b -> b a" %x : tensor<4x7xf32> to tensor<7x4xf32>
  return %r : tensor<7x4xf32>
}
func.func @caller(%x: tensor<4x7xf32>) -> tensor<4x4xf32> {
  %a = call @first(%x) : (tensor<4x7xf32>) -> tensor<4x4xf32>
  %b = linalg.add ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%a : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----
// The batch is the operand's.
// CHECK-LABEL: func.func @batch
// CHECK: %[[B:.*]] = tensor.dim %arg0, %{{.*}} : tensor<?x4x8xf32>
// CHECK: memref.alloc(%[[B]]) {{.*}} : memref<?x4x8xf32>
// CHECK: call @batch_attend(%{{.*}}, %[[B]],
func.func @batch(%x: tensor<?x4x8xf32> {attn.shape = ["B", 4, 8]}) -> (tensor<?x4x8xf32> {attn.shape = ["B", 4, 8]}) {
  %o = attn.attention "b i j" value "b j e -> b i e" (%x) score {
    attn.term "b i d, b j d" (%x, %x) scale 1.0 : tensor<?x4x8xf32>, tensor<?x4x8xf32>
  } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %o : tensor<?x4x8xf32>
}
