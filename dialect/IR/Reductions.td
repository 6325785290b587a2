//===- Reductions of the attn dialect that are no sums ---------------------===//
#ifndef SKEWER_DIALECT_IR_REDUCTIONS_TD
#define SKEWER_DIALECT_IR_REDUCTIONS_TD
include "dialect/IR/AttnBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ExtremumOp : Attn_Op<"extremum", [Pure]> {
  let summary = "the largest or the least element along some axes";
  let description = [{
    `result[r…]` is the largest of `input[…]` over the axes that the result lacks or, with `least`, the least. A NaN among
    them is the result. Of no elements (a run-time size of 0) the largest is -inf and the least inf. The spec is an
    einsum's of one operand without index expressions; sizes of axes that are parts of products are in `sizes`.
    Constraints extremum_c1 to extremum_c4.

    Created by the language front end for `max(x, axis = j)`; removed by `attn-lower-generic`.

    ```mlir
    %largest = attn.extremum "b h i j -> b h i" (%x) : tensor<?x4x14x14xf32> -> tensor<?x4x14xf32>
    %least = attn.extremum least "b (y x) -> b y" sizes {x = 14 : i64} (%x) : tensor<?x196xf32> -> tensor<?x14xf32>
    ```
  }];
  let arguments = (ins UnitAttr:$least, StrAttr:$spec, OptionalAttr<DictionaryAttr>:$sizes, Attn_FloatTensor:$input);
  let results = (outs Attn_FloatTensor:$result);
  let assemblyFormat = [{
    (`least` $least^)? $spec (`sizes` $sizes^)? `(` $input `)` attr-dict `:` type($input) `->` type($result)
  }];
}
#endif
