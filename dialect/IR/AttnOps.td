//===- Operations of the attn dialect --------------------------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNOPS_TD
#define SKEWER_DIALECT_IR_ATTNOPS_TD
include "dialect/IR/AttnBase.td"
include "dialect/IR/AttnInterfaces.td"
include "dialect/IR/AttnAttributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

// Index maps fold: IndexMapFolds.cpp.
class Attn_IndexMapOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<IndexMapOpInterface>], traits)> {
  let hasFolder = 1;
}
// The type of the result follows from operands and attributes: builders need not say it (InferTypes.cpp). The verifiers,
// with their numbered constraints, have the last word on a type that is written.
def Attn_InferType : InferTypeOpAdaptorBase<[{
  static ::llvm::LogicalResult refineReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>, ::mlir::ValueRange,
                                                 ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
                                                 ::llvm::SmallVectorImpl<::mlir::Type> &) {
    return ::llvm::success();
  }
}]>;
def Attn_IndexTensor : RankedTensorOf<[I32]>;
// `indices(seg = %seg : tensor<?x40xi32>)`: the run-time index operands that an operation's texts read, `seg[b, i]`, by
// name. Constraints attn_c6 to attn_c9.

def IndexOp : Attn_Op<"index", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "names a tensor of i32 as a run-time index operand, and says which values its elements have";
  let description = [{
    The result holds the elements of the operand. Index expressions, guards and masks read it by the name given here,
    `bucket[i, j]`, as they read an argument of a kernel by its `attn.name`. So any operations can compute indices at
    the place where they are needed. `in` promises that every element lies between the first and the second number,
    both inclusive, as `attn.range` does for an argument. Without `in`, an element can be any i32. Constraints
    index_c1 and index_c2.

    This operation is written by hand, or by a pipeline that runs before this one. `attn-outline` makes it an argument
    of the kernel, with its name and range. `attn-to-linalg` replaces it with its operand. A function that holds an
    `attn.index` is not a kernel.

    ```mlir
    %bucket = attn.index "bucket" in [0, 31] (%computed) : tensor<?x40xi32>
    %s = attn.einsum "b h i d, h (bucket[b, i]) d -> b h i" indices(bucket = %bucket : tensor<?x40xi32>) (%q, %table)
        : (tensor<?x4x40x64xf32>, tensor<4x32x64xf32>) -> tensor<?x4x40xf32>
    ```
  }];
  let arguments = (ins StrAttr:$called, OptionalAttr<DenseI64ArrayAttr>:$range, Attn_IndexTensor:$input);
  let results = (outs Attn_IndexTensor:$result);
  let assemblyFormat = "$called (`in` $range^)? `(` $input `)` attr-dict `:` type($result)";
}

