// The verifiers of softmax and position refuse these: one case for each constraint of dialect/SPEC.md.
// RUN: skewer-opt %s --verify-diagnostics --split-input-file

// softmax_c1: the axes parse
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error-re @below {{axes "i )" does not parse at byte {{[0-9]+}}: {{.+}} (softmax_c1)}}
  %0 = attn.softmax "i )" over "j" (%x) : tensor<4x4xf32>
  return
}

// -----

// softmax_c1: one name for each dimension
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{operand #0 has 2 dimensions, but is subscripted 'b i j', which has 3 (softmax_c1)}}
  %0 = attn.softmax "b i j" over "j" (%x) : tensor<4x4xf32>
  return
}

// -----

// softmax_c1: each axis once
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{axes names the axis 'i' twice (softmax_c1)}}
  %0 = attn.softmax "i i" over "i" (%x) : tensor<4x4xf32>
  return
}

// -----

// softmax_c1: no index expressions
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{axes has the index expression i + 1; expected axes or products of axes (softmax_c1)}}
  %0 = attn.softmax "(i + 1) j" over "j" (%x) : tensor<4x4xf32>
  return
}

// -----

// softmax_c2: sizes resolve
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error-re @below {{axis 'jy' has no size{{.*}} (softmax_c2)}}
  %0 = attn.softmax "i (jy jx)" over "jy jx" (%x) : tensor<4x6xf32>
  return
}

// -----

// softmax_c3: over is one of the dimensions
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @below {{over "k" is not one of the dimensions "i j" (softmax_c3)}}
  %0 = attn.softmax "i j" over "k" (%x) : tensor<4x6xf32>
  return
}

// -----

// softmax_c3: all axes of the dimension
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @below {{over "jx" is not one of the dimensions "i (jy jx)" (softmax_c3)}}
  %0 = attn.softmax "i (jy jx)" over "jx" sizes {jx = 3 : i64} (%x) : tensor<4x6xf32>
  return
}

// -----

// softmax_c3: over something
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @below {{over "" is not one of the dimensions "i j" (softmax_c3)}}
  %0 = attn.softmax "i j" over "" (%x) : tensor<4x6xf32>
  return
}

// -----

// attn_c3: masks name axes
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @below {{mask names 'k', which is no axis here; the axes are 'i' and 'j' (attn_c3)}}
  %0 = attn.softmax "i j" over "j" where "k <= i" (%x) : tensor<4x6xf32>
  return
}

// -----

// attn_c2: sizes
func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @below {{size of axis 'jx' is 0 : i64; expected a positive 64-bit integer (attn_c2)}}
  %0 = attn.softmax "i (jy jx)" over "jy jx" sizes {jx = 0 : i64} (%x) : tensor<4x6xf32>
  return
}

// -----

// position_c1: the axes parse and there is one for each dimension
func.func @f() {
  // expected-error @below {{result has 1 dimensions, but the axes are "i j" (position_c1)}}
  %0 = attn.position "i j" = "i" : tensor<4xf32>
  return
}

// -----

// position_c1: each axis once
func.func @f() {
  // expected-error @below {{axes names the axis 'i' twice (position_c1)}}
  %0 = attn.position "i i" = "i" : tensor<4x4xf32>
  return
}

// -----

// position_c2: products are as long as their dimension
func.func @f() {
  // expected-error-re @below {{{{.+}} (position_c2)}}
  %0 = attn.position "(iy ix)" = "iy" sizes {ix = 3 : i64} : tensor<7xf32>
  return
}

// -----

// attn_c3: an expression of the axes only
func.func @f() {
  // expected-error @below {{expression names 'x', which is no axis here; the axes are 'i' (attn_c3)}}
  %0 = attn.position "i" = "x + i" : tensor<4xf32>
  return
}

// -----

// attn_c3: a deep expression is an error, not a crash
func.func @f() {
  // expected-error @below {{names 'x', which is no axis here}}
  %0 = attn.position "i" = "((((((((((((((((((((((((((((((((x))))))))))))))))))))))))))))))))" : tensor<4xf32>
  return
}
