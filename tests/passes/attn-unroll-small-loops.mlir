// RUN: skewer-opt %s -attn-unroll-small-loops -split-input-file | FileCheck %s

// The example of the pass's description.
// CHECK: #[[WHOLE:.*]] = #llvm.loop_unroll<disable = false, full = true>
// CHECK: #[[MARK:.*]] = #llvm.loop_annotation<unroll = #[[WHOLE]]>
// CHECK-LABEL: func.func @example
// CHECK: } {loop_annotation = #[[MARK]]}
func.func @example(%a: memref<4xf32>, %b: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %a[%i] : memref<4xf32>
    memref.store %x, %b[%i] : memref<4xf32>
  }
  return
}

// -----
// Three operations with the yield: 53 turns are 159 of them, 54 are too many.
// CHECK-LABEL: func.func @budget
// CHECK: scf.for %{{.*}} = %c0 to %c53
// CHECK: } {loop_annotation = {{.*}}}
// CHECK: scf.for %{{.*}} = %c0 to %c54
// CHECK-NOT: loop_annotation
// CHECK: return
func.func @budget(%a: memref<54xf32>, %b: memref<54xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c53 = arith.constant 53 : index
  %c54 = arith.constant 54 : index
  scf.for %i = %c0 to %c53 step %c1 {
    %x = memref.load %a[%i] : memref<54xf32>
    memref.store %x, %b[%i] : memref<54xf32>
  }
  scf.for %i = %c0 to %c54 step %c1 {
    %x = memref.load %a[%i] : memref<54xf32>
    memref.store %x, %b[%i] : memref<54xf32>
  }
  return
}

// -----
// Loops with unknown turns, and loops around other loops, stay; operations inside a branch count.
// CHECK-LABEL: func.func @left
// CHECK-NOT: loop_annotation
// CHECK: } {loop_annotation = {{.*}}}
// CHECK-NOT: loop_annotation
// CHECK: return
func.func @left(%a: memref<64xf32>, %n: index, %when: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c33 = arith.constant 33 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %a[%i] : memref<64xf32>
  }
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c2 step %c1 {
      memref.store %zero, %a[%j] : memref<64xf32>
    }
  }
  scf.for %i = %c0 to %c2 step %c1 {
    memref.prefetch %a[%i], read, locality<2>, data : memref<64xf32>
  }
  scf.for %i = %c0 to %c33 step %c1 {
    scf.if %when {
      memref.store %zero, %a[%i] : memref<64xf32>
      %x = memref.load %a[%i] : memref<64xf32>
      memref.store %x, %a[%c0] : memref<64xf32>
    }
  }
  return
}
