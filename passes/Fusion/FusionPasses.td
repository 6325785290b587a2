//===- The passes that make attentions of a layer, in the order they run ------===//
#ifndef SKEWER_FUSION_PASSES_TD
#define SKEWER_FUSION_PASSES_TD
include "mlir/Pass/PassBase.td"

def AttnRaiseSoftplus : Pass<"attn-raise-softplus", "::mlir::func::FuncOp"> {
  let summary = "logarithms of 1 + exp(x), and of sigmoids, become softplus, which f32 holds for every x";
  let description = [{
    `log(1 + exp(x))` becomes softplus of x, and `log(1 / (1 + exp(x)))`, the logarithm of a sigmoid, becomes its
    negative. Softplus is computed as `max(x, 0) + log1p(exp(-|x|))`, with a series for the second summand. The numbers
    in between stay in the range of f32: a sigmoid below 2^-126 counts as 0, and its logarithm would be -inf, after
    which no running sum of gates is a finite number.

    (* example body=@gate *)
    becomes
    ```mlir
    %n = arith.negf %x : tensor<4xf32>
    // … %series: log1p(exp(-|%n|))
    %p = arith.maximumf %n, %zero : tensor<4xf32>
    %r = arith.addf %p, %series : tensor<4xf32>
    %l = arith.negf %r : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}
def AttnNameAxes : Pass<"attn-name-axes", "::mlir::func::FuncOp"> {
  let summary = "axes get names by their place, whatever names the program gives them";
  let description = [{
    The axes of an operation mean nothing outside it, and their letters mean nothing at all. The pass ensures that no
    letter decides anything later (an order of terms, a role): it names the axes of every operation by their places.
    The dimensions of the result get the names `b h i j`, from the last dimension backwards. The axes of a product get
    the names `iy ix`. The axes that the operation sums over get the names `d`, `d1`, ….

    (* example body=@example *)
    becomes
    ```mlir
    %s = attn.einsum "h i d, h j d -> h i j"(%q, %k) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %p = attn.softmax "h i j" over "j" where "j <= i"(%s) : tensor<2x4x4xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnSplitSoftmax : Pass<"attn-split-softmax", "::mlir::func::FuncOp"> {
  let summary = "the softmax of concatenated scores becomes the softmax of each part, times the part's share";
  let description = [{
    The pass handles a softmax over a concatenation of scores if each reader takes the weights of one part only: for
    example, a learned sink's column that is cut off again, or prefixes with values of their own. The weights of a
    part become the softmax of that part, times the part's share of the sum of exponentials. The share comes from the
    part's lse and the lse of all parts. If an operation reads weights of two parts together, the softmax stays as it
    is. A number that is subtracted from each row first, such as its maximum score, changes nothing.

    Rows of weights that are stacked and read apart, `softmax(x)[:, 0]` and `softmax(x)[:, 1]`, become the softmax of
    each slice.

    (* example body=@example *)
    becomes
    ```mlir
    %own = attn.softmax "i j" over "j"(%scores) : tensor<4x8xf32>
    %lse = attn.logsumexp "i j" over "j"(%scores) : tensor<4x8xf32> -> tensor<4xf32>
    // … %share: exp(%lse - m) / (exp(%lse - m) + exp(%sink - m)), m the greater of both
    %rows = attn.rearrange "x0 -> x0 x1" sizes {x1 = 8 : i64} %share : tensor<4xf32> to tensor<4x8xf32>
    %r = arith.mulf %own, %rows : tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}
def AttnComposeConcat : Pass<"attn-compose-concat", "::mlir::func::FuncOp"> {
  let summary = "a concatenation of parts of one tensor becomes that tensor, read through an index map";
  let description = [{
    The pass handles a concatenation of views of one tensor, some of them negated, that together read the tensor by a
    rotation or repeatedly. The concatenation becomes an `attn.einsum` that says the map, times a vector of signs if
    some views are negated. Examples are the published `rotate_half` of rotary positions, and tables that hold their
    columns twice.

    (* example body=@example *)
    becomes
    ```mlir
    %s = arith.constant dense<[-1.0, -1.0, 1.0, 1.0]> : tensor<4xf32>
    %r = attn.einsum "i ((j + 2) mod 4), j -> i j"(%x, %s) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}
def AttnRaiseSkew : Pass<"attn-raise-skew", "::mlir::func::FuncOp"> {
  let summary = "chains of pad, reshape, slice, gather and rearrange become one index map each";
  let description = [{
    The pass rewrites every index map that the score of a softmax is made from. The map becomes an `attn.einsum` of
    one operand that says the map; a map of a map becomes one einsum that says the composed map. Padding becomes a
    guard unless bounds prove that it is never read. Maps of sums and of multiples move below them, to the einsums. If
    the constant indices of a gather are an index expression (affine, affine on a map's axes, or a step function of
    the offset), the einsum reads through that expression.

    (* example body=@rel_shift *)
    becomes
    ```mlir
    %t = attn.einsum "h i (j - i + 3) -> h i j" sizes {j = 4 : i64}(%l) : (tensor<2x4x7xf32>) -> tensor<2x4x4xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnRaiseRunningSums : Pass<"attn-raise-running-sums", "::mlir::func::FuncOp"> {
  let summary = "products with a triangle of ones become sums up to a position";
  let description = [{
    Code without a cumulative sum multiplies with a constant triangle of ones: for positions that are sums of gates
    (CoPE, arXiv:2405.18719), or decays that are sums of steps (Mamba-2's dual form, arXiv:2405.21060). Such a product
    becomes the sum under the condition that the triangle stands for, which one pass along the axis computes.

    (* example body=@from *)
    becomes
    ```mlir
    %s = attn.einsum "i k -> i j" where "j <= k" sizes {j = 3 : i64}(%x) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnPropagateMasks : Pass<"attn-propagate-masks", "::mlir::func::FuncOp"> {
  let summary = "the mask of a softmax becomes the guard of the einsums that only this softmax reads";
  let description = [{
    A softmax does not read its input where its mask does not hold. So an einsum that nothing else reads can be 0
    there: the mask becomes its guard. Later steps (composition, bounds of tables) can rely on this guard.

    (* example body=@example *)
    becomes
    ```mlir
    %s = attn.einsum "i d, j d -> i j" where "j <= i"(%q, %k) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %p = attn.softmax "i j" over "j" where "j <= i"(%s) : tensor<4x4xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnComposeSkew : Pass<"attn-compose-skew", "::mlir::func::FuncOp"> {
  let summary = "an index map after an einsum becomes an index expression inside the einsum";
  let description = [{
    The subscripts of the map replace the axes of the einsum. They are simplified over the result's box and under its
    guard. If they split a dimension by division, the axes of the dimension get names. The pass composes only the
    operations that make up scores. Contracted axes stay axes: an operand whose map would mix them with others is read
    as it is.

    (* example body=@skew *)
    becomes
    ```mlir
    %s = attn.einsum "h i d, (j - i + 3) d -> h i j" sizes {j = 4 : i64}(%q, %table)
        : (tensor<2x4x8xf32>, tensor<7x8xf32>) -> tensor<2x4x4xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnSumLoneAxes : Pass<"attn-sum-lone-axes", "::mlir::func::FuncOp"> {
  let summary = "a sum over an axis that only one operand has is computed before the product";
  let description = [{
    `Σ_a Σ_c x[a] · y[a, c]` is `Σ_a x[a] · (Σ_c y[a, c])`. The product then runs over fewer elements: the gate of
    WavLM (arXiv:2110.13900, section 2.2) sums four columns of a weight for each token and head. The pass sums only
    operands of the kernel and constants, or index maps of these. It does not sum weights made of scores, because they
    would have to be held. Axes of the guard, of index expressions, of a diagonal and of run-time size stay where they
    are.

    (* example body=@gate *)
    becomes
    ```mlir
    %s = attn.einsum "(o0_0 o0_1) o1 -> o0_0 o1" sizes {o0_0 = 2 : i64, o0_1 = 4 : i64}(%w) : (tensor<8x16xf32>) -> tensor<2x16xf32>
    %o = attn.einsum "i d, a d -> i a"(%x, %s) : (tensor<6x16xf32>, tensor<2x16xf32>) -> tensor<6x2xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnSplitProducts : Pass<"attn-split-products", "::mlir::func::FuncOp"> {
  let summary = "a product with a sum of weights, or with several tensors, becomes products of two tensors";
  let description = [{
    The pass rewrites products of weights and values:

    - If the weights are the difference of two softmaxes (Differential Transformer, arXiv:2410.05258), each softmax
      gets a product of its own.
    - A factor of the weights that does not depend on the query moves to the values. A factor that does not depend on
      the key is multiplied afterwards. If weights without a softmax are also summed up, both kinds of factors move to
      the product of queries and keys, unless the weights are already a function of two sums.
    - Weights of a softmax that are only taken apart, joined or put into another order are read as the softmax gives
      them.
    - If the weights are divided by numbers that are made of their own sums, the result is divided by these instead.
    - In a product with several tensors, those that have no axis of the keys are multiplied afterwards: the last
      projection, a gate of the rows. The tensors other than the weights become one tensor. A factor that has one
      number for each element of the result is multiplied afterwards (Mamba-2's dual form, arXiv:2405.21060, section
      4: decays between queries and keys).

    (* example body=@difference *)
    becomes, where both are softmaxes,
    ```mlir
    %0 = attn.einsum "i j, j c -> i c"(%p, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = attn.einsum "i j, j c -> i c"(%q, %v) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %o = arith.subf %0, %1 : tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}
def AttnFormAttention : Pass<"attn-form-attention", "::mlir::func::FuncOp"> {
  let summary = "softmax of a sum of terms, times values, becomes attn.attention";
  let description = [{
    The pass splits the score into terms, through sums, differences, and products with numbers, which become scales. A
    summand without a form of its own is read as a tensor. The names of axes do not depend on the program: `b`, `h`,
    `g`, … for leading axes, then `i` and `j` (`iy ix` and `jy jx` if all subscripts agree on a map), `d` for the axis
    that a term contracts, and `e` for the values' own axis. Terms that depend on the query alone are dropped, with a
    remark; only their infinities are kept. A softmax that cannot be fused stays as it is, with a remark; the
    function's `attn.unfused` holds the reason.

    The weights can go into several products that are summed, with scales and with other tensors in the sum. One of
    the products has the values; the others become terms of the `values`. A product can read the weights through index
    maps, as absolute-to-relative code does. The pass then changes the axis that the product sums over to the key, if
    it can prove that the sum stays the same.

    (* example body=@example *)
    becomes
    ```mlir
    %o = attn.attention "i j" value "j e -> i e"(%v) score {
      attn.term "i d, j d"(%q, %k) scale 1.000000e+00 : tensor<4x8xf32>, tensor<4x8xf32>
    } : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}
def AttnMergeFeatures : Pass<"attn-merge-features", "::mlir::func::FuncOp"> {
  let summary = "features of queries, keys and values that are several dimensions become one";
  let description = [{
    The axes that a term contracts, and the values' own axes, become one axis each, because tiles support one feature
    axis only. The pass does this if the axes are adjacent and in one order in every tensor that has them. Examples are
    features of heads in groups with a scale each, complex numbers, and capsules.

    (* example body=@groups *)
    becomes
    ```mlir
    %keys = attn.reshape %k : tensor<5x2x8xf32> to tensor<5x16xf32>
    %values = attn.reshape %v : tensor<5x2x8xf32> to tensor<5x16xf32>
    %rows = attn.attention "i j" value "j e -> i e"(%values) score {
      attn.term "i d, j d"(%q, %keys) scale 1.000000e+00 : tensor<4x16xf32>, tensor<5x16xf32>
    } : tensor<5x16xf32> -> tensor<4x16xf32>
    %o = attn.reshape %rows : tensor<4x16xf32> to tensor<4x2x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnSplitPositions : Pass<"attn-split-positions", "::mlir::func::FuncOp"> {
  let summary = "chunks or residues of positions that the mask separates become a leading axis";
  let description = [{
    The pass applies if a query sees only keys of its own chunk (`i floordiv 4 == j floordiv 4`: Llama 4's chunks,
    block-diagonal masks) or of its own residue (`(i - j) mod 4 == 0`: dilated attention), and if chunks divide the
    positions evenly. The chunk or the residue becomes a leading axis: each is an attention of its own, and nothing
    between them is computed.

    (* example body=@example *)
    becomes
    ```mlir
    %o = attn.attention "h i j" where "j <= i" sizes {h = 3 : i64, i = 4 : i64, j = 4 : i64} value "(h j) e -> (h i) e"(%v) score {
      attn.term "(h i) d, (h j) d"(%q, %k) scale 1.000000e+00 : tensor<12x8xf32>, tensor<12x8xf32>
    } : tensor<12x8xf32> -> tensor<12x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnTabulateOffsets : Pass<"attn-tabulate-offsets", "::mlir::func::FuncOp"> {
  let summary = "an operand that depends on offsets alone is computed for each offset, not for each pair of positions";
  let description = [{
    The pass handles an operand of a term that arithmetic computes for each query and key, from parameters of heads,
    tables and positions. If the operand stays the same when query and key move together, the term reads it through a
    view that has a row for each offset. Arithmetic is computed where it is read, so the cost now grows with the sum
    of queries and keys, and no longer with their product. Examples are closed forms of distances with parameters, and
    functions of relative tables.

    (* example body=@example *)
    becomes
    ```mlir
    %t = attn.einsum "h (max(-r1, -63) + 63) (max(r1, 63) - 63) -> h r1" sizes {r1 = 127 : i64} (%f)
        : (tensor<2x64x64xf32>) -> tensor<2x127xf32>
    %o = attn.attention "h i j" value "h j e -> h i e"(%v) score {
      attn.term "h i d, h j d"(%q, %k) scale 1.000000e+00 : tensor<2x64x8xf32>, tensor<2x64x8xf32>
      attn.term "h (j - i + 63)"(%t) scale 1.000000e+00 : tensor<2x127xf32>
    } : tensor<2x64x8xf32> -> tensor<2x64x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnHoistProducts : Pass<"attn-hoist-products", "::mlir::func::FuncOp"> {
  let summary = "a sum inside a term that few positions distinguish is computed once, before the attention";
  let description = [{
    The pass handles terms that are a number for each query and key, where that number is itself a product: a pair
    bias that is projected in the layer (AlphaFold 2, algorithm 13), a table's network, gates that are summed up to a
    key. If there are at most half as many sums as the score has elements, or no more sums than elements of an operand
    that already holds a vector for each query and key, the sums become an `attn.einsum` before the attention, and the
    term reads its result. Products of a vector of the query with a vector of the key, or with the row of a table,
    stay in the score: tiles compute them.

    (* example body=@example *)
    becomes
    ```mlir
    %b = attn.einsum "i j d, d -> i j"(%pair, %w) : (tensor<4x4x8xf32>, tensor<8xf32>) -> tensor<4x4xf32>
    %o = attn.attention "s i j" value "s j e -> s i e"(%v) score {
      attn.term "s i d, s j d"(%q, %k) scale 1.000000e+00 : tensor<6x4x8xf32>, tensor<6x4x8xf32>
      attn.term "i j"(%b) scale 1.000000e+00 : tensor<4x4xf32>
    } : tensor<6x4x8xf32> -> tensor<6x4x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnPrintTermClasses : Pass<"attn-print-term-classes", "::mlir::func::FuncOp"> {
  let summary = "a remark on each term that says its class";
  let description = [{
    The remarks are for people and tests: classes are derived, so the IR does not show them.

    ```
    remark: content: matmul of queries and keys
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnKeepContent : Pass<"attn-keep-content", "::mlir::func::FuncOp"> {
  let summary = "an attention keeps its content and loses its positions, to measure what the positions cost";
  let description = [{
    Each `attn.attention` keeps only the first term of class content, or its first term if none has that class, with
    the mask and the values. The operations that prepared the tables of the other terms are removed too. The result is
    another layer with the same sizes: `skewer bench --plain` times it in the same run.

    (* example body=@positions *)
    becomes
    ```mlir
    %o = attn.attention "h i j" where "j <= i" value "h j e -> h i e"(%v) score {
      attn.term "h i d, h j d"(%q, %k) scale 1.250000e-01 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
    } : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnDenseOperands : Pass<"attn-dense-operands", "::mlir::func::FuncOp"> {
  let summary = "values, keys and queries read at uneven strides get a row for each position";
  let description = [{
    If the flat offset of an operand is not a base plus a stride times the position, a view gives the operand a
    dimension of positions. Examples are blocks of a map with a halo around them, windows of a larger map, and tokens
    in another order. The view is computed where rows are packed, so that nothing is copied twice.

    (* example body=@example *)
    becomes
    ```mlir
    %values = attn.einsum "(2*y + jy) (jx + 1) e -> y (jy jx) e" … (%v) : (tensor<8x6x8xf32>) -> tensor<3x16x8xf32>
    %keys = attn.einsum "(2*y + jy) (jx + 1) d -> y (jy jx) d" … (%k) : (tensor<8x6x8xf32>) -> tensor<3x16x8xf32>
    %o = attn.attention "y i (jy jx)" … value "y (jy jx) e -> y i e" (%values) score {
      attn.term "y i d, y (jy jx) d" (%q, %keys) …
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
#endif
