//===- Reductions of the attn dialect that are no sums ---------------------===//
#ifndef SKEWER_DIALECT_IR_REDUCTIONS_TD
#define SKEWER_DIALECT_IR_REDUCTIONS_TD
include "dialect/IR/AttnBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ExtremumOp : Attn_Op<"extremum", [Pure]> {
  let summary = "the largest or the smallest element along some axes";
  let description = [{
    `result[r…]` is the largest element of `input[…]` over the axes that the result lacks; with `least`, it is the
    smallest. If one of the elements is NaN, the result is NaN. If there are no elements (a run-time size of 0), the
    largest is -inf and the smallest is inf. The spec is the spec of an einsum with one operand and without index
    expressions. `sizes` holds the sizes of axes that are parts of products. Constraints extremum_c1 to extremum_c4.

    The language front end creates it for `max(x, axis = j)`; `attn-lower-generic` removes it.

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