def EinsumOp : Attn_Op<"einsum", [Pure, AttrSizedOperandSegments]> {
  let summary = "a contraction that reads its operands through index expressions";
  let description = [{
    The operation computes `result[r…] = Σ over contracted axes of Π operand[subscripts]`, accumulated in at least
    f32. Subscripts are written as in the literature, with one addition: a dimension can be an index expression in
    parentheses. If there is a `guard`, elements at which it is 0 are 0. The sizes of axes come from the operands'
    shapes. `sizes` holds the sizes of axes that no operand has.

    The verifier proves that every index expression stays inside its operand wherever the guard holds (constraints
    einsum_c1 to einsum_c5 of dialect/SPEC.md): the table below has 27 rows because `j - i + 13` takes 27 values.
    Subscripts and the guard can read run-time index operands, which `indices` names. Their values are within the
    range that the kernel's argument declares (`attn.range`).

    The language front end and `attn-compose-skew` create it; `attn-form-attention` or `attn-lower-generic` removes
    it.

    ```mlir
    %r = attn.einsum "b h i d, (j - i + 13) d -> b h i j" sizes {j = 14 : i64} (%q, %table)
        : (tensor<?x4x14x64xf32>, tensor<27x64xf32>) -> tensor<?x4x14x14xf32>
    %s = attn.einsum "b h i d, h (seg[b, i] != seg[b, j]) d -> b h i j" sizes {j = 14 : i64}
        indices(seg = %seg : tensor<?x14xi32>) (%q, %embedding)
        : (tensor<?x4x14x64xf32>, tensor<4x2x64xf32>) -> tensor<?x4x14x14xf32>
    ```
  }];
  let arguments = (ins StrAttr:$spec, OptionalAttr<DictionaryAttr>:$sizes, OptionalAttr<StrAttr>:$guard,
                       OptionalAttr<StrArrayAttr>:$index_names, Variadic<Attn_FloatTensor>:$inputs,
                       Variadic<Attn_IndexTensor>:$indices);
  let results = (outs Attn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::StringAttr":$spec, "::mlir::DictionaryAttr":$sizes,
                                 "::mlir::StringAttr":$guard, "::mlir::ValueRange":$inputs),
    "build($_builder, $_state, result, spec, sizes, guard, {}, inputs, {});">];
  let assemblyFormat = [{
    $spec (`where` $guard^)? (`sizes` $sizes^)? (`indices` `` custom<Indices>($index_names, $indices, type($indices))^)?
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)
  }];
}

def SoftmaxOp : Attn_Op<"softmax", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "softmax over one dimension, on the elements that a mask leaves";
  let description = [{
    `axes` names the input's dimensions ("b h i j", "b h (iy ix) (jy jx)"). `over` lists the axes of one of them.
    `mask` is a predicate of the axes. An element at which it is 0 takes no part: its weight is 0 even if the input
    holds NaN there. The weight of an element that is -inf is 0 too. A row that has no element left, or only -inf, is
    all 0, never NaN. Constraints softmax_c1 to softmax_c3.

    The language front end creates it; `attn-form-attention` or `attn-lower-generic` removes it.

    ```mlir
    %p = attn.softmax "b h i j" over "j" where "j <= i" (%score) : tensor<?x4x14x14xf32>
    %padded = attn.softmax "b h i j" over "j" where "j < lengths[b]" indices(lengths = %lengths : tensor<?xi32>) (%score)
        : tensor<?x4x14x14xf32>
    ```
  }];
  let arguments = (ins StrAttr:$axes, StrAttr:$over, OptionalAttr<StrAttr>:$mask, OptionalAttr<DictionaryAttr>:$sizes,
                       OptionalAttr<StrArrayAttr>:$index_names, Attn_FloatTensor:$input,
                       Variadic<Attn_IndexTensor>:$indices);
  let results = (outs Attn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::StringAttr":$axes, "::mlir::StringAttr":$over,
                                 "::mlir::StringAttr":$mask, "::mlir::DictionaryAttr":$sizes, "::mlir::Value":$input),
    "build($_builder, $_state, result, axes, over, mask, sizes, {}, input, ::mlir::ValueRange());">];
  let assemblyFormat = [{
    $axes `over` $over (`where` $mask^)? (`sizes` $sizes^)? (`indices` `` custom<Indices>($index_names, $indices, type($indices))^)?
    `(` $input `)` attr-dict `:` type($result)
  }];
}

