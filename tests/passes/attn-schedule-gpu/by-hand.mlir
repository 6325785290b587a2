// RUN: skewer-opt %s --attn-schedule-gpu=target=sm_80 -split-input-file -verify-diagnostics | FileCheck %s
// A schedule that is written by hand is obeyed, or refused.

// CHECK-LABEL: func.func @obeyed
// CHECK: schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = {{\[}}"matmul", "band"]>
func.func @obeyed(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>, %t: tensor<89x32xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x32xf16>, tensor<89x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul", "band"]>
  return %0 : tensor<45x16xf16>
}

// -----
// With warps of 32 queries.
// CHECK-LABEL: func.func @obeyed_with_wide_warps
// CHECK: strategies = ["matmul", "band"], warp_rows = 32>
func.func @obeyed_with_wide_warps(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>, %t: tensor<89x32xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x32xf16>, tensor<89x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul", "band"], warp_rows = 32>
  return %0 : tensor<45x16xf16>
}

// -----
// Each term has the strategy that the schedule names, if it fits. The model would choose "lookup" for the score.
// CHECK-LABEL: func.func @chosen
// CHECK: strategies = {{\[}}"matmul", "band", "per_score", "per_score"]>
func.func @chosen(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>, %t: tensor<9x32xf16>, %r: tensor<89x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
    attn.term "i d, (clamp(j - i + 4, 0, 8)) d" (%q, %t) scale 0.25 : tensor<45x32xf16>, tensor<9x32xf16>
    attn.term "" () times "abs(i - j)" scale -0.5
  } values {
    attn.term "(j - i + 44) e" (%r) scale 1.0 : tensor<89x16xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul", "band", "per_score", "per_score"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c2: an engine that the target has not
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>, %t: tensor<89x32xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine is 'wgmma', which sm_80 does not have; it has: mma_sync (gpu_schedule_c2)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x32xf16>, tensor<89x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "wgmma", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul", "band"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c7: another target
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>, %t: tensor<89x32xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{schedule is for 'sm_89', but code is made for 'sm_80' (gpu_schedule_c7)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x32xf16>, tensor<89x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_89", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul", "band"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c8: what goes by rows has no use for one
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x1040xf16>) -> tensor<45x1040xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error-re @below {{has a schedule, but goes by rows of scores: {{.+}} (gpu_schedule_c8)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x1040xf16> -> tensor<45x1040xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul"]>
  return %0 : tensor<45x1040xf16>
}

// -----
// gpu_schedule_c9: a strategy of another class
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>, %t: tensor<89x32xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{strategy 2 is 'lookup', but that term is computed by 'band' or 'per_score' (gpu_schedule_c9)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x32xf16>, tensor<89x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul", "lookup"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c10: a tile that no block holds
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>, %t: tensor<89x32xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{its tile needs 315392 bytes of shared memory; a block of sm_80 has 166912 (gpu_schedule_c10)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x32xf16>, tensor<89x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 256, keys = 256, stages = 4, keep_queries = true, strategies = ["matmul", "band"]>
  return %0 : tensor<45x16xf16>
}
