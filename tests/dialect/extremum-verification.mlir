// RUN: skewer-opt %s --split-input-file --verify-diagnostics

// extremum_c1
func.func @extremum_c1_parses(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{(extremum_c1)}}
  %r = attn.extremum "a (b -> a" (%x) : tensor<2x3xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// -----
func.func @extremum_c1_result(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{spec "a b" has no '->' and result (extremum_c1)}}
  %r = attn.extremum "a b" (%x) : tensor<2x3xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// -----
func.func @extremum_c1_expression(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{spec "a (b + 1) -> a" has an index expression; its dimensions are axes and products of axes (extremum_c1)}}
  %r = attn.extremum "a (b + 1) -> a" sizes {b = 2 : i64} (%x) : tensor<2x3xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// -----
func.func @extremum_c1_rank(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{(extremum_c1)}}
  %r = attn.extremum "a b c -> a" (%x) : tensor<2x3xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// -----
func.func @extremum_c2(%x: tensor<2x6xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{(extremum_c2)}}
  %r = attn.extremum "a (b c) -> a" (%x) : tensor<2x6xf32> -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// -----
func.func @extremum_c3(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{the result has an axis 'e' that the operand lacks (extremum_c3)}}
  %r = attn.extremum "a b -> a e" sizes {e = 4 : i64} (%x) : tensor<2x3xf32> -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// -----
func.func @extremum_c4(%x: tensor<2x3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{(extremum_c4)}}
  %r = attn.extremum "a b -> a" (%x) : tensor<2x3xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}
