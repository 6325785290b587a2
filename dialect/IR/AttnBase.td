//===- What the files of the dialect's operations share ---------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNBASE_TD
#define SKEWER_DIALECT_IR_ATTNBASE_TD
include "dialect/IR/AttnDialect.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}
def Attn_FloatTensor : RankedTensorOf<[F16, BF16, F32, F64]>;
#endif
