// RUN: skewer-opt %s -attn-gpu-math -split-input-file -verify-diagnostics | FileCheck %s

// The angle is reduced, and polynomials compute sine and cosine of its rest.
// CHECK-LABEL: gpu.func @angle
// CHECK-NOT: math.sin
// CHECK-NOT: math.cos
// CHECK: math.roundeven
// CHECK-NOT: math.sin
// CHECK-NOT: math.cos
// CHECK: gpu.return
gpu.module @kernels {
  gpu.func @angle(%x: f32, %to: !llvm.ptr<1>) kernel {
    %r = math.sin %x : f32
    llvm.store %r, %to : f32, !llvm.ptr<1>
    gpu.return
  }
}

// -----
// f64 is computed in f32.
// CHECK-LABEL: gpu.func @wide
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK-NOT: math.tanh
// CHECK: arith.extf %{{.*}} : f32 to f64
gpu.module @kernels {
  gpu.func @wide(%x: f64, %to: !llvm.ptr<1>) kernel {
    %r = math.tanh %x : f64
    llvm.store %r, %to : f64, !llvm.ptr<1>
    gpu.return
  }
}

// -----
gpu.module @kernels {
  gpu.func @other(%x: i32, %to: !llvm.ptr<1>) kernel {
    // expected-error @below {{no GPU kernel can hold 'math.ipowi'}}
    // expected-note @below {{a function of a plugin is made of operations on single numbers there}}
    %r = math.ipowi %x, %x : i32
    llvm.store %r, %to : i32, !llvm.ptr<1>
    gpu.return
  }
}
