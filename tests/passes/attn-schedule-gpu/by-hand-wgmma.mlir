// RUN: skewer-opt %s --attn-schedule-gpu=target=sm_90a -split-input-file -verify-diagnostics | FileCheck %s
// Schedules for wgmma that are written by hand are obeyed, or refused where the engine has no code for them.

// CHECK-LABEL: func.func @obeyed
// CHECK: schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 128, keys = 32, stages = 2, keep_queries = false, strategies = {{\[}}"matmul"]>
func.func @obeyed(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 128, keys = 32, stages = 2, keep_queries = false, strategies = ["matmul"]>
  return %0 : tensor<45x16xf16>
}

// -----
// CHECK-LABEL: func.func @obeyed_ahead
// CHECK: engine = "wgmma_ahead", rows = 64, keys = 32, stages = 3
func.func @obeyed_ahead(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma_ahead", rows = 64, keys = 32, stages = 3, keep_queries = false, strategies = ["matmul"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c2: an engine that does not exist
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine is 'tcgen05', which sm_90a does not have; it has: mma_sync, wgmma, wgmma_ahead (gpu_schedule_c2)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "tcgen05", rows = 64, keys = 32, stages = 2, keep_queries = false, strategies = ["matmul"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c12: f32
func.func @f(%q: tensor<45x32xf32>, %v: tensor<45x16xf32>) -> tensor<45x16xf32> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine 'wgmma' multiplies f16 and bf16, not f32 (gpu_schedule_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf32>, tensor<45x32xf32>
  } : tensor<45x16xf32> -> tensor<45x16xf32> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 64, keys = 32, stages = 2, keep_queries = false, strategies = ["matmul"]>
  return %0 : tensor<45x16xf32>
}

// -----
// gpu_schedule_c12: half a warpgroup
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine 'wgmma' needs a multiple of 64 rows, 16 for each warp; the tile has 32, 16 for each (gpu_schedule_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 32, keys = 32, stages = 2, keep_queries = false, strategies = ["matmul"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c12: warps of 32 rows
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine 'wgmma' needs a multiple of 64 rows, 16 for each warp; the tile has 64, 32 for each (gpu_schedule_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 64, keys = 32, stages = 2, keep_queries = false, strategies = ["matmul"], warp_rows = 32>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c12: nothing is filled ahead
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine 'wgmma' needs two stages or more (gpu_schedule_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 64, keys = 32, stages = 1, keep_queries = false, strategies = ["matmul"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c12: two steps at a time need three copies
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine 'wgmma_ahead' needs three stages or more (gpu_schedule_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma_ahead", rows = 64, keys = 32, stages = 2, keep_queries = false, strategies = ["matmul"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c12: queries in registers
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine 'wgmma' reads queries from shared memory; they are not kept in registers (gpu_schedule_c12)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 64, keys = 32, stages = 2, keep_queries = true, strategies = ["matmul"]>
  return %0 : tensor<45x16xf16>
}

// -----
// CHECK-LABEL: func.func @obeyed_boxes
// CHECK: strategies = ["matmul"], copies = "tma">
func.func @obeyed_boxes(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 64, keys = 32, stages = 2, keep_queries = false, strategies = ["matmul"], copies = "tma">
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c14: rows that do not begin at multiples of 16 bytes
func.func @f(%q: tensor<45x20xf16>, %v: tensor<45x12xf16>) -> tensor<45x12xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{copies are 'tma', but no keys, values or tables have rows at fixed distances of whole 16 bytes, of the type that is multiplied (gpu_schedule_c14)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x20xf16>, tensor<45x20xf16>
  } : tensor<45x12xf16> -> tensor<45x12xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "wgmma", rows = 64, keys = 32, stages = 2, keep_queries = false, strategies = ["matmul"], copies = "tma">
  return %0 : tensor<45x12xf16>
}

// -----
// gpu_schedule_c14: all threads fill and compute
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{copies are 'tma', but 'mma_sync' has no threads that only fill tiles (gpu_schedule_c14)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_90a", engine = "mma_sync", rows = 64, keys = 32, stages = 2, keep_queries = true, strategies = ["matmul"], copies = "tma">
  return %0 : tensor<45x16xf16>
}
