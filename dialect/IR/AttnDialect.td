//===- The attn dialect: attention with positions -------------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNDIALECT_TD
#define SKEWER_DIALECT_IR_ATTNDIALECT_TD
include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::skewer::attn";
  let summary = "attention layers whose operands are read through index expressions of the query and key position";
  let description = [{
    A layer passes through three levels. At level 1 (einsum form), the language front end writes `attn.einsum`, the
    index maps, `attn.softmax`, and `arith`/`math` on tensors. At level 2 (fused form), `attn-form-attention` forms
    `attn.attention`. Level 3 is the same operation with a schedule attribute. `dialect/SPEC.md` numbers the
    constraints, and verifiers cite these numbers.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasOperationAttrVerify = 1;
}
#endif
