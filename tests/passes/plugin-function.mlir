// RUN: skewer-opt --load-dialect-plugin=%periodic --attn-form-attention %s | FileCheck %s
// RUN: skewer-opt --load-dialect-plugin=%periodic --attn-form-attention --attn-print-term-classes %s 2>&1 | FileCheck %s --check-prefix=CLASS
// A plugin's function becomes part of a term: its arguments are elements of operands and positions. Another kind of
// argument stays a tensor of its own.

// CHECK-LABEL: @seasonal
// CHECK: attn.term "h, h"(%{{.*}}, %{{.*}}) apply "periodic" of ["#1", "i - j"] scale 2.000000e+00 : tensor<4xf32>, tensor<4xf32>
// CLASS: remark: periodic bias: a cosine of the offset: two lines of 8 numbers a head
func.func @seasonal(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %a: tensor<4xf32>, %w: tensor<4xf32>)
    -> tensor<4x8x16xf32> {
  %content = attn.einsum "h i d, h j d -> h i j" (%q, %k) : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %amplitude = attn.rearrange "h -> h i j" sizes {i = 8 : i64, j = 8 : i64} %a : tensor<4xf32> to tensor<4x8x8xf32>
  %frequency = attn.rearrange "h -> h i j" sizes {i = 8 : i64, j = 8 : i64} %w : tensor<4xf32> to tensor<4x8x8xf32>
  %offset = attn.position "i j" = "i - j" : tensor<8x8xf32>
  %offsets = attn.rearrange "i j -> h i j" sizes {h = 4 : i64} %offset : tensor<8x8xf32> to tensor<4x8x8xf32>
  %wave = attn.apply "periodic"(%frequency, %offsets) : tensor<4x8x8xf32>
  %two = arith.constant dense<2.0> : tensor<4x8x8xf32>
  %scaled = arith.mulf %wave, %two : tensor<4x8x8xf32>
  %bias = arith.mulf %amplitude, %scaled : tensor<4x8x8xf32>
  %score = arith.addf %content, %bias : tensor<4x8x8xf32>
  %p = attn.softmax "h i j" over "j" (%score) : tensor<4x8x8xf32>
  %o = attn.einsum "h i j, h j d -> h i d" (%p, %v) : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %o : tensor<4x8x16xf32>
}

// Of the logits: a function of the sum of terms, which the tile computes on its accumulators.
// CHECK-LABEL: @of_logits
// CHECK: attn.term "h i d, h j d"
// CHECK: through
// CHECK: math.cos
// CHECK-NOT: attn.apply
func.func @of_logits(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %content = attn.einsum "h i d, h j d -> h i j" (%q, %k) : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %wave = attn.apply "periodic"(%content, %content) : tensor<4x8x8xf32>
  %p = attn.softmax "h i j" over "j" (%wave) : tensor<4x8x8xf32>
  %o = attn.einsum "h i j, h j d -> h i d" (%p, %v) : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %o : tensor<4x8x16xf32>
}

// Along a map no class of the plugin's own says more than the built-in one.
// CLASS: remark: function: the function periodic(frequency, offset) of a plugin, of an element, ix - jx
func.func @of_a_column(%v: tensor<4x6x16xf32>, %w: tensor<4xf32>) -> tensor<4x6x16xf32> {
  %o = attn.attention "h (iy ix) (jy jx)" sizes {iy = 2 : i64, ix = 3 : i64, jy = 2 : i64, jx = 3 : i64}
      value "h (jy jx) e -> h (iy ix) e" (%v) score {
    attn.term "h"(%w) apply "periodic" of ["#0", "ix - jx"] scale 1.0 : tensor<4xf32>
  } : tensor<4x6x16xf32> -> tensor<4x6x16xf32>
  return %o : tensor<4x6x16xf32>
}
