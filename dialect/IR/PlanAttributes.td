//===- #attn.plan and #attn.program: what a lowered kernel is ----------------===//
#ifndef SKEWER_DIALECT_IR_PLANATTRIBUTES_TD
#define SKEWER_DIALECT_IR_PLANATTRIBUTES_TD
include "dialect/IR/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Attn_SizeAttr : AttrDef<Attn_Dialect, "Size"> {
  let mnemonic = "size";
  let summary = "a number of bytes or of work items that can depend on run-time sizes";
  let description = [{
    The number is `fixed` + `scaled` × the product of the run-time sizes `factors`. Constraint plan_c1.
  }];
  let parameters = (ins "int64_t":$fixed, "int64_t":$scaled, OptionalArrayRefParameter<"::mlir::StringAttr">:$factors);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` struct($fixed, $scaled) `,` `factors` `=` `[` (`]`) : ($factors^ `]`)? `>`";
}

def Attn_ArgumentAttr : AttrDef<Attn_Dialect, "Argument"> {
  let mnemonic = "argument";
  let summary = "one tensor that a kernel reads or writes, row-major and contiguous";
  let description = [{
    - `type`: the type of the elements.
    - `shape`: an integer for each fixed extent, and the name of each run-time size. An extent that depends on lengths
      is an expression, "2*N - 1".
    - `range`: the range of an index operand's elements, both ends inclusive.
    - `deviation`, `mean`, `between`: the distribution of seeded values.
    - `origin`: for an argument that is not a tensor, the word of the argument struct that holds it: 0, 1 and 2 are
      q0, k0 and head0.
    - `length`: the argument is the run-time size of the same name.
    - `const`: the argument is the same at every call.

    Constraints plan_c2 to plan_c4.
  }];
  let parameters = (ins StringRefParameter<"unique in the kernel">:$name, "::mlir::Type":$type,
                        OptionalArrayRefParameter<"::mlir::Attribute">:$shape, OptionalParameter<"::mlir::DenseI64ArrayAttr">:$range,
                        OptionalParameter<"::mlir::FloatAttr">:$deviation, OptionalParameter<"::mlir::FloatAttr">:$mean,
                        OptionalParameter<"::mlir::DenseF64ArrayAttr">:$between, OptionalParameter<"::mlir::IntegerAttr">:$origin,
                        OptionalParameter<"::mlir::UnitAttr">:$length, OptionalParameter<"::mlir::UnitAttr">:$isConst);
  let genVerifyDecl = 1;
  let assemblyFormat = [{
    `<` $name `,` $type `,` `[` (`]`) : ($shape^ `]`)?
    (`range` `=` $range^)? (`deviation` `=` $deviation^)? (`mean` `=` $mean^)? (`between` `=` $between^)?
    (`origin` `=` $origin^)? (`length` `=` $length^)? (`const` `=` $isConst^)? `>`
  }];
}

def Attn_PhaseAttr : AttrDef<Attn_Dialect, "Phase"> {
  let mnemonic = "phase";
  let summary = "work items that are independent of each other, run by one function";
  let description = [{
    `function` is the symbol of the `func.func` that runs a range of `items`. A phase with `prepares` reads only
    `const` arguments and prepared memory, and writes to prepared memory, so that a caller can have it run once.
    Constraint plan_c5.
  }];
  let parameters = (ins StringRefParameter<"a symbol of the module">:$function,
                        StringRefParameter<"what the phase does">:$title, "::skewer::attn::SizeAttr":$items,
                        DefaultValuedParameter<"bool", "false">:$prepares);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attn_StageAttr : AttrDef<Attn_Dialect, "Stage"> {
  let mnemonic = "stage";
  let summary = "one or more phases that make one tensor";
  let description = [{
    `line` is the line of the text, or 0 if it is not known. `bytes` is the size of the tensor's buffer in the shared
    workspace, or 0 if the tensor is an output of the kernel. Constraint plan_c6.
  }];
  let parameters = (ins StringRefParameter<"what the stage is">:$title, "int64_t":$line,
                        "::skewer::attn::SizeAttr":$bytes);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attn_PlanAttr : AttrDef<Attn_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "a lowered kernel: its arguments, its phases and the workspace they need";
  let description = [{
    The plan is the contract between the lowering and its readers. The lowering writes it onto the module as
    `attn.plan`; code generation and the driver read it (dialect/IR/KernelPlan.h).

    - `sizes`: the run-time sizes, in order of declaration.
    - `shared_bytes`: bytes of the workspace that all workers share.
    - `local_bytes`: bytes of each worker's own workspace.
    - `prepared_bytes`: bytes that phases with `prepares` leave. They are valid as long as the `const` arguments keep
      their contents.

    Constraints plan_c7 to plan_c10.
  }];
  let parameters = (ins StringRefParameter<"name of the kernel">:$name,
                        OptionalArrayRefParameter<"::skewer::attn::ArgumentAttr">:$inputs,
                        OptionalArrayRefParameter<"::skewer::attn::ArgumentAttr">:$outputs,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$sizes,
                        OptionalArrayRefParameter<"::skewer::attn::StageAttr">:$stages,
                        OptionalArrayRefParameter<"::skewer::attn::PhaseAttr">:$phases,
                        "::skewer::attn::SizeAttr":$shared_bytes, "int64_t":$local_bytes,
                        DefaultValuedParameter<"int64_t", "0">:$prepared_bytes);
  let genVerifyDecl = 1;
  let assemblyFormat = [{
    `<` $name `,` `inputs` `=` `[` (`]`) : ($inputs^ `]`)? `,` `outputs` `=` `[` (`]`) : ($outputs^ `]`)?
    `,` `sizes` `=` `[` (`]`) : ($sizes^ `]`)? `,` `stages` `=` `[` (`]`) : ($stages^ `]`)?
    `,` `phases` `=` `[` (`]`) : ($phases^ `]`)? `,` struct($shared_bytes, $local_bytes, $prepared_bytes) `>`
  }];
}

def Attn_TensorMapAttr : AttrDef<Attn_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a tensor in the device's memory, whose boxes a kernel copies by TMA";
  let description = [{
    A launch makes a tensor map of it (CUDA driver API, `cuTensorMapEncodeTiled`) and passes the 128 bytes by value.
    Element (column, row, place) of the tensor lies `offset` + `place` × `place_bytes` + `row` × `row_bytes` bytes
    behind the pointer that is the kernel's argument number `argument`, and `column` elements further.

    - `columns`, `rows`, `places`: the extents. What a box has beyond them is read as zeros.
    - `box_columns` × `box_rows`: a box, in one place. The 16-byte chunks of its rows are permuted in shared memory
      ("swizzled"), for rows of 32, 64 or 128 bytes.

    Constraint program_c9.
  }];
  let parameters = (ins "int64_t":$argument, "::skewer::attn::SizeAttr":$offset, "::mlir::Type":$type,
                        "int64_t":$columns, "::skewer::attn::SizeAttr":$rows, "::skewer::attn::SizeAttr":$places,
                        "int64_t":$row_bytes, "int64_t":$place_bytes, "int64_t":$box_columns, "int64_t":$box_rows);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attn_BoxesAttr : AttrDef<Attn_Dialect, "Boxes"> {
  let mnemonic = "boxes";
  let summary = "a kernel that does the same as that of a launch, and copies boxes of tensors";
  let description = [{
    The kernel has the same blocks and the same arguments, and behind them a tensor map for each of `maps`. A launcher
    takes it if it can make all maps; else it takes the launch's own kernel. Constraints program_c7, program_c10.
  }];
  let parameters = (ins StringRefParameter<"a symbol of the module">:$kernel,
                        OptionalArrayRefParameter<"::skewer::attn::TensorMapAttr">:$maps);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` $kernel `,` `maps` `=` `[` (`]`) : ($maps^ `]`)? `>`";
}

