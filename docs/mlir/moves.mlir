func.func @moves(%x: tensor<?x4x6xf32>) -> tensor<?x24xf32> {
  %flat = attn.reshape %x : tensor<?x4x6xf32> to tensor<?x24xf32>
  %same = attn.rearrange "b (n d) -> b (n d)" sizes {n = 4 : i64} %flat : tensor<?x24xf32> to tensor<?x24xf32>
  %split = attn.reshape %same : tensor<?x24xf32> to tensor<?x3x8xf32>
  %joined = attn.reshape %split : tensor<?x3x8xf32> to tensor<?x24xf32>
  %padded = attn.pad %joined low [0, 2] high [0, 0] : tensor<?x24xf32> to tensor<?x26xf32>
  %inside = attn.slice %padded offsets [0, 2] strides [1, 1] : tensor<?x26xf32> to tensor<?x24xf32>
  %unread = attn.softmax "b n" over "n" (%inside) : tensor<?x24xf32>
  return %inside : tensor<?x24xf32>
}
