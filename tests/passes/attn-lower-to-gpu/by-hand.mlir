// RUN: skewer-opt %s --attn-lower-to-gpu -split-input-file -verify-diagnostics
// A schedule that attn-schedule-gpu has not seen is checked when the kernel is made, for the GPU that it names.

func.func @taken(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>, %t: tensor<89x32xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
    attn.term "i d, (j - i + 44) d" (%q, %t) scale 0.25 : tensor<45x32xf16>, tensor<89x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul", "band"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c2: an engine that the target has not
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{engine is 'wgmma', which sm_80 does not have; it has: mma_sync (gpu_schedule_c2)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "wgmma", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul"]>
  return %0 : tensor<45x16xf16>
}

// -----
// gpu_schedule_c7: no GPU
func.func @f(%q: tensor<45x32xf16>, %v: tensor<45x16xf16>) -> tensor<45x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{schedule is for 'sm_12', which is no GPU that code is made for; 'skewer target' lists them (gpu_schedule_c7)}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %q) scale 0.25 : tensor<45x32xf16>, tensor<45x32xf16>
  } : tensor<45x16xf16> -> tensor<45x16xf16> schedule #attn.gpu_schedule<target = "sm_12", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = true, strategies = ["matmul"]>
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
