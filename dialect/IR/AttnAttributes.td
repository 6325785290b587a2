//===- Attributes of the attn dialect ---------------------------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNATTRIBUTES_TD
#define SKEWER_DIALECT_IR_ATTNATTRIBUTES_TD
include "dialect/IR/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Attn_CpuScheduleAttr : AttrDef<Attn_Dialect, "CpuSchedule"> {
  let mnemonic = "cpu_schedule";
  let summary = "how one attention is run on one CPU";
  let description = [{
    `lanes`: f32 lanes of a vector. `tile_rows` × `tile_vectors`: accumulators of the score tile. `row_block`: query rows
    whose scores are held at once. `key_block`: keys of them (the softmax is online where it is less than all keys).
    `strategies`: one for each term of the score, in order. `rows_per_item`: query rows of one parallel work item.
    Created by `attn-schedule` from a cost model or a tuned record.
  }];
  let parameters = (ins StringRefParameter<"description of the target">:$target, "int64_t":$lanes, "int64_t":$tile_rows,
                        "int64_t":$tile_vectors, "int64_t":$row_block, "int64_t":$key_block, "int64_t":$rows_per_item,
                        ArrayRefParameter<"::mlir::StringAttr">:$strategies);
  let genVerifyDecl = 1;
  let assemblyFormat = [{
    `<` struct($target, $lanes, $tile_rows, $tile_vectors, $row_block, $key_block, $rows_per_item) `,`
    `strategies` `=` `[` $strategies `]` `>`
  }];
}
#endif
