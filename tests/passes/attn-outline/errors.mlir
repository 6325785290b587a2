// Unknown sizes: one kernel cannot serve all of them.
// RUN: skewer-opt -attn-outline -verify-diagnostics %s
func.func @sizes(%x: tensor<?x4x8xf32> {attn.shape = ["B", 4, 8]}, %y: tensor<?x8xf32> {attn.shape = ["R", 8]}) -> tensor<?x4x8xf32> {
  %z = linalg.add ins(%x, %x : tensor<?x4x8xf32>, tensor<?x4x8xf32>) outs(%x : tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  // expected-error @+1 {{reads run-time sizes of several names, so that those of other operands are unknown}}
  %o = attn.attention "b i j" value "b j e -> b i e" (%z) score {
    attn.term "b i d, b j d" (%x, %z) scale 1.0 : tensor<?x4x8xf32>, tensor<?x4x8xf32>
    attn.term "b i d, b d" (%x, %y) scale 1.0 : tensor<?x4x8xf32>, tensor<?x8xf32>
  } : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %o : tensor<?x4x8xf32>
}