def Attn_LaunchAttr : AttrDef<Attn_Dialect, "Launch"> {
  let mnemonic = "launch";
  let summary = "one kernel of a GPU program, and its launch";
  let description = [{
    - `kernel`: the symbol of a function of the GPU module.
    - `threads`: threads of a block.
    - `shared_bytes`: bytes of a block's dynamic shared memory.
    - `blocks`: blocks of the grid, which has one dimension.
    - `rows` × `keys`: the tile of an attention; 0 × 0 if the kernel has none.
    - `note`: the reason why an attention is not fused.
    - `boxes`: another kernel, which copies boxes of tensors.

    Constraints program_c1 to program_c4.
  }];
  let parameters = (ins StringRefParameter<"a symbol of the module">:$kernel,
                        StringRefParameter<"what the kernel does">:$title,
                        "int64_t":$threads, "int64_t":$shared_bytes, "::skewer::attn::SizeAttr":$blocks, "int64_t":$rows,
                        "int64_t":$keys, StringRefParameter<"text for explain">:$note,
                        OptionalParameter<"::skewer::attn::BoxesAttr">:$boxes);
  let genVerifyDecl = 1;
  let assemblyFormat = [{
    `<` struct($kernel, $title, $threads, $shared_bytes, $blocks, $rows, $keys, $note) (`,` `boxes` `=` $boxes^)? `>`
  }];
}

def Attn_ProgramAttr : AttrDef<Attn_Dialect, "Program"> {
  let mnemonic = "program";
  let summary = "the kernels of a GPU module in the order in which they run";
  let description = [{
    The program is the contract between `attn-lower-to-gpu` and its readers. The pass writes it onto the GPU module as
    `attn.program`; code generation, launchers and the interpreter read it (passes/Gpu/GpuLaunch.h). `workspace` is
    the number of bytes of device memory. The arguments and the run-time sizes are those of the module's `attn.plan`.
    Constraints program_c5 to program_c10.
  }];
  let parameters = (ins StringRefParameter<"name of the kernel">:$name, "::skewer::attn::SizeAttr":$workspace,
                        OptionalArrayRefParameter<"::skewer::attn::LaunchAttr">:$launches);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` $name `,` struct($workspace) `,` `launches` `=` `[` (`]`) : ($launches^ `]`)? `>`";
}
#endif
