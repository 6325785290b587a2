//===- The passes of Skewer, in the order they run ---------------------------===//
#ifndef SKEWER_PASSES_TD
#define SKEWER_PASSES_TD
include "mlir/Pass/PassBase.td"

include "passes/Fusion/FusionPasses.td"

def AttnSchedule : Pass<"attn-schedule", "::mlir::func::FuncOp"> {
  let summary = "the cost model chooses tiles, blocks and a strategy for each term";
  let description = [{
    Adds an `#attn.cpu_schedule` to every `attn.attention` whose operands the CPU lowering can walk. The choice comes
    from the description of the processor (lanes, registers, caches, FMAs a cycle, pipes of additions) and the layer's sizes, never from a
    measurement of the machine at hand. Options pin parts of it. A schedule that is there, written by hand or earlier, is
    obeyed: it stays if it is for this target and fits the layer, else it is an error.

    ```mlir
    %o = attn.attention "i j" value "j e -> i e" (%v) score {…} : tensor<64x64xf32> -> tensor<64x64xf32>
    // becomes, with target=x86-64-v3,
    %o = attn.attention "i j" value "j e -> i e" (%v) score {…} : tensor<64x64xf32> -> tensor<64x64xf32>
        schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, …, strategies = ["matmul"]>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "a processor by its name, or a machine file">,
                 Option<"tileRows", "tile-rows", "int64_t", "0", "rows of the score tile; 0: chosen">,
                 Option<"tileVectors", "tile-vectors", "int64_t", "0", "vectors of keys of the score tile; 0: chosen">,
                 Option<"rowBlock", "row-block", "int64_t", "0", "queries whose scores are held at once; 0: chosen">,
                 Option<"keyBlock", "key-block", "int64_t", "0", "keys of them; 0: chosen">,
                 Option<"rowsPerItem", "rows-per-item", "int64_t", "0", "queries of a work item; 0: chosen">,
                 Option<"keysPerItem", "keys-per-item", "int64_t", "0", "keys of a work item; 0: chosen">,
                 ListOption<"strategies", "strategies", "std::string",
                            "strategies of single terms, 2:element, counted from 1 in the schedule's order">];
}
def AttnScheduleGpu : Pass<"attn-schedule-gpu", "::mlir::ModuleOp"> {
  let summary = "a cost model chooses the tile of each attention on a GPU";
  let description = [{
    Adds an `#attn.gpu_schedule` to every `attn.attention` that can be made for a GPU and has none. One that is there is
    obeyed: it stays if it is for this GPU and fits the layer, else it is an error. The tile is the fastest one by a model of what a multiprocessor does in a clock (products, exponentials, bytes of shared
    memory) and of how many blocks it holds; options pin parts of it. The strategy of each term follows from its class.
    Registers are known to ptxas alone: `rank` asks for the next candidate where one has spilled.

    ```mlir
    %o = attn.attention "i j" value "j e -> i e" (%v) score {…} : tensor<64x64xf16> -> tensor<64x64xf16>
    // becomes, with target=sm_80,
    %o = attn.attention "i j" value "j e -> i e" (%v) score {…} : tensor<64x64xf16> -> tensor<64x64xf16>
        schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, …, strategies = ["matmul"]>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"", "as ptxas names it">,
                 Option<"rows", "rows", "int64_t", "0", "queries of a block, a multiple of 16; 0: chosen">,
                 Option<"keys", "keys", "int64_t", "0", "keys of a step, a multiple of 16; 0: chosen">,
                 Option<"stages", "stages", "int64_t", "0", "copies of what a step reads, 1 to 4; 0: chosen">,
                 Option<"queries", "queries", "std::string", "\"\"",
                        "where a warp's queries stay: registers or shared; empty: chosen">,
                 Option<"columns", "columns", "int64_t", "0",
                        "of the values that a block has, a multiple of 16; 0: chosen, mostly all">,
                 Option<"warpRows", "warp-rows", "int64_t", "0", "queries of a warp, 16 or 32; 0: chosen">,
                 Option<"keyParts", "key-parts", "int64_t", "0",
                        "blocks that divide the keys of the same queries; 0: chosen, mostly 1">,
                 Option<"rank", "rank", "int64_t", "0", "which of the model's candidates, from 0">];
}
def AttnLowerToCpu : Pass<"attn-lower-to-cpu", "::mlir::ModuleOp"> {
  let summary = "scheduled attention becomes loops over vectors";
  let description = [{
    A function with a scheduled `attn.attention` becomes the phases of its stages, on flat buffers, and the module gets
    `attn.plan`: arguments, stages, phases with their work items, workspace sizes.

    - An attention is `NAME_pack` (tables, only where a term reads one by an offset) and `NAME_attend`. Its operands are
      inputs of the kernel or results of earlier stages; operands of f16 and bf16 are widened by a stage, the result is
      rounded once. One that cannot fuse goes by rows of scores, and only that one.
    - An einsum that is a matrix product, by its subscripts, is `NAME_pack` (one operand in panels) and `NAME_matmul`
      (register tiles); any other einsum, softmax or concatenation is a phase of loops.
    - Arithmetic and index maps are computed where they are read, or in one loop with one buffer where a stage wants
      their result as a whole or there is more than one reader.

    Results between stages stand in the shared workspace, 64-byte aligned; those that do not live together share memory.
    Functions without such an attention are left to `attn-lower-generic`.

    ```mlir
    func.func @layer(%q: tensor<64x64xf32>, …) -> tensor<64x64xf32> { … attn.attention … schedule … }
    // becomes
    func.func @layer_attend(%q: memref<?xf32>, …, %shared: memref<?xi8>, %local: memref<?xi8>, %begin: index, %end: index)
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "a processor by its name, or a machine file">];
}
def AttnLowerToGpu : Pass<"attn-lower-to-gpu", "::mlir::ModuleOp"> {
  let summary = "a kernel becomes a program for NVIDIA GPUs";
  let description = [{
    The function's stages become kernels of a `gpu.module`, to be launched one after another. An `attn.attention` is one on
    `mma.sync`, by its `#attn.gpu_schedule` (without one: 64 queries, 64 keys, 2 stages): a block has `rows` queries of one leading index and goes through the keys in tiles of `keys` with an
    online softmax, while `cp.async` brings the next tiles. Products of queries and keys, and of weights and values, are of
    f16 or bf16 with sums in f32; terms of other classes are added to each score by their index expressions. An attention
    that cannot be such a kernel has a warp for each row of scores; anything else has a thread for each element of its
    result. What stands between stages is in the workspace. The module gets `attn.plan` (arguments), the GPU module
    `attn.program` (its kernels, their threads, blocks and shared memory, and the bytes of the workspace).

    ```mlir
    func.func @layer(%q: tensor<64x64xf16>, …) -> tensor<64x64xf16> { … attn.attention … }
    // becomes
    gpu.module @layer_gpu attributes {attn.program = #attn.program<…>} {
      llvm.func @layer(%q: !llvm.ptr<1>, …) attributes {nvvm.kernel, …} { … nvvm.mma.sync … }
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
                           "::mlir::func::FuncDialect"];
  let options = [Option<"fuse", "fuse", "bool", "true", "attentions are fused where they can be">];
}
def AttnLowerGeneric : Pass<"attn-lower-generic", "::mlir::ModuleOp"> {
  let summary = "the generic path: kernels without a fused attention become loops on buffers";
  let description = [{
    A function without a scheduled attention becomes the phases of its stages, as in `attn-lower-to-cpu` but without the
    parts that are made for a processor. Einsums, softmaxes and index maps are loops over buffers in the shared workspace
    (those that do not live together share memory); a chain of arithmetic is one loop without a buffer in between. The
    first axes of a result count work items. Sums are in f32 whatever the tensors hold. A weight that a mask took away
    contributes nothing, whatever it is multiplied with; a softmax row without a visible element is 0. The module gets
    its `attn.plan`.

    ```mlir
    func.func @f(%x: tensor<4x7xf32> {attn.name = "x"}) -> tensor<4x4xf32> {
      %r = attn.skew %x : tensor<4x7xf32> to tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    }
    ```
    becomes, with a row of the result as a work item,
    ```mlir
    func.func @f_move(%x: memref<?xf32>, %output: memref<?xf32>, %shared: memref<?xi8>, %local: memref<?xi8>,
                      %begin: index, %end: index) {
      scf.for %d0 = %begin to %end step %c1 {
        scf.for %d1 = %c0 to %c4 step %c1 {
          ... = memref.load %x[...]      // row d0, column d1 - d0 + 3
          memref.store ..., %output[...]
        }
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::func::FuncDialect",
                           "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect", "::skewer::attn::AttnDialect"];
}
def AttnUnrollSmallLoops : Pass<"attn-unroll-small-loops", "::mlir::func::FuncOp"> {
  let summary = "innermost loops of few turns and few operations are marked to be written out";
  let description = [{
    LLVM unrolls loops by their size alone, most of them for nothing, and pays for each in every pass behind. Here an
    innermost loop whose turns are a constant, with at most 160 operations in all of them together, is marked with
    `llvm.loop_annotation`; the back end unrolls marked loops only, and those wholly. Loops that ask for memory ahead
    (`memref.prefetch`) stay loops, so that what they ask for stays spread over their turns.

    ```mlir
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %a[%i] : memref<4xf32>
      memref.store %x, %b[%i] : memref<4xf32>
    }
    ```
    becomes
    ```mlir
    scf.for %i = %c0 to %c4 step %c1 {
      ...
    } {loop_annotation = #llvm.loop_annotation<unroll = <disable = false, full = true>>}
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}
def AttnToLinalg : Pass<"attn-to-linalg", "::mlir::ModuleOp"> {
  let summary = "what is not made a kernel becomes linalg on tensors, for pipelines of others";
  let description = [{
    Every operation of the dialect becomes `linalg.generic`s on tensors (`attn.concat`: `tensor.insert_slice`), with
    batch axes as parallel loops and contracted axes as reductions. An operand that is read at plain axes is an input with
    an indexing map; one that is read through an index expression is read in the body by `tensor.extract`, clamped where
    a guard alone keeps it inside. Sums of what is narrower than f32 are in f32. An `attn.attention` becomes its scores,
    term by term, the rows of their exponentials, and the product of these with the values: its scores are held, so this
    is for what is to be lowered by others, compared, or differentiated, and not for speed.

    What follows is upstream's: `-convert-elementwise-to-linalg`, tiling, `-one-shot-bufferize`,
    `-convert-linalg-to-loops`. Positions of a run-time size have no form.

    ```mlir
    %s = attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64} (%q, %t)
        : (tensor<4x8xf32>, tensor<7x8xf32>) -> tensor<4x4xf32>
    ```
    becomes
    ```mlir
    %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = linalg.generic {indexing_maps = [(d0, d1, d2) -> (d0, d2), (d0, d1, d2) -> (d0, d1)],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%q : tensor<4x8xf32>) outs(%zero : tensor<4x4xf32>) {
      ...
      %row = arith.addi ... // d1 - d0 + 3
      %element = tensor.extract %t[%row, %d2] : tensor<7x8xf32>
      ...
    } -> tensor<4x4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::skewer::attn::AttnDialect"];
}
def AttnOutline : Pass<"attn-outline", "::mlir::ModuleOp"> {
  let summary = "an attention inside of a larger function becomes a kernel of its own and a call";
  let description = [{
    Of a function that holds other things than a kernel may (linalg, loops, calls), every `attn.attention`, with the
    operations of this dialect and the arithmetic on tensors that only prepare its operands, moves into a private function
    `NAME_attention`, with a number behind it from the second on, and a call takes its place. Run-time index operands keep
    their names and ranges: those of the function's arguments, and of each `attn.index`, whose operand the call is given. A
    function that is a kernel as a whole is left as it is.

    ```mlir
    func.func @block(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
      %q = linalg.matmul ins(%x, %w : …) …
      %o = attn.attention "i j" value "j e -> i e" (%x) score {
        attn.term "i d, j d" (%q, %x) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
      } : tensor<4x8xf32> -> tensor<4x8xf32>
      return %o : tensor<4x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @block(…) -> tensor<4x8xf32> {
      %q = linalg.matmul …
      %o = call @block_attention(%x, %q) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      return %o : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::skewer::attn::AttnDialect"];
}
def AttnEmbedKernels : Pass<"attn-embed-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels become functions of tensors that run their phases, for modules that hold more than a kernel";
  let description = [{
    Every function that is a kernel (tensors in and out, made of this dialect and arithmetic on tensors alone) keeps its
    name and type, so that its callers stay as they are. Its body becomes one that allocates the result and the
    workspace, and calls the phases that `attn-lower-to-cpu` makes of it, which the module gets as private functions, one
    after another with all their work items. A module may hold several kernels, functions around them, linalg and
    whatever else. What follows is upstream's: `-one-shot-bufferize` with function boundaries, and so on to LLVM.

    An attention without a schedule gets one for the target first. The result's memory belongs to the caller, the
    workspace is freed. No `attn.plan` is left. What an index operand's `attn.range` promises is asserted (`cf.assert`)
    before anything reads it.

    ```mlir
    func.func @layer(%x: tensor<4x7xf32>) -> tensor<4x4xf32> {
      %r = attn.skew %x : tensor<4x7xf32> to tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @layer(%x: tensor<4x7xf32>) -> tensor<4x4xf32> {
      %memory = bufferization.to_buffer %x read_only : tensor<4x7xf32> to memref<4x7xf32>
      ...
      call @layer_move(%flat, %output, %shared, %local, %c0, %items) : ...
      %r = bufferization.to_tensor %result restrict writable : memref<4x4xf32> to tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    }
    func.func private @layer_move(...)
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::func::FuncDialect", "::mlir::vector::VectorDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
                           "::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "a processor by its name, or a machine file">];
}
#endif
