// A processor from a file: the schedule has its name, its numbers choose the schedule, and the lowering finds it again.
// RUN: sed -e 's/"name": "zen4"/"name": "few"/' -e 's/"registers": {"value": 32/"registers": {"value": 8/' %source_root/passes/Schedule/Machines/zen4.json > %t.json
// RUN: skewer-opt %s --attn-schedule=target=%t.json | FileCheck %s
// RUN: skewer-opt %s --attn-schedule=target=%t.json --attn-lower-to-cpu=target=%t.json | FileCheck %s --check-prefix=LOWERED
// RUN: sed -e 's/"value": 8, "unit": "registers"/"value": 0, "unit": "registers"/' %t.json > %t.bad.json
// RUN: not skewer-opt %s --attn-schedule=target=%t.bad.json 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not skewer-opt %s --attn-schedule=target=%t.none.json 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not skewer-opt %s --attn-schedule=target=%t.json --attn-lower-to-cpu=target=zen4 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: target = "few", lanes = 16, tile_rows = {{[1-3]}}, tile_vectors = {{[1-3]}},
// LOWERED: func.func @layer_attend
// BAD: machine-file.mlir:{{.*}}: error: {{[^ ]*}}.bad.json:9:26: registers: expected a whole number from 8 to 64 (registers), found 0
// NONE: machine-file.mlir:{{.*}}: error: {{[^ ]*}}none.json: cannot read the machine file: No such file or directory
// OTHER: error: {{.*}}schedule is for target 'few', but code is made for 'zen4' (cpu_schedule_c7)
func.func @layer(%q: tensor<2x64x64xf32> {attn.name = "q", attn.shape = [2, 64, 64]},
                 %k: tensor<2x64x64xf32> {attn.name = "k", attn.shape = [2, 64, 64]},
                 %v: tensor<2x64x64xf32> {attn.name = "v", attn.shape = [2, 64, 64]})
    -> (tensor<2x64x64xf32> {attn.shape = [2, 64, 64]}) attributes {attn.kernel, attn.sizes = []} {
  %o = attn.attention "h i j" value "h j e -> h i e" (%v) score {
    attn.term "h i d, h j d" (%q, %k) scale 1.250000e-01 : tensor<2x64x64xf32>, tensor<2x64x64xf32>
  } : tensor<2x64x64xf32> -> tensor<2x64x64xf32>
  return %o : tensor<2x64x64xf32>
}
