// RUN: skewer-opt %s -attn-round-products=target=zen4 -split-input-file | FileCheck %s
// RUN: skewer-opt %s -attn-round-products=target=x86-64-v3 -split-input-file | FileCheck %s --check-prefix=FLOATS
// RUN: not skewer-opt %s -attn-round-products=target=none -split-input-file 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: none

// A target that multiplies f32 keeps all digits.
// FLOATS-NOT: {{arith.truncf.*x64xf32}}

// Projections, the attention's result, and what the last projection reads.
// CHECK-LABEL: func.func @module
// CHECK: %[[Q:.*]] = attn.einsum {{.*}} -> tensor<64x64xf32>
// CHECK: %[[QUERIES:.*]] = arith.truncf %[[Q]] : tensor<64x64xf32> to tensor<64x64xbf16>
// CHECK: %[[K:.*]] = attn.einsum {{.*}} -> tensor<64x64xf32>
// CHECK: %[[KEYS:.*]] = arith.truncf %[[K]]
// CHECK: %[[O:.*]] = attn.attention
// CHECK: attn.term "i d, j d"(%[[QUERIES]], %[[KEYS]])
// CHECK: %[[ROWS:.*]] = arith.truncf %[[O]]
// CHECK: attn.einsum "i d, d e -> i e"(%[[ROWS]], %arg4)
func.func @module(%x: tensor<64x64xbf16>, %wq: tensor<64x64xbf16>, %wk: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %wo: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %q = attn.einsum "i c, c d -> i d"(%x, %wq) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %k = attn.einsum "i c, c d -> i d"(%x, %wk) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.250000e-01 : tensor<64x64xf32>, tensor<64x64xf32>
  } : tensor<64x64xbf16> -> tensor<64x64xf32>
  %r = attn.einsum "i d, d e -> i e"(%o, %wo) : (tensor<64x64xf32>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

// -----
// Keys of f32 are multiplied as f32, so queries keep their digits; so does what is also added.
// CHECK-LABEL: func.func @other_reader
// CHECK-NOT: arith.truncf
func.func @other_reader(%x: tensor<64x64xbf16>, %wq: tensor<64x64xbf16>, %k: tensor<64x64xf32>, %v: tensor<64x64xbf16>, %wb: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %q = attn.einsum "i c, c d -> i d"(%x, %wq) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %b = attn.einsum "i c, c d -> i d"(%x, %wb) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.250000e-01 : tensor<64x64xf32>, tensor<64x64xf32>
    attn.term "i j"(%b) scale 1.000000e+00 : tensor<64x64xf32>
  } : tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %o : tensor<64x64xbf16>
}

// -----
// A result of f32 keeps the digits of all that is before it.
// CHECK-LABEL: func.func @single
// CHECK-NOT: arith.truncf
func.func @single(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %wo: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %y = attn.einsum "i c, c d -> i d"(%x, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %r = attn.einsum "i d, d e -> i e"(%y, %wo) : (tensor<64x64xf32>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----
// The result is rounded behind what moves it.
// CHECK-LABEL: func.func @moved
// CHECK: %[[O:.*]] = attn.attention
// CHECK: %[[M:.*]] = attn.rearrange "h i d -> i h d" %[[O]]
// CHECK: %[[ROWS:.*]] = arith.truncf %[[M]]
// CHECK: attn.einsum "i h d, (h d) e -> i e"(%[[ROWS]], %arg3)
func.func @moved(%q: tensor<4x64x16xbf16>, %k: tensor<4x64x16xbf16>, %v: tensor<4x64x16xbf16>, %wo: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %o = attn.attention "h i j" value "h j d -> h i d"(%v) score {
    attn.term "h i d, h j d"(%q, %k) scale 1.250000e-01 : tensor<4x64x16xbf16>, tensor<4x64x16xbf16>
  } : tensor<4x64x16xbf16> -> tensor<4x64x16xf32>
  %m = attn.rearrange "h i d -> i h d" %o : tensor<4x64x16xf32> to tensor<64x4x16xf32>
  %r = attn.einsum "i h d, (h d) e -> i e"(%m, %wo) : (tensor<64x4x16xf32>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

// -----
// Queries that are computed when they are packed are rounded; with few queries, keys are not packed.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[Q:.*]] = arith.mulf
// CHECK: %[[QUERIES:.*]] = arith.truncf %[[Q]]
// CHECK: attn.term "i d, j d"(%[[QUERIES]], %arg1)
func.func @scaled(%q: tensor<64x64xbf16>, %k: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %c: tensor<64x64xf32>) -> tensor<64x64xbf16> {
  %wide = arith.extf %q : tensor<64x64xbf16> to tensor<64x64xf32>
  %scaled = arith.mulf %wide, %c : tensor<64x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%scaled, %k) scale 1.250000e-01 : tensor<64x64xf32>, tensor<64x64xbf16>
  } : tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %o : tensor<64x64xbf16>
}
// CHECK-LABEL: func.func @few
// CHECK-NOT: arith.truncf
func.func @few(%q: tensor<4x64xbf16>, %k: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %c: tensor<4x64xf32>) -> tensor<4x64xbf16> {
  %wide = arith.extf %q : tensor<4x64xbf16> to tensor<4x64xf32>
  %scaled = arith.mulf %wide, %c : tensor<4x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%scaled, %k) scale 1.250000e-01 : tensor<4x64xf32>, tensor<64x64xbf16>
  } : tensor<64x64xbf16> -> tensor<4x64xbf16>
  return %o : tensor<4x64xbf16>
}

// -----
// Exact numbers that are added to queries keep the sum at all its digits.
// CHECK-LABEL: func.func @shifted
// CHECK-NOT: arith.truncf
func.func @shifted(%q: tensor<64x64xbf16>, %k: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %c: tensor<64x64xf32>) -> tensor<64x64xbf16> {
  %wide = arith.extf %q : tensor<64x64xbf16> to tensor<64x64xf32>
  %sum = arith.addf %wide, %c : tensor<64x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%sum, %k) scale 1.250000e-01 : tensor<64x64xf32>, tensor<64x64xbf16>
  } : tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %o : tensor<64x64xbf16>
}

