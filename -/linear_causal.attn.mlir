module {
  func.func @linear_causal(%arg0: tensor<?x3x83x20xf32> {attn.name = "q", attn.shape = ["batch", 3, 83, 20]}, %arg1: tensor<?x3x83x20xf32> {attn.name = "k", attn.shape = ["batch", 3, 83, 20]}, %arg2: tensor<?x3x83x12xf32> {attn.name = "v", attn.shape = ["batch", 3, 83, 12]}) -> (tensor<?x3x83x12xf32> {attn.shape = ["batch", 3, 83, 12]}) attributes {attn.kernel, attn.sizes = ["batch"]} {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x3x83x20xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %splat = tensor.splat %cst[%dim] : tensor<?x3x83x20xf32>
    %0 = arith.maximumf %arg0, %splat : tensor<?x3x83x20xf32>
    %c0_0 = arith.constant 0 : index
    %dim_1 = tensor.dim %arg0, %c0_0 : tensor<?x3x83x20xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %splat_3 = tensor.splat %cst_2[%dim_1] : tensor<?x3x83x20xf32>
    %1 = arith.minimumf %arg0, %splat_3 : tensor<?x3x83x20xf32>
    %2 = math.exp %1 : tensor<?x3x83x20xf32>
    %3 = arith.addf %0, %2 : tensor<?x3x83x20xf32>
    %c0_4 = arith.constant 0 : index
    %dim_5 = tensor.dim %arg0, %c0_4 : tensor<?x3x83x20xf32>
    %cst_6 = arith.constant 0.000000e+00 : f32
    %splat_7 = tensor.splat %cst_6[%dim_5] : tensor<?x3x83x20xf32>
    %4 = arith.maximumf %arg1, %splat_7 : tensor<?x3x83x20xf32>
    %c0_8 = arith.constant 0 : index
    %dim_9 = tensor.dim %arg0, %c0_8 : tensor<?x3x83x20xf32>
    %cst_10 = arith.constant 0.000000e+00 : f32
    %splat_11 = tensor.splat %cst_10[%dim_9] : tensor<?x3x83x20xf32>
    %5 = arith.minimumf %arg1, %splat_11 : tensor<?x3x83x20xf32>
    %6 = math.exp %5 : tensor<?x3x83x20xf32>
    %7 = arith.addf %4, %6 : tensor<?x3x83x20xf32>
    %8 = attn.einsum "b h i d, b h j d -> b h i j"(%3, %7) : (tensor<?x3x83x20xf32>, tensor<?x3x83x20xf32>) -> tensor<?x3x83x83xf32>
    %9 = attn.position "i j" = "j <= i" : tensor<83x83xf32>
    %c0_12 = arith.constant 0 : index
    %dim_13 = tensor.dim %arg0, %c0_12 : tensor<?x3x83x20xf32>
    %cst_14 = arith.constant 1.000000e+00 : f32
    %splat_15 = tensor.splat %cst_14[%dim_13] : tensor<?xf32>
    %10 = attn.einsum "i j, b -> b h i j" sizes {h = 3 : i64}(%9, %splat_15) : (tensor<83x83xf32>, tensor<?xf32>) -> tensor<?x3x83x83xf32>
    %11 = arith.mulf %8, %10 : tensor<?x3x83x83xf32>
    %12 = attn.einsum "b h i j, b h j e -> b h i e"(%11, %arg2) : (tensor<?x3x83x83xf32>, tensor<?x3x83x12xf32>) -> tensor<?x3x83x12xf32>
    %13 = attn.einsum "b h i j -> b h i"(%11) : (tensor<?x3x83x83xf32>) -> tensor<?x3x83xf32>
    %14 = attn.reshape %13 : tensor<?x3x83xf32> to tensor<?x3x83x1xf32>
    %15 = attn.reshape %14 : tensor<?x3x83x1xf32> to tensor<?x3x83xf32>
    %16 = attn.rearrange "x0 x1 x2 -> x0 x1 x2 x3" sizes {x3 = 12 : i64} %15 : tensor<?x3x83xf32> to tensor<?x3x83x12xf32>
    %17 = arith.divf %12, %16 : tensor<?x3x83x12xf32>
    return %17 : tensor<?x3x83x12xf32>
  }
}