def LogSumExpOp : Attn_Op<"logsumexp", [Pure, Attn_InferType]> {
  let summary = "the logarithm of the sum of exponentials along one dimension, on the elements that a mask leaves";
  let description = [{
    The result is the natural logarithm of `Σ exp(input)` along `over`, over the elements at which `mask` is not 0:
    the logarithm of the number that a softmax over the same elements divides by. The result lacks that dimension and
    has elements of f32. If no element is left, or all of them are -inf, it is -inf, never NaN. Constraints
    logsumexp_c1 to logsumexp_c4.

    The language front end creates it. `attn-form-attention` makes it the second result of the attention whose scores
    it reads; `attn-lower-generic` and `attn-lower-to-cpu` make it a loop.

    ```mlir
    %lse = attn.logsumexp "b h i j" over "j" where "j <= i" (%score) : tensor<?x4x14x14xf32> -> tensor<?x4x14xf32>
    ```
  }];
  let arguments = (ins StrAttr:$axes, StrAttr:$over, OptionalAttr<StrAttr>:$mask, OptionalAttr<DictionaryAttr>:$sizes,
                       OptionalAttr<StrArrayAttr>:$index_names, Attn_FloatTensor:$input,
                       Variadic<Attn_IndexTensor>:$indices);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::StringAttr":$axes, "::mlir::StringAttr":$over,
                                 "::mlir::StringAttr":$mask, "::mlir::DictionaryAttr":$sizes, "::mlir::Value":$input),
    "build($_builder, $_state, result, axes, over, mask, sizes, {}, input, ::mlir::ValueRange());">];
  let assemblyFormat = [{
    $axes `over` $over (`where` $mask^)? (`sizes` $sizes^)? (`indices` `` custom<Indices>($index_names, $indices, type($indices))^)?
    `(` $input `)` attr-dict `:` type($input) `->` type($result)
  }];
}

def PositionOp : Attn_Op<"position", [Pure]> {
  let summary = "an index expression as a tensor of numbers";
  let description = [{
    The operation computes `result[axes…] = expression`. The expression depends only on positions and run-time index
    operands: for example, ALiBi's `abs(i - j)`. The integer is rounded to the result's type. Constraints position_c1
    and position_c2.

    The language front end creates it. `attn-form-attention` makes it the factor of a term; `attn-lower-generic` makes
    it a loop.

    ```mlir
    %distance = attn.position "i j" = "abs(i - j)" : tensor<14x14xf32>
    ```
  }];
  let arguments = (ins StrAttr:$axes, StrAttr:$expression, OptionalAttr<DictionaryAttr>:$sizes,
                       OptionalAttr<StrArrayAttr>:$index_names, Variadic<Attn_IndexTensor>:$indices);
  let results = (outs Attn_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::StringAttr":$axes, "::mlir::StringAttr":$expression,
                                 "::mlir::DictionaryAttr":$sizes),
    "build($_builder, $_state, result, axes, expression, sizes, {}, ::mlir::ValueRange());">];
  let assemblyFormat = [{
    $axes `=` $expression (`sizes` $sizes^)? (`indices` `` custom<Indices>($index_names, $indices, type($indices))^)? attr-dict `:` type($result)
  }];
}