// -----
// Operands of f32 keep their digits.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: arith.truncf
func.func @wide(%q: tensor<64x64xf32>, %c: tensor<64x64xf32>, %k: tensor<64x64xbf16>, %v: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %scaled = arith.mulf %q, %c : tensor<64x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%scaled, %k) scale 1.250000e-01 : tensor<64x64xf32>, tensor<64x64xbf16>
  } : tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %o : tensor<64x64xbf16>
}

// -----
// A result that is scaled and then rounded is bf16, if the arithmetic that rounds it cannot end the attention's stage.
// CHECK-LABEL: func.func @sinks
// CHECK: %[[O:.*]], %[[L:.*]] = attn.attention
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[O]] : tensor<64x16xf32> to tensor<64x16xbf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[ROUNDED]]
// CHECK: arith.mulf %[[WIDE]]
func.func @sinks(%q: tensor<64x16xbf16>, %k: tensor<64x16xbf16>, %v: tensor<64x16xbf16>) -> tensor<64x16xbf16> {
  %o, %lse = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.250000e-01 : tensor<64x16xbf16>, tensor<64x16xbf16>
  } : tensor<64x16xbf16> -> tensor<64x16xf32> lse tensor<64xf32>
  %scale = math.exp %lse : tensor<64xf32>
  %scales = attn.rearrange "i -> i d" sizes {d = 16 : i64} %scale : tensor<64xf32> to tensor<64x16xf32>
  %scaled = arith.mulf %o, %scales : tensor<64x16xf32>
  %r = arith.truncf %scaled : tensor<64x16xf32> to tensor<64x16xbf16>
  return %r : tensor<64x16xbf16>
}
// CHECK-LABEL: func.func @gated
// CHECK: %[[O:.*]], %[[L:.*]] = attn.attention
// CHECK: %[[G:.*]] = arith.mulf %[[O]]
// CHECK: arith.truncf %[[G]]
func.func @gated(%q: tensor<64x16xbf16>, %k: tensor<64x16xbf16>, %v: tensor<64x16xbf16>, %gate: tensor<64x16xf32>) -> (tensor<64x16xbf16>, tensor<64xbf16>) {
  %o, %lse = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.250000e-01 : tensor<64x16xbf16>, tensor<64x16xbf16>
  } : tensor<64x16xbf16> -> tensor<64x16xf32> lse tensor<64xf32>
  %scaled = arith.mulf %o, %gate : tensor<64x16xf32>
  %r = arith.truncf %scaled : tensor<64x16xf32> to tensor<64x16xbf16>
  %l = arith.truncf %lse : tensor<64xf32> to tensor<64xbf16>
  return %r, %l : tensor<64x16xbf16>, tensor<64xbf16>
}
// A sum keeps the digits of both: what remains of two large ones may be small.
// CHECK-LABEL: func.func @sum
// CHECK: %[[O:.*]], %[[L:.*]] = attn.attention
// CHECK: %[[S:.*]] = arith.addf %[[O]]
// CHECK: arith.truncf %[[S]]
func.func @sum(%q: tensor<64x16xbf16>, %k: tensor<64x16xbf16>, %v: tensor<64x16xbf16>) -> tensor<64x16xbf16> {
  %o, %lse = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.250000e-01 : tensor<64x16xbf16>, tensor<64x16xbf16>
  } : tensor<64x16xbf16> -> tensor<64x16xf32> lse tensor<64xf32>
  %wide = attn.rearrange "i -> i d" sizes {d = 16 : i64} %lse : tensor<64xf32> to tensor<64x16xf32>
  %sum = arith.addf %o, %wide : tensor<64x16xf32>
  %r = arith.truncf %sum : tensor<64x16xf32> to tensor<64x16xbf16>
  return %r : tensor<64x16xbf16>
}
// A gate between the attention and a projection.
// CHECK-LABEL: func.func @projected
// CHECK: %[[O:.*]] = attn.attention
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[O]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[ROUNDED]]
// CHECK: arith.mulf %[[WIDE]]
func.func @projected(%q: tensor<64x16xbf16>, %k: tensor<64x16xbf16>, %v: tensor<64x16xbf16>, %gate: tensor<64x16xf32>, %wo: tensor<16x64xbf16>) -> tensor<64x64xbf16> {
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.250000e-01 : tensor<64x16xbf16>, tensor<64x16xbf16>
  } : tensor<64x16xbf16> -> tensor<64x16xf32>
  %scaled = arith.mulf %o, %gate : tensor<64x16xf32>
  %r = attn.einsum "i d, d e -> i e"(%scaled, %wo) : (tensor<64x16xf32>, tensor<16x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

// -----
// The sum of weights that no softmax makes is read: its summands may cancel, so queries and keys keep their digits.
// CHECK-LABEL: func.func @sum
// CHECK: attn.term "i d, j d"(%{{.*}}, %{{.*}}) {{.*}} : tensor<64x64xf32>, tensor<64x64xf32>
func.func @sum(%x: tensor<64x64xbf16>, %wq: tensor<64x64xbf16>, %wk: tensor<64x64xbf16>, %v: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64xbf16>) {
  %q = attn.einsum "i c, c d -> i d"(%x, %wq) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %k = attn.einsum "i c, c d -> i d"(%x, %wk) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  %o, %total = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%q, %k) scale 1.250000e-01 : tensor<64x64xf32>, tensor<64x64xf32>
  } direct : tensor<64x64xbf16> -> tensor<64x64xbf16> total tensor<64xf32>
  %t = arith.truncf %total : tensor<64xf32> to tensor<64xbf16>
  return %o, %t : tensor<64x64xbf16>, tensor<64xbf16>
}

