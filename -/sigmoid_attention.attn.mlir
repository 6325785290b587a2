module {
  func.func @sigmoid_attention(%arg0: tensor<?x4x71x24xf32> {attn.name = "q", attn.shape = ["batch", 4, 71, 24]}, %arg1: tensor<?x4x71x24xf32> {attn.name = "k", attn.shape = ["batch", 4, 71, 24]}, %arg2: tensor<?x4x71x24xf32> {attn.name = "v", attn.shape = ["batch", 4, 71, 24]}, %arg3: tensor<4xf32> {attn.const, attn.deviation = 1.000000e-01 : f64, attn.name = "slope", attn.shape = [4]}) -> (tensor<?x4x71x24xf32> {attn.shape = ["batch", 4, 71, 24]}) attributes {attn.kernel, attn.sizes = ["batch"]} {
    %0 = attn.einsum "b h i d, b h j d -> b h i j"(%arg0, %arg1) : (tensor<?x4x71x24xf32>, tensor<?x4x71x24xf32>) -> tensor<?x4x71x71xf32>
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x4x71x24xf32>
    %cst = arith.constant 0.204124153 : f32
    %splat = tensor.splat %cst[%dim] : tensor<?x4x71x71xf32>
    %1 = arith.mulf %0, %splat : tensor<?x4x71x71xf32>
    %2 = arith.negf %arg3 : tensor<4xf32>
    %3 = attn.position "i j" = "abs(i - j)" : tensor<71x71xf32>
    %4 = attn.rearrange "h -> h i j" sizes {i = 71 : i64, j = 71 : i64} %2 : tensor<4xf32> to tensor<4x71x71xf32>
    %5 = attn.rearrange "i j -> h i j" sizes {h = 4 : i64} %3 : tensor<71x71xf32> to tensor<4x71x71xf32>
    %6 = arith.mulf %4, %5 : tensor<4x71x71xf32>
    %c0_0 = arith.constant 0 : index
    %dim_1 = tensor.dim %arg0, %c0_0 : tensor<?x4x71x24xf32>
    %cst_2 = arith.constant 1.000000e+00 : f32
    %splat_3 = tensor.splat %cst_2[%dim_1] : tensor<?xf32>
    %7 = attn.einsum "h i j, b -> b h i j"(%6, %splat_3) : (tensor<4x71x71xf32>, tensor<?xf32>) -> tensor<?x4x71x71xf32>
    %8 = arith.addf %1, %7 : tensor<?x4x71x71xf32>
    %c0_4 = arith.constant 0 : index
    %dim_5 = tensor.dim %arg0, %c0_4 : tensor<?x4x71x24xf32>
    %cst_6 = arith.constant 4.262680e+00 : f32
    %splat_7 = tensor.splat %cst_6[%dim_5] : tensor<?x4x71x71xf32>
    %9 = arith.subf %8, %splat_7 : tensor<?x4x71x71xf32>
    %c0_8 = arith.constant 0 : index
    %dim_9 = tensor.dim %arg0, %c0_8 : tensor<?x4x71x24xf32>
    %cst_10 = arith.constant 1.000000e+00 : f32
    %splat_11 = tensor.splat %cst_10[%dim_9] : tensor<?x4x71x71xf32>
    %10 = arith.negf %9 : tensor<?x4x71x71xf32>
    %11 = math.exp %10 : tensor<?x4x71x71xf32>
    %12 = arith.addf %11, %splat_11 : tensor<?x4x71x71xf32>
    %13 = arith.divf %splat_11, %12 : tensor<?x4x71x71xf32>
    %14 = attn.position "i j" = "j <= i" : tensor<71x71xf32>
    %c0_12 = arith.constant 0 : index
    %dim_13 = tensor.dim %arg0, %c0_12 : tensor<?x4x71x24xf32>
    %cst_14 = arith.constant 1.000000e+00 : f32
    %splat_15 = tensor.splat %cst_14[%dim_13] : tensor<?xf32>
    %15 = attn.einsum "i j, b -> b h i j" sizes {h = 4 : i64}(%14, %splat_15) : (tensor<71x71xf32>, tensor<?xf32>) -> tensor<?x4x71x71xf32>
    %16 = arith.mulf %13, %15 : tensor<?x4x71x71xf32>
    %17 = attn.einsum "b h i j, b h j d -> b h i d"(%16, %arg2) : (tensor<?x4x71x71xf32>, tensor<?x4x71x24xf32>) -> tensor<?x4x71x24xf32>
    return %17 : tensor<?x4x71x24xf32>
  }
}