def PadOp : Attn_IndexMapOp<"pad", [Attn_InferType]> {
  let summary = "adds a border of a constant around a tensor";
  let description = [{
    The operation puts `low` elements before and `high` elements after each dimension, all equal to `value`. It does
    not pad a dimension of run-time size. Constraints pad_c1 to pad_c4.

    The language front end creates this operation, like all index maps. `attn-raise-skew` and `attn-compose-skew` fold
    index maps; `attn-lower-generic` removes those that are left.

    ```mlir
    %r = attn.pad %x low [0, 0, 0] high [0, 0, 1] : tensor<4x14x27xf32> to tensor<4x14x28xf32>
    ```
  }];
  let arguments = (ins Attn_FloatTensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs Attn_FloatTensor:$result);
  let assemblyFormat = "$input `low` $low `high` $high (`value` $value^)? attr-dict `:` type($input) `to` type($result)";
}
def ReshapeOp : Attn_IndexMapOp<"reshape"> {
  let summary = "the same elements, row-major, in another shape";
  let description = [{
    The operand and the result can each have one dimension of run-time size at most. If they have one, it is the first
    dimension of both, and the other dimensions of both multiply to the same number. Constraints reshape_c1 and
    reshape_c2.

    ```mlir
    %r = attn.reshape %x : tensor<4x14x28xf32> to tensor<4x392xf32>
    ```
  }];
  let arguments = (ins Attn_FloatTensor:$input);
  let results = (outs Attn_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
}
def SliceOp : Attn_IndexMapOp<"slice"> {
  let summary = "a box of a tensor, with strides";
  let description = [{
    The operation computes `result[i…] = input[offset + stride*i…]`. The result has the operand's rank. A dimension of
    run-time size is taken whole. Constraints slice_c1 to slice_c4.

    ```mlir
    %r = attn.slice %x offsets [0, 13] strides [1, 1] : tensor<15x27xf32> to tensor<14x14xf32>
    ```
  }];
  let arguments = (ins Attn_FloatTensor:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs Attn_FloatTensor:$result);
  let assemblyFormat = "$input `offsets` $offsets `strides` $strides attr-dict `:` type($input) `to` type($result)";
}
def SkewOp : Attn_IndexMapOp<"skew", [Attn_InferType]> {
  let summary = "relative to absolute: the last two dimensions [l, 2l-1] become [l, l]";
  let description = [{
    The operation computes `result[…, i, j] = input[…, i, j - i + l - 1]`, which the literature writes as pad, reshape
    and slice (Huang et al. 2018, arXiv:1809.04281, section 3.4.1). Row i of the operand holds the logits of query i
    for the offsets -(l-1) to l-1. Row i of the result holds them by key. Constraints skew_c1 to skew_c3.

    ```mlir
    %r = attn.skew %x : tensor<4x14x27xf32> to tensor<4x14x14xf32>
    ```
  }];
  let arguments = (ins Attn_FloatTensor:$input);
  let results = (outs Attn_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
}
def GatherOp : Attn_IndexMapOp<"gather", [Attn_InferType]> {
  let summary = "picks rows of a dimension by a constant matrix of indices";
  let description = [{
    The operation computes `result[a…, i…, c…] = input[a…, indices[i…], c…]`: the shape of `indices` replaces the
    dimension `dimension`. Every index is inside that dimension. Constraints gather_c1 to gather_c4.

    ```mlir
    %r = attn.gather %x dimension 0 indices dense<[[1, 2], [0, 1]]> : tensor<2x2xi64>
        : tensor<3x64xf32> to tensor<2x2x64xf32>
    ```
  }];
  let arguments = (ins Attn_FloatTensor:$input, I64Attr:$dimension, I64ElementsAttr:$indices);
  let results = (outs Attn_FloatTensor:$result);
  let assemblyFormat = "$input `dimension` $dimension `indices` $indices attr-dict `:` type($input) `to` type($result)";
}
def RearrangeOp : Attn_IndexMapOp<"rearrange"> {
  let summary = "splits, merges, permutes, drops or repeats dimensions by name";
  let description = [{
    The spec has the notation of einops: `"b h (x y) d -> b h x y d"`. Axes that only the result has repeat the
    elements (a broadcast), and `sizes` holds their sizes. The spec cannot pick an axis at an index:
    `"b n (k h d) -> b h n d" at {k = 1}` is not allowed; use a slice. Only axes of size 1 can be dropped. Constraints
    rearrange_c1 to rearrange_c5.

    ```mlir
    %r = attn.rearrange "b h x y j -> b h (x y) (k j)" sizes {k = 14 : i64} %x : tensor<?x4x14x14x14xf32> to tensor<?x4x196x196xf32>
    ```
  }];
  let arguments = (ins StrAttr:$spec, OptionalAttr<DictionaryAttr>:$sizes, Attn_FloatTensor:$input);
  let results = (outs Attn_FloatTensor:$result);
  let hasCanonicalizer = 1;
  let assemblyFormat = "$spec (`sizes` $sizes^)? $input attr-dict `:` type($input) `to` type($result)";
}

def ConcatOp : Attn_Op<"concat", [Pure, Attn_InferType]> {
  let summary = "tensors one after another along a dimension";
  let description = [{
    Along `dimension`, the result holds the elements of the first input, then those of the second, and so on. The
    inputs have the same size in every other dimension. This operation builds a position space from parts: a class
    token and a map, a memory and a sequence. Constraints concat_c1 to concat_c4.

    The language front end creates it; `attn-lower-generic` removes it.

    ```mlir
    %r = attn.concat %token, %map dimension 1 : (tensor<?x1x64xf32>, tensor<?x196x64xf32>) -> tensor<?x197x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Attn_FloatTensor>:$inputs, I64Attr:$dimension);
  let results = (outs Attn_FloatTensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "$inputs `dimension` $dimension attr-dict `:` functional-type($inputs, $result)";
}
def ApplyOp : Attn_Op<"apply", [Pure, Elementwise, Vectorizable, SameOperandsAndResultType]> {
  let summary = "a plugin's function, element by element";
  let description = [{
    The operation computes `result[x] = function(input[x], …)`. A plugin provides the function
    (dialect/IR/ElementFunction.h). The plugin says how many arguments the function has, what it means in float64, and
    which operations compute it. Constraints apply_c1 and apply_c2.

    The language front end creates it for a call of the function. `attn-form-attention` makes it part of a term, so
    that arguments are read where they are needed. `attn-lower-generic` removes the operations that are left.

    ```mlir
    %r = attn.apply "periodic"(%frequency, %offset) : tensor<4x14x14xf32>
    ```
  }];
  let arguments = (ins StrAttr:$function, Variadic<Attn_FloatTensor>:$inputs);
  let results = (outs Attn_FloatTensor:$result);
  let assemblyFormat = "$function `(` $inputs `)` attr-dict `:` type($result)";
}
def AttentionOp : Attn_Op<"attention", [Pure, SingleBlock, NoTerminator, AttrSizedResultSegments,
                                        DeclareOpInterfaceMethods<RegionKindInterface>]> {
  let summary = "the fused layer: weights from a sum of terms, by a softmax or without one, times values";
  let description = [{
    `space` names the axes of the score: leading axes, then the query dimension, then the key dimension. Each of them
    can be a product of axes: "b h (iy ix) (jy jx)". The score is the sum of the `attn.term`s of the region. `mask`, a
    predicate of the axes, says which keys a query sees. `value_spec` says how the values are read, "b h (jy jx) e ->
    b h (iy ix) e"; its result is the result of the operation. The sizes of axes come from the types of the values and
    of the result. `sizes` holds the sizes of axes that neither of them has as a dimension of its own. Nothing as
    large as the score is held, unless `weights` are requested. Constraints attention_c1 to attention_c16.

    `through` is an optional function of the score, applied before the softmax. It works element by element, on
    numbers of f32. An example is the cap `c × tanh(score / c)` of Gemma 2 (2024, arXiv:2408.00118, section 2). Its
    block has one argument for each sum of terms. A term belongs to the first sum, or to the one that its `sum` names.
    So a decay that multiplies the content is a second sum, and the function says how to combine the two.

    `direct` weights are the score itself, or the function's result, and no softmax follows: for example, sigmoid
    attention (Ramapuram et al. 2024, arXiv:2409.04431), and linear attention in its quadratic form. Keys that the
    mask hides have weight 0.

    `values` optionally holds terms that are added to the values of each query and key. The result is
    `Σ over keys of weight × (value + the sum of these terms)`. So relative values (Shaw et al. 2018,
    arXiv:1803.02155, equation 3) are a term with a table read at `j - i`, and the weights are never held.

    `lse` is an optional result: the natural logarithm of the sum of the scores' exponentials. It has elements of f32
    and the dimensions of the space except the last. It is computed from the terms as they stand: a term that depends
    on the query alone changes no weight, but it changes the lse. A row without a visible key gives -inf. Direct
    weights can have `total` instead, which is the sum of a row's weights.

    `weights` is an optional result: the weights that multiply the values. It has elements of f32 and the dimensions
    of the space. It is 0 where the mask hides a key, and in a row without a visible key.

    `attn-form-attention` creates the operation. `attn-schedule` or `attn-schedule-gpu` adds the schedule.
    `attn-lower-to-cpu` or `attn-lower-to-gpu` removes it.

    ```mlir
    %o = attn.attention "b h i j" value "b h j e -> b h i e" (%v) score {
      attn.term "b h i d, b h j d" (%q, %k) scale 1.250000e-01 : tensor<?x4x14x64xf32>, tensor<?x4x14x64xf32>
      attn.term "b h i d, (j - i + 13) d" (%q, %table) scale 1.250000e-01 : tensor<?x4x14x64xf32>, tensor<27x64xf32>
    } values {
      attn.term "(j - i + 4) e" (%near) scale 1.000000e+00 where "abs(j - i) <= 4" : tensor<9x64xf32>
    } : tensor<?x4x14x64xf32> -> tensor<?x4x14x64xf32>
    %w = attn.attention "b h i j" where "j <= i" value "b h j e -> b h i e" (%v) score {
      attn.term "b h i d, b h j d" (%q, %k) scale 1.250000e-01 : tensor<?x4x14x64xf32>, tensor<?x4x14x64xf32>
    } through {
    ^bb0(%score: f32):
      %zero = arith.constant 0.000000e+00 : f32
      %positive = arith.maximumf %score, %zero : f32
      %square = arith.mulf %positive, %positive : f32
      attn.yield %square : f32
    } direct : tensor<?x4x14x64xf32> -> tensor<?x4x14x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$space, OptionalAttr<DictionaryAttr>:$sizes, OptionalAttr<StrAttr>:$mask,
                       StrAttr:$value_spec, UnitAttr:$direct, OptionalAttr<ScheduleInterface>:$schedule,
                       OptionalAttr<StrArrayAttr>:$index_names, Attn_FloatTensor:$value, Variadic<Attn_IndexTensor>:$indices);
  let results = (outs Attn_FloatTensor:$result, Optional<RankedTensorOf<[F32]>>:$lse, Optional<RankedTensorOf<[F32]>>:$total,
                      Optional<RankedTensorOf<[F32]>>:$weights);
  let regions = (region SizedRegion<1>:$score, AnyRegion:$through, AnyRegion:$values);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::StringAttr":$space, "::mlir::DictionaryAttr":$sizes,
                                 "::mlir::StringAttr":$mask, "::mlir::StringAttr":$value_spec, "::mlir::Value":$value,
                                 "::skewer::attn::ScheduleInterface":$schedule, CArg<"::mlir::Type", "{}">:$lse,
                                 CArg<"::mlir::Type", "{}">:$total, CArg<"bool", "false">:$direct,
                                 CArg<"::mlir::Type", "{}">:$weights),
    "build($_builder, $_state, result, lse, total, weights, space, sizes, mask, value_spec, direct ? $_builder.getUnitAttr() : ::mlir::UnitAttr(), schedule, {}, value, ::mlir::ValueRange());">];
  let assemblyFormat = [{
    $space (`where` $mask^)? (`sizes` $sizes^)? (`indices` `` custom<Indices>($index_names, $indices, type($indices))^)?
    `value` $value_spec `(` $value `)` `score` $score (`through` $through^)? (`direct` $direct^)? (`values` $values^)?
    attr-dict `:` type($value) `->` type($result) (`lse` type($lse)^)? (`total` type($total)^)? (`weights` type($weights)^)?
    (`schedule` $schedule^)?
  }];
  let extraClassDeclaration = [{
    /// Returns the number of sums of terms: the number of arguments of `through`, or one.
    int64_t getSums() { return getThrough().empty() ? 1 : getThrough().front().getNumArguments(); }
    /// Returns whether weights are the softmax of the scores themselves.
    bool isPlainSoftmax() { return !getDirect() && getThrough().empty(); }
  }];
}

def TermOp : Attn_Op<"term", [HasParent<"AttentionOp">, AttrSizedOperandSegments, DeclareOpInterfaceMethods<TermInterface>]> {
  let summary = "one summand of a score, or of the values that a key adds to the result";
  let description = [{
    A term is `scale × Σ over contracted axes of Π operand[subscripts]`; it is 0 where `guard` is 0. Axes that do not
    belong to the score's space are contracted. `sizes` holds the size of a contracted axis that no operand has as a
    dimension of its own, such as a part of the queries' and keys' vectors. `value` is another factor, a function of
    the score's axes. A term without operands is its scale times that factor. The verifier proves that subscripts stay
    inside where the attention's mask and the guard both hold. Constraints term_c1 to term_c7.

    `in sum k` makes the term a summand of the k-th argument of the attention's `through`. Without it, the term is a
    summand of the first argument (0).

    `apply "name" of [arguments]` is another factor: a plugin's function of elements of the term's operands (`#0`,
    `#1`, …) and of positions. An operand that is an argument is not a factor.

    In a term of an attention's `values`, the axes of the values' own (`e`) belong to the term too and are not
    contracted.

    `attn-form-attention` creates the operation, which exists only inside its `attn.attention`.

    ```mlir
    attn.term "b h i d, (j - i + 13) d" (%q, %table) scale 1.250000e-01 where "i - j <= 13"
        : tensor<?x4x14x64xf32>, tensor<27x64xf32>
    attn.term "h" (%slope) times "abs(i - j)" scale -1.000000e+00 : tensor<4xf32>
    attn.term "h, h" (%a, %w) apply "periodic" of ["#1", "i - j"] scale 1.000000e+00 : tensor<4xf32>, tensor<4xf32>
    attn.term "" indices(region = %region : tensor<?x49xi32>) () times "region[b, i] != region[b, j]" scale -1.000000e+02
    ```
  }];
  let arguments = (ins StrAttr:$subscripts, OptionalAttr<DictionaryAttr>:$sizes, OptionalAttr<StrAttr>:$guard,
                       OptionalAttr<StrAttr>:$value, F64Attr:$scale, OptionalAttr<StrAttr>:$function,
                       OptionalAttr<StrArrayAttr>:$arguments, DefaultValuedAttr<I64Attr, "0">:$sum,
                       OptionalAttr<StrArrayAttr>:$index_names, Variadic<Attn_FloatTensor>:$inputs,
                       Variadic<Attn_IndexTensor>:$indices);
  let builders = [OpBuilder<(ins "::mlir::StringAttr":$subscripts, "::mlir::StringAttr":$guard,
                                 "::mlir::StringAttr":$value, "::mlir::FloatAttr":$scale, "::mlir::ValueRange":$inputs,
                                 CArg<"int64_t", "0">:$sum),
    "build($_builder, $_state, ::mlir::TypeRange(), subscripts, {}, guard, value, scale, {}, {}, sum ? $_builder.getI64IntegerAttr(sum) : ::mlir::IntegerAttr(), {}, inputs, {});">];
  let assemblyFormat = [{
    $subscripts (`sizes` $sizes^)? (`indices` `` custom<Indices>($index_names, $indices, type($indices))^)? `(` $inputs `)` (`times` $value^)? (`apply` $function^ `of` $arguments)? `scale` $scale
    (`where` $guard^)? (`in` `sum` $sum^)? attr-dict (`:` type($inputs)^)?
  }];
}

def YieldOp : Attn_Op<"yield", [Pure, Terminator, HasParent<"AttentionOp">]> {
  let summary = "the result of the function of an attention's scores";
  let description = [{
    This operation ends the block of an attention's `through`: `attn.yield %weight : f32`. Constraint attention_c12.
  }];
  let hasVerifier = 0; // the attention's says where it stands
  let arguments = (ins F32:$number);
  let assemblyFormat = "$number attr-dict `:` type($number)";
}
#endif