// -----
// Scores that nothing scales are large: a rounded query would move weights by more than the result's own rounding.
// CHECK-LABEL: func.func @large
// CHECK-NOT: arith.truncf
func.func @large(%q: tensor<64x64xbf16>, %k: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %qw = arith.extf %q : tensor<64x64xbf16> to tensor<64x64xf32>
  %cw = arith.extf %c : tensor<64x64xbf16> to tensor<64x64xf32>
  %t = arith.mulf %qw, %cw : tensor<64x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%t, %k) scale 1.000000e+00 : tensor<64x64xf32>, tensor<64x64xbf16>
  } : tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %o : tensor<64x64xbf16>
}
// The same scores in the usual scale.
// CHECK-LABEL: func.func @usual
// CHECK: arith.truncf
func.func @usual(%q: tensor<64x64xbf16>, %k: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %qw = arith.extf %q : tensor<64x64xbf16> to tensor<64x64xf32>
  %cw = arith.extf %c : tensor<64x64xbf16> to tensor<64x64xf32>
  %t = arith.mulf %qw, %cw : tensor<64x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%t, %k) scale 1.250000e-01 : tensor<64x64xf32>, tensor<64x64xbf16>
  } : tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %o : tensor<64x64xbf16>
}

// -----
// Numbers of 8 bits may be large, whatever scales them.
// CHECK-LABEL: func.func @bytes
// CHECK-NOT: arith.truncf
func.func @bytes(%q: tensor<64x64xi8>, %k: tensor<64x64xbf16>, %v: tensor<64x64xbf16>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %qw = arith.sitofp %q : tensor<64x64xi8> to tensor<64x64xf32>
  %cw = arith.extf %c : tensor<64x64xbf16> to tensor<64x64xf32>
  %t = arith.mulf %qw, %cw : tensor<64x64xf32>
  %o = attn.attention "i j" value "j d -> i d"(%v) score {
    attn.term "i d, j d"(%t, %k) scale 1.250000e-01 : tensor<64x64xf32>, tensor<64x64xbf16>
  } : tensor<64x64xbf16> -> tensor<64x64xbf16>
  return %o : tensor<64x64xbf16>
}
