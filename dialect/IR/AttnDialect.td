//===- The attn dialect: attention with positions -------------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNDIALECT_TD
#define SKEWER_DIALECT_IR_ATTNDIALECT_TD
include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::skewer::attn";
  let summary = "attention layers whose operands are read through index expressions of the query and key position";
  let description = [{
    Level 1 (einsum form) is written by the language front end: `attn.einsum`, the index maps, `attn.softmax`, and
    `arith`/`math` on tensors. Level 2 (fused form) is `attn.attention`, formed by `attn-form-attention`. Level 3 is the
    same operation with a schedule attribute. Constraints are numbered in `dialect/SPEC.md`; verifiers cite the numbers.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasOperationAttrVerify = 1;
}
#endif
