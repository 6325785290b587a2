func.func @offsets(%q: tensor<?x2x4x8xf32>, %t: tensor<7x8xf32>) -> tensor<?x2x4x4xf32> {
  %s = attn.einsum "b h i d, (j - i + 3) d -> b h i j" sizes {j = 4 : i64} (%q, %t)
      : (tensor<?x2x4x8xf32>, tensor<7x8xf32>) -> tensor<?x2x4x4xf32>
  return %s : tensor<?x2x4x4xf32>
}
