// Layers without a form in linalg.
// RUN: skewer-opt -attn-to-linalg -verify-diagnostics %s
func.func @unknown_size() -> tensor<?x4xf32> {
  // expected-error @+1 {{has no form in linalg: positions of run-time size have no operand to tell it}}
  %p = attn.position "i j" = "i - j" : tensor<?x4xf32>
  return %p : tensor<?x4xf32>
}
