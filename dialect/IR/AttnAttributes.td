//===- Attributes of the attn dialect ---------------------------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNATTRIBUTES_TD
#define SKEWER_DIALECT_IR_ATTNATTRIBUTES_TD
include "dialect/IR/AttnDialect.td"
include "dialect/IR/AttnInterfaces.td"
include "mlir/IR/AttrTypeBase.td"

def Attn_CpuScheduleAttr : AttrDef<Attn_Dialect, "CpuSchedule", [ScheduleInterface]> {
  let mnemonic = "cpu_schedule";
  let summary = "how one attention is run on one CPU";
  let description = [{
    `lanes`: f32 lanes of a vector. `tile_rows` × `tile_vectors`: accumulators of the score tile. `row_block`: rows whose scores
    are held at once, a multiple of `tile_rows`. `key_block`: keys of them, a multiple of `tile_vectors` × `lanes` (online softmax
    where it is less than all). `rows_per_item`: rows of a work item, a multiple of `row_block`. `keys_per_item`: its keys where
    they are divided, a multiple of `key_block`; items of a row are joined. `strategies`: one for each term of the score, then of
    the values. With `strided_add` rows of a tile stand `lanes` positions apart and an item is one of `lanes` phases.

    Created by `attn-schedule` from a cost model, or by hand; `attn-schedule` and `attn-lower-to-cpu` obey one that is there
    or refuse it. Constraints cpu_schedule_c1 to cpu_schedule_c10.
  }];
  let parameters = (ins StringRefParameter<"description of the target">:$target, "int64_t":$lanes, "int64_t":$tile_rows,
                        "int64_t":$tile_vectors, "int64_t":$row_block, "int64_t":$key_block, "int64_t":$rows_per_item,
                        ArrayRefParameter<"::mlir::StringAttr">:$strategies,
                        DefaultValuedParameter<"int64_t", "0", "keys of a work item; 0: all">:$keys_per_item);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Scores of a block, at most: 256 MiB.
    static constexpr int64_t kMostScores = 1 << 26;
    /// Whether rows of a tile stand a vector apart.
    bool addsStrided() const;
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
  let summary = "how one attention is run on one kind of GPU";
  let description = [{
    `engine`: what multiplies matrices; `mma_sync` is the only one so far. `rows` × `keys`: queries of a block and keys
    of one of its steps, multiples of 16. `stages`: copies in shared memory of what a step reads, all but one of which are
    being filled while one is read; of 1, operands are single-buffered: they have one place, one after another.
    `keep_queries`: whether a warp's queries stay in registers. `columns`: of the values that a block has, a multiple of
    16; other blocks with the same queries have the rest; absent (0): all. `warp_rows`: queries of a warp, 16 (also
    where it is absent) or 32; each fragment of keys and values is multiplied with all of them.
    `strategies`: one for each term of the score, in order, then of the values.
    Created by `attn-schedule-gpu` from a cost model or as the caller asks, or by hand; `attn-schedule-gpu` obeys one that is
    there or refuses it; read by `attn-lower-to-gpu`. Constraints gpu_schedule_c1 to gpu_schedule_c11.
  }];
  let parameters = (ins StringRefParameter<"as ptxas names it">:$target, StringRefParameter<"of products">:$engine,
                        "int64_t":$rows, "int64_t":$keys, "int64_t":$stages, "bool":$keep_queries,
                        DefaultValuedParameter<"int64_t", "0", "of the values">:$columns,
                        DefaultValuedParameter<"int64_t", "16", "queries of a warp">:$warp_rows,
                        ArrayRefParameter<"::mlir::StringAttr">:$strategies);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::llvm::LogicalResult verifyFor(::mlir::Operation *attention, int64_t queries, int64_t keys) const;
  }];
  let assemblyFormat = [{
    `<` struct($target, $engine, $rows, $keys, $stages, $keep_queries) `,` `strategies` `=` `[` $strategies `]`
    `` custom<TileOptions>($columns, $warp_rows) `>`
  }];
}
#endif
