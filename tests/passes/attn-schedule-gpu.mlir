// RUN: skewer-opt %s --attn-schedule-gpu=target=sm_80 | FileCheck %s
// RUN: skewer-opt %s --attn-schedule-gpu="target=sm_90a rows=32 keys=48 stages=3 queries=shared" | FileCheck %s --check-prefix=PINNED
// RUN: skewer-opt %s --attn-schedule-gpu="rows=32 keys=32 stages=2 rank=5" | FileCheck %s --check-prefix=LAST
// RUN: skewer-opt %s --attn-schedule-gpu=columns=32 | FileCheck %s --check-prefix=PARTS
// RUN: skewer-opt %s --attn-schedule-gpu=target=sm_80 --attn-schedule-gpu=target=sm_80 | FileCheck %s
// RUN: not skewer-opt %s --attn-schedule=target=x86-64-v3 --attn-schedule-gpu 2>&1 | FileCheck %s --check-prefix=PROCESSOR
// RUN: not skewer-opt %s --attn-schedule=target=x86-64-v3 --attn-lower-to-gpu 2>&1 | FileCheck %s --check-prefix=LOWERED
// RUN: not skewer-opt %s --attn-schedule-gpu=target=sm_80 --attn-schedule=target=x86-64-v3 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not skewer-opt %s --attn-schedule-gpu=target=sm_79 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not skewer-opt %s --attn-schedule-gpu=rows=24 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not skewer-opt %s --attn-schedule-gpu=stages=9 2>&1 | FileCheck %s --check-prefix=STAGES

// Each term has a strategy by its class; an existing schedule stays, and is an error if it is for something else.
// PROCESSOR: error: schedule is for 'x86-64-v3', but code is made for 'sm_80' (gpu_schedule_c7)
// LOWERED: error: schedule is for 'x86-64-v3', but code is made for a GPU (gpu_schedule_c7)
// GPU: error: schedule is for 'sm_80', which is no processor, but code is made for 'x86-64-v3' (cpu_schedule_c7)
// CHECK: schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = {{[0-9]+}}, keys = {{[0-9]+}}, stages = {{[23]}}, keep_queries = {{true|false}}, strategies = ["matmul", "band", "lookup", "line", "per_score"]>
// CHECK-NOT: cpu_schedule
// PINNED: target = "sm_90a", engine = "mma_sync", rows = 32, keys = 48, stages = 3, keep_queries = false
// There are no more than two candidates then: queries in registers and in shared memory. A rank behind them is the last.
// LAST: rows = 32, keys = 32, stages = 2, keep_queries = false
// PARTS: "per_score"], columns = 32>
// UNKNOWN: error: unknown GPU 'sm_79'
// ROWS: error: rows is 24, expected a multiple of 16 between 16 and 256 (gpu_schedule_c3)
// STAGES: error: stages is 9, expected a number from 1 to 4 (gpu_schedule_c4)
func.func @layer(%q: tensor<2x100x64xf16> {attn.name = "q", attn.shape = [2, 100, 64]},
                 %k: tensor<2x100x64xf16> {attn.name = "k", attn.shape = [2, 100, 64]},
                 %v: tensor<2x100x64xf16> {attn.name = "v", attn.shape = [2, 100, 64]},
                 %table: tensor<199x64xf16> {attn.name = "table", attn.shape = [199, 64]},
                 %few: tensor<9x64xf16> {attn.name = "few", attn.shape = [9, 64]},
                 %slope: tensor<2xf32> {attn.name = "slope", attn.shape = [2]},
                 %bias: tensor<100x100xf16> {attn.name = "bias", attn.shape = [100, 100]})
    -> (tensor<2x100x64xf16> {attn.shape = [2, 100, 64]}) attributes {attn.kernel, attn.sizes = []} {
  %o = attn.attention "h i j" value "h j e -> h i e" (%v) score {
    attn.term "h i d, h j d" (%q, %k) scale 1.250000e-01 : tensor<2x100x64xf16>, tensor<2x100x64xf16>
    attn.term "h i d, (j - i + 99) d" (%q, %table) scale 1.250000e-01 : tensor<2x100x64xf16>, tensor<199x64xf16>
    attn.term "h i d, (clamp(j - i, -4, 4) + 4) d" (%q, %few) scale 1.250000e-01 : tensor<2x100x64xf16>, tensor<9x64xf16>
    attn.term "h" (%slope) times "abs(i - j)" scale -1.000000e+00 : tensor<2xf32>
    attn.term "i j" (%bias) scale 1.000000e+00 : tensor<100x100xf16>
  } : tensor<2x100x64xf16> -> tensor<2x100x64xf16>
  return %o : tensor<2x100x64xf16>
}
