func.func private @layer(%q: tensor<4x8xf32>, %kv: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i j" value "j e -> i e" (%kv) score {
    attn.term "i d, j d" (%q, %kv) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
func.func @twice(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = call @layer(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = call @layer(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
}
