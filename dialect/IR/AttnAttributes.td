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

def Attn_GpuScheduleAttr : AttrDef<Attn_Dialect, "GpuSchedule"> {
  let mnemonic = "gpu_schedule";
  let summary = "how one attention is run on one kind of GPU";
  let description = [{
    `engine`: what multiplies matrices; `mma_sync` is the only one so far. `rows` × `keys`: queries of a block and keys
    of one of its steps, multiples of 16; a warp has 16 queries. `stages`: copies in shared memory of what a step reads,
    all but one of which are being filled while one is read; of 1, operands take turns in one place. `keep_queries`:
    whether a warp's queries stay in registers. `columns`: of the values that a block has, a multiple of 16; other
    blocks with the same queries have the rest; absent (0): all.
    `strategies`: one for each term of the score, in order, then of the values.
    Created by `attn-schedule-gpu` from a cost model or as the caller asks; read by `attn-lower-to-gpu`.
  }];
  let parameters = (ins StringRefParameter<"as ptxas names it">:$target, StringRefParameter<"of products">:$engine,
                        "int64_t":$rows, "int64_t":$keys, "int64_t":$stages, "bool":$keep_queries,
                        DefaultValuedParameter<"int64_t", "0", "of the values">:$columns,
                        ArrayRefParameter<"::mlir::StringAttr">:$strategies);
  let genVerifyDecl = 1;
  let assemblyFormat = [{
    `<` struct($target, $engine, $rows, $keys, $stages, $keep_queries) `,` `strategies` `=` `[` $strategies `]`
    (`,` `columns` `=` $columns^)? `>`
  }];
}
#endif
