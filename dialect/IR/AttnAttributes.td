//===- Attributes of the attn dialect ---------------------------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNATTRIBUTES_TD
#define SKEWER_DIALECT_IR_ATTNATTRIBUTES_TD
include "dialect/IR/AttnDialect.td"
include "dialect/IR/AttnInterfaces.td"
include "mlir/IR/AttrTypeBase.td"

def Attn_CpuScheduleAttr : AttrDef<Attn_Dialect, "CpuSchedule", [ScheduleInterface]> {
  let mnemonic = "cpu_schedule";
  let summary = "how a CPU runs one attention";
  let description = [{
    - `lanes`: f32 lanes of a vector.
    - `tile_rows` × `tile_vectors`: accumulators of the score tile.
    - `row_block`: rows whose scores are held at once, a multiple of `tile_rows`.
    - `key_block`: keys whose scores are held at once, a multiple of `tile_vectors` × `lanes`. If it is less than all
      keys, the softmax is an online softmax.
    - `rows_per_item`: rows of a work item, a multiple of `row_block`.
    - `keys_per_item`: keys of a work item if the work items divide the keys, a multiple of `key_block`. The items of
      a row are then joined.
    - `strategies`: one strategy for each term of the score, then one for each term of the values.

    With some strategies, the rows of a tile are `lanes` positions apart, and a work item is one of `lanes` phases.

    `attn-schedule` creates this attribute from a cost model; it can also be written by hand. `attn-schedule` and
    `attn-lower-to-cpu` follow an existing schedule or reject it. Constraints cpu_schedule_c1 to cpu_schedule_c10.
  }];
  let parameters = (ins StringRefParameter<"description of the target">:$target, "int64_t":$lanes, "int64_t":$tile_rows,
                        "int64_t":$tile_vectors, "int64_t":$row_block, "int64_t":$key_block, "int64_t":$rows_per_item,
                        ArrayRefParameter<"::mlir::StringAttr">:$strategies,
                        DefaultValuedParameter<"int64_t", "0", "keys of a work item; 0: all">:$keys_per_item);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Scores of a block, at most: 256 MiB.
    static constexpr int64_t kMostScores = 1 << 26;
    /// Returns whether a work item is a phase, whose rows are `lanes` positions apart, by one of the strategies.
    bool hasPhases() const;
    ::llvm::LogicalResult verifyFor(::mlir::Operation *attention, int64_t queries, int64_t keys) const;
    ::llvm::LogicalResult verifyKeysPerItem(::mlir::Operation *attention, int64_t queries, int64_t keys) const;
  }];
  let assemblyFormat = [{
    `<` struct($target, $lanes, $tile_rows, $tile_vectors, $row_block, $key_block, $rows_per_item) `,`
    `strategies` `=` `[` $strategies `]` (`,` `keys_per_item` `=` $keys_per_item^)? `>`
  }];
}

def Attn_GpuScheduleAttr : AttrDef<Attn_Dialect, "GpuSchedule", [ScheduleInterface]> {
  let mnemonic = "gpu_schedule";
  let summary = "how a kind of GPU runs one attention";
  let description = [{
    - `engine`: the engine that multiplies matrices: `mma_sync`, or one of `wgmma` and `wgmma_ahead` on `sm_90a`. With
      wgmma a block has a warpgroup that fills tiles, besides those that compute; with `wgmma_ahead` each of these
      multiplies for two steps at a time.
    - `rows` × `keys`: the queries of a block and the keys of one of its steps, both multiples of 16.
    - `stages`: copies in shared memory of the data that a step reads. While one copy is read, all others are being
      filled. With 1 stage, operands are single-buffered: they share one place, one after another.
    - `keep_queries`: whether the queries of a warp stay in registers.
    - `columns`: columns of the values that a block has, a multiple of 16. Other blocks with the same queries have the
      rest. If it is absent (0), a block has all columns.
    - `warp_rows`: queries of a warp, 16 or 32; 16 if it is absent. Each fragment of keys and values is multiplied
      with all of them. wgmma takes 16, and `rows` that are a multiple of 64.
    - `copies`: how the warpgroup that fills tiles copies regular rows of keys, values and tables. With `cp_async`, or if it is
      absent, its threads copy them; with `tma` one of its threads asks for whole boxes of tensors. Rows that are not
      regular are copied by `cp_async` beside them.
    - `strategies`: one strategy for each term of the score, in order, then one for each term of the values.

    `attn-schedule-gpu` creates this attribute from a cost model or from the caller's options; it can also be written
    by hand. `attn-schedule-gpu` follows an existing schedule or rejects it. `attn-lower-to-gpu` reads it. Constraints
    gpu_schedule_c1 to gpu_schedule_c14.
  }];
  let parameters = (ins StringRefParameter<"the GPU, as ptxas names it">:$target,
                        StringRefParameter<"engine of the products">:$engine,
                        "int64_t":$rows, "int64_t":$keys, "int64_t":$stages, "bool":$keep_queries,
                        DefaultValuedParameter<"int64_t", "0", "columns of the values; 0: all">:$columns,
                        DefaultValuedParameter<"int64_t", "16", "queries of a warp">:$warp_rows,
                        StringRefParameter<"how regular rows are copied", "\"cp_async\"">:$copies,
                        ArrayRefParameter<"::mlir::StringAttr">:$strategies);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::llvm::LogicalResult verifyFor(::mlir::Operation *attention, int64_t queries, int64_t keys) const;
  }];
  let assemblyFormat = [{
    `<` struct($target, $engine, $rows, $keys, $stages, $keep_queries) `,` `strategies` `=` `[` $strategies `]`
    `` custom<TileOptions>($columns, $warp_rows, $copies) `>`
  }];
}
#endif
