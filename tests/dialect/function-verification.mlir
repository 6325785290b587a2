// RUN: skewer-opt --load-dialect-plugin=%periodic --split-input-file --verify-diagnostics %s
// Functions of plugins: one case for each constraint of dialect/SPEC.md.

func.func @apply_c1(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{no plugin has brought the function 'aperiodic'; known: periodic; load its plugin with --load-dialect-plugin=FILE (apply_c1)}}
  %r = attn.apply "aperiodic"(%a) : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
func.func @apply_c2(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{gives 'periodic' 1 arguments, expected 2: periodic(frequency, offset) (apply_c2)}}
  %r = attn.apply "periodic"(%a) : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----
func.func @term_c6(%v: tensor<1x4x8x8xf32>, %w: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %o = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
    // expected-error @below {{no plugin has brought the function 'chirp'; known: periodic; load its plugin with --load-dialect-plugin=FILE (term_c6)}}
    attn.term "h"(%w) apply "chirp" of ["#0", "j - i"] scale 1.0 : tensor<4xf32>
  } : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return %o : tensor<1x4x8x8xf32>
}

// -----
func.func @term_c6_count(%v: tensor<1x4x8x8xf32>, %w: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %o = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
    // expected-error @below {{gives 'periodic' 1 arguments, expected 2: periodic(frequency, offset) (term_c6)}}
    attn.term "h"(%w) apply "periodic" of ["#0"] scale 1.0 : tensor<4xf32>
  } : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return %o : tensor<1x4x8x8xf32>
}

// -----
func.func @term_c6_operand(%v: tensor<1x4x8x8xf32>, %w: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %o = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
    // expected-error @below {{argument 1 of 'periodic': '#1' is no operand; the term has 1, from #0 on (term_c6)}}
    attn.term "h"(%w) apply "periodic" of ["#1", "j - i"] scale 1.0 : tensor<4xf32>
  } : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return %o : tensor<1x4x8x8xf32>
}

// -----
func.func @term_c6_contracted(%v: tensor<1x4x8x8xf32>, %w: tensor<4x8xf32>) -> tensor<1x4x8x8xf32> {
  %o = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
    // expected-error @below {{argument 1 of 'periodic': operand #0 has the axis 'd', which is none of the score's (term_c6)}}
    attn.term "h d"(%w) apply "periodic" of ["#0", "j - i"] scale 1.0 : tensor<4x8xf32>
  } : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return %o : tensor<1x4x8x8xf32>
}

// -----
func.func @term_c6_values(%v: tensor<1x4x8x8xf32>, %w: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %o = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
    attn.term "" () times "j - i" scale 1.0
  } values {
    // expected-error @below {{applies 'periodic' among the values; functions are for terms of the score (term_c6)}}
    attn.term "h"(%w) apply "periodic" of ["#0", "j - i"] scale 1.0 : tensor<4xf32>
  } : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return %o : tensor<1x4x8x8xf32>
}

// -----
func.func @attn_c3(%v: tensor<1x4x8x8xf32>, %w: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %o = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
    // expected-error @below {{argument 2 of 'periodic'}}
    attn.term "h"(%w) apply "periodic" of ["#0", "j - k"] scale 1.0 : tensor<4xf32>
  } : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  return %o : tensor<1x4x8x8xf32>
}
