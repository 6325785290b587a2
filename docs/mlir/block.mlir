// Part of somebody's model: a projection, two attentions with positions, a residual.
func.func @block(%x: tensor<6x8xf32>, %w: tensor<8x8xf32>, %t: tensor<11x8xf32>) -> tensor<6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x8xf32>) -> tensor<6x8xf32>
  %q = linalg.matmul ins(%x, %w : tensor<6x8xf32>, tensor<8x8xf32>) outs(%init : tensor<6x8xf32>) -> tensor<6x8xf32>
  %o = attn.attention "i j" where "j <= i + 2" value "j e -> i e" (%x) score {
    attn.term "i d, j d" (%q, %x) scale 0.35 : tensor<6x8xf32>, tensor<6x8xf32>
    attn.term "i d, (j - i + 5) d" (%q, %t) scale 0.35 : tensor<6x8xf32>, tensor<11x8xf32>
  } : tensor<6x8xf32> -> tensor<6x8xf32>
  %p = attn.attention "i j" value "j e -> i e" (%o) score {
    attn.term "i d, j d" (%o, %x) scale 0.35 : tensor<6x8xf32>, tensor<6x8xf32>
    attn.term "" () times "abs(i - j)" scale -0.25
  } : tensor<6x8xf32> -> tensor<6x8xf32>
  %r = linalg.add ins(%p, %x : tensor<6x8xf32>, tensor<6x8xf32>) outs(%init : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}
