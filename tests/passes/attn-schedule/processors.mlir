// RUN: skewer-opt %s --attn-schedule=target=x86-64-v2 | FileCheck %s --check-prefix=V2
// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 | FileCheck %s --check-prefix=V3
// RUN: skewer-opt %s --attn-schedule=target=x86-64-v4 | FileCheck %s --check-prefix=V4
// RUN: skewer-opt %s --attn-schedule=target=zen4 | FileCheck %s --check-prefix=ZEN4
// RUN: skewer-opt %s --attn-schedule=target=sapphirerapids | FileCheck %s --check-prefix=SPR
// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 > %t.once
// RUN: skewer-opt %s --attn-schedule=target=x86-64-v3 --attn-schedule=target=x86-64-v3 | cmp - %t.once
// RUN: not skewer-opt %s --attn-schedule=target=zen4 --attn-schedule=target=x86-64-v3 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not skewer-opt %s --attn-schedule=target= 2>&1 | FileCheck %s --check-prefix=NONE
// The lanes are the processor's; an existing schedule stays, and is an error if it is another processor's; so is an
// unknown processor.

// V2: schedule #attn.cpu_schedule<target = "x86-64-v2", lanes = 4,
// V3: schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8,
// V4: schedule #attn.cpu_schedule<target = "x86-64-v4", lanes = 16,
// ZEN4: schedule #attn.cpu_schedule<target = "zen4", lanes = 16,
// SPR: schedule #attn.cpu_schedule<target = "sapphirerapids", lanes = 16,
// NONE: error: unknown target ''
// OTHER: error: schedule is for target 'zen4', but code is made for 'x86-64-v3' (cpu_schedule_c7)
// OTHER: note: the cost model would choose #attn.cpu_schedule<target = "x86-64-v3", lanes = 8,
func.func @layer(%q: tensor<8x196x64xf32>, %v: tensor<8x196x64xf32>) -> tensor<8x196x64xf32> attributes {attn.kernel} {
  %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
    attn.term "h i d, h j d"(%q, %v) scale 0.125 : tensor<8x196x64xf32>, tensor<8x196x64xf32>
  } : tensor<8x196x64xf32> -> tensor<8x196x64xf32>
  return %o : tensor<8x196x64xf32>
}
