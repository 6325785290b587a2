//===- The passes of Skewer, in the order they run ---------------------------===//
#ifndef SKEWER_PASSES_TD
#define SKEWER_PASSES_TD
include "mlir/Pass/PassBase.td"

include "passes/Fusion/FusionPasses.td"

def AttnFlattenPositions : Pass<"attn-flatten-positions", "::mlir::func::FuncOp"> {
  let summary = "queries and keys that are products of axes become one axis each";
  let description = [{
    The pass works on functions with the attribute `attn.flat_positions`, whose layer is compared with itself at other
    lengths. In attentions, einsums and rearrangements, queries and keys that are a product of axes become one axis.
    Index expressions divide it: `iy` becomes `i floordiv 6`. The 6 is then a number, which may differ at another
    length. As the size of an inner axis, it would be in every stride.

    (* example function=@map *)
    becomes
    ```mlir
    %o = attn.attention "i j" sizes {i = 24 : i64, j = 24 : i64} value "j e -> i e"(%v) score {
      attn.term "i d, j d"(%q, %k) scale 1.000000e+00 : tensor<24x8xf32>, tensor<24x8xf32>
      attn.term "i d, (j floordiv 6 - i floordiv 6 + 3) d"(%q, %r) scale 1.000000e+00 : tensor<24x8xf32>, tensor<7x8xf32>
    } : tensor<24x8xf32> -> tensor<24x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnPrepareStages : Pass<"attn-prepare-stages", "::mlir::func::FuncOp"> {
  let summary = "types and orders of operands become those that the stages of a processor need";
  let description = [{
    Results get the order of axes that their readers need. Operands of attentions and matrix products are widened to
    f32, operands of sums are aligned, and equal stages are merged. `attn-lower-to-cpu` makes the same changes. This
    pass makes them before layers of several lengths are compared; afterwards no extent can be added any more.

    (* example body=@halves *)
    becomes
    ```mlir
    %queries = arith.extf %q : tensor<4x8xf16> to tensor<4x8xf32>
    // … %keys and %values likewise
    %rows = attn.attention "i j" value "j e -> i e"(%values) score {
      attn.term "i d, j d"(%queries, %keys) scale 1.000000e+00 : tensor<4x8xf32>, tensor<4x8xf32>
    } : tensor<4x8xf32> -> tensor<4x8xf32>
    %o = arith.truncf %rows : tensor<4x8xf32> to tensor<4x8xf16>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}
def AttnPrepareGpuStages : Pass<"attn-prepare-gpu-stages", "::mlir::func::FuncOp"> {
  let summary = "types and orders of operands become those that the stages of a GPU need";
  let description = [{
    Attentions read their operands as they are stored: f16 and bf16 are not widened first. A rearrangement that only an
    attention reads becomes part of its subscripts. Results get the type that their reader needs. `attn-lower-to-gpu`
    makes the same changes. This pass makes them before layers of several lengths are compared.

    (* example body=@halves *)
    becomes
    ```mlir
    %o = attn.attention "i j" value "j e -> i e"(%v) score {
      attn.term "i d, j d"(%q, %k) scale 1.000000e+00 : tensor<4x8xf16>, tensor<4x8xf16>
    } : tensor<4x8xf16> -> tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}
def AttnSplitBlocks : Pass<"attn-split-blocks", "::mlir::func::FuncOp"> {
  let summary = "blocks of a map become leading axes, and keys those of a block and of what lies around it";
  let description = [{
    The pass applies if a mask leaves blocks of a map only the keys in and around them (HaloNet, arXiv:2103.12731). The
    number of the block becomes a leading axis, and the keys become those that the block sees. Positions outside the
    map are read as 0, and masked. If the map cuts the last blocks short, queries of 0 fill them, and their results are
    cut off. The pass runs before a schedule is chosen for a processor.

    (* example body=@halo *)
    becomes
    ```mlir
    %keys = attn.einsum "(48*h + 12*jy + 4*g + jx - 13) d -> h g (jy jx) d" where "0 < 4*g + jx and …" … (%k)
    // … %values likewise
    %o, %rows = attn.attention "h g (iy ix) (jy jx)" where "0 < 4*g + jx and …" … value "h g (jy jx) e -> (h iy g ix) e"(%values) score {
      attn.term "(h iy g ix) d, h g (jy jx) d"(%q, %keys) …
      attn.term "(h iy g ix) d, (jy - iy + 4) d"(%q, %t) …
    } …
    %lse = attn.rearrange "h g (iy ix) -> (h iy g ix)" … %rows
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnSplitWindows : Pass<"attn-split-windows", "::mlir::func::FuncOp"> {
  let summary = "windows of lines of a map are those of blocks of queries, with the keys that they reach";
  let description = [{
    The pass applies if a mask leaves a window of each line of a map. Blocks of the line's queries become a leading
    axis, and the keys become those that the windows of a block reach. The mask then hides little of what a tile
    computes. Lines that are short beside the window stay whole. The pass runs before a schedule is chosen for a
    processor.

    (* example body=@window *)
    becomes, with blocks of 8 queries and 16 keys of each line,
    ```mlir
    %o = attn.attention "h (iy ix) (jy jx)" where "abs(iy - jy) <= 1 and abs(8*h + ix - jx - clamp(8*h, 3, 19) + 3) <= 3" …
        value "jy (jx + clamp(8*h, 3, 19) - 3) e -> (iy h ix) e"(%v) …
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnRoundProducts : Pass<"attn-round-products", "::mlir::func::FuncOp"> {
  let summary = "tensors that only products read become bf16";
  let description = [{
    The pass applies if the target multiplies bf16 faster than f32 and all results of the kernel are bf16. A matrix
    product or an attention may have a result that only matrix products and attentions multiply: projections of
    queries, keys and values, and rows of the last projection. An attention may have a result that is only scaled and
    then rounded, as gates do; its weights are then multiplied as bf16. Arithmetic may compute queries and keys of an
    attention from operands, as rotations do. Such a result is rounded if each of its readers then multiplies bf16: the
    other operand is bf16 too. Tensors that are added, gathered or looked up keep their digits, and so do keys of fewer
    than 32 queries, sums with exact numbers such as positions, queries and keys of large scores or of few products, and
    those whose weights no softmax makes and whose sum is read. The pass runs before a schedule is chosen for a processor.

    (* example body=@module *)
    becomes, with target=zen4,
    ```mlir
    %q = attn.einsum "i c, c d -> i d"(%x, %wq) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
    %queries = arith.truncf %q : tensor<64x64xf32> to tensor<64x64xbf16>
    // … the attention's result likewise
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "the name of a processor, or a machine file">];
}
def AttnFitLengths : Pass<"attn-fit-lengths", "::mlir::ModuleOp"> {
  let summary = "the layers of a few lengths become one layer for all lengths";
  let description = [{
    A kernel with run-time lengths (`size N <= 64`) is one function for all of them. It is found from the same layer
    compiled for a few lengths: each length at its bound and one less, in all combinations, and one more that checks.
    The module holds a module for each of these points, the bounds first; `skewer compile --emit=attn` writes this
    form. The pass runs `pipeline` on each, compares the results operation by operation, and writes a number that
    differs as a function of the lengths, which become index operands (`N[0]`). Only the layer for all lengths remains.

    Results may differ in more than numbers, for example if chunks divide only the bound. The pass then starts again
    and states, by attributes of the functions, that positions stay whole or are one number each. Messages of tries
    that fail are dropped, except those of the last one. A layer that depends on its length in another way is an error
    at the operation that differs.

    ```mlir
    module {
      module {
        func.func @layer(%x: tensor<64x8xf32> {attn.name = "x", attn.shape = [64, 8]}, %t: tensor<64x8xf32> {attn.name = "table", attn.shape = [64, 8]}) -> (tensor<64x8xf32> {attn.shape = [64, 8]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = []} {
          %y = attn.einsum "i d, (63 - i) d -> i d"(%x, %t) : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
          return %y : tensor<64x8xf32>
        }
      }
      module {
        func.func @layer(%x: tensor<63x8xf32> {attn.name = "x", attn.shape = [63, 8]}, %t: tensor<63x8xf32> {attn.name = "table", attn.shape = [63, 8]}) -> (tensor<63x8xf32> {attn.shape = [63, 8]}) attributes {attn.kernel, attn.sizes = []} {
          %y = attn.einsum "i d, (62 - i) d -> i d"(%x, %t) : (tensor<63x8xf32>, tensor<63x8xf32>) -> tensor<63x8xf32>
          return %y : tensor<63x8xf32>
        }
      }
      module {
        func.func @layer(%x: tensor<61x8xf32> {attn.name = "x", attn.shape = [61, 8]}, %t: tensor<61x8xf32> {attn.name = "table", attn.shape = [61, 8]}) -> (tensor<61x8xf32> {attn.shape = [61, 8]}) attributes {attn.kernel, attn.sizes = []} {
          %y = attn.einsum "i d, (60 - i) d -> i d"(%x, %t) : (tensor<61x8xf32>, tensor<61x8xf32>) -> tensor<61x8xf32>
          return %y : tensor<61x8xf32>
        }
      }
    }
    ```
    becomes, with `pipeline=attn-fuse,attn-align-lengths`, which is the default,
    ```mlir
    module {
      func.func @layer(%x: tensor<64x8xf32> {attn.name = "x", attn.shape = ["N", 8]}, …, %N: tensor<1xi32> {attn.length, …}) … {
        %y = attn.einsum "i j, (N[0] - 1 - i) j -> i j" where "i < N[0]" indices(N = %N : tensor<1xi32>)(%x, %t) {…} : …
        return %y : tensor<64x8xf32>
      }
    }
    ```
  }];
  let options = [Option<"pipeline", "pipeline", "std::string", "\"attn-fuse,attn-align-lengths\"",
                        "passes that run on the layer of each length before the comparison">];
}

def AttnSchedule : Pass<"attn-schedule", "::mlir::func::FuncOp"> {
  let summary = "the cost model chooses tiles, blocks and a strategy for each term";
  let description = [{
    The pass adds an `#attn.cpu_schedule` to every `attn.attention` whose operands the CPU lowering can walk. The cost
    model chooses from the description of the processor (lanes, registers, caches, FMAs a cycle, pipes of additions)
    and the layer's sizes, never from a measurement on the host. Options pin parts of the choice. The pass follows an
    existing schedule, whether written by hand or by an earlier pass: the schedule stays if it is for this target and
    fits the layer; otherwise the pass reports an error.

    (* example body=@layer *)
    becomes, with target=x86-64-v3,
    ```mlir
    %o = attn.attention "h i j" value "h j e -> h i e" (%v) score {
      …
    } : tensor<2x64x64xf32> -> tensor<2x64x64xf32>
        schedule #attn.cpu_schedule<target = "x86-64-v3", lanes = 8, …, strategies = ["matmul", "band"]>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "the name of a processor, or a machine file">,
                 Option<"tileRows", "tile-rows", "int64_t", "0", "rows in the score tile; 0: chosen">,
                 Option<"tileVectors", "tile-vectors", "int64_t", "0", "vectors of keys in the score tile; 0: chosen">,
                 Option<"rowBlock", "row-block", "int64_t", "0", "queries whose scores are held at once; 0: chosen">,
                 Option<"keyBlock", "key-block", "int64_t", "0", "keys whose scores are held at once; 0: chosen">,
                 Option<"rowsPerItem", "rows-per-item", "int64_t", "0", "queries of a work item; 0: chosen">,
                 Option<"keysPerItem", "keys-per-item", "int64_t", "0", "keys of a work item; 0: chosen">,
                 ListOption<"strategies", "strategies", "std::string",
                            "strategies of single terms, such as 2:element, counted from 1 in the schedule's order">];
}
def AttnScheduleGpu : Pass<"attn-schedule-gpu", "::mlir::ModuleOp"> {
  let summary = "a cost model chooses the tile of each attention on a GPU";
  let description = [{
    The pass adds an `#attn.gpu_schedule` to every `attn.attention` that can become one GPU kernel and has no
    schedule. It follows an existing schedule: the schedule stays if it is for this GPU and fits the layer; otherwise
    the pass reports an error. The cost model describes what a multiprocessor does in a clock (products, exponentials,
    bytes of shared memory) and how many blocks it holds. The pass chooses the tile that is fastest by this model.
    Options pin parts of the tile. The class of each term determines its strategy. Only ptxas knows how many registers
    a tile needs: if registers of a candidate are spilled, `rank` requests the next candidate.

    (* example body=@layer *)
    becomes, with target=sm_80,
    ```mlir
    %o = attn.attention "h i j" value "h j e -> h i e" (%v) score {
      …
    } : tensor<2x100x64xf16> -> tensor<2x100x64xf16>
        schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 64, …,
                                    strategies = ["matmul", "band", "lookup", "line", "per_score"]>
    ```
  }];
  let dependentDialects = ["::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"", "the GPU, as ptxas names it">,
                 Option<"rows", "rows", "int64_t", "0", "queries of a block, a multiple of 16; 0: chosen">,
                 Option<"keys", "keys", "int64_t", "0", "keys of a step, a multiple of 16; 0: chosen">,
                 Option<"stages", "stages", "int64_t", "0", "copies of the data that a step reads, 1 to 4; 0: chosen">,
                 Option<"queries", "queries", "std::string", "\"\"",
                        "where the queries of a warp stay: registers or shared; empty: chosen">,
                 Option<"columns", "columns", "int64_t", "0",
                        "columns of the values that a block has, a multiple of 16; 0: chosen, mostly all">,
                 Option<"warpRows", "warp-rows", "int64_t", "0", "queries of a warp, 16 or 32; 0: chosen">,
                 Option<"engine", "engine", "std::string", "\"\"", "the engine that multiplies; empty: chosen">,
                 Option<"copies", "copies", "std::string", "\"\"",
                        "how producers copy regular rows: cp_async or tma; empty: cp_async">,
                 Option<"keyParts", "key-parts", "int64_t", "0",
                        "blocks that divide the keys of the same queries; 0: chosen, mostly 1">,
                 Option<"rank", "rank", "int64_t", "0", "number of the model's candidate to use, from 0">];
}
def AttnLowerToCpu : Pass<"attn-lower-to-cpu", "::mlir::ModuleOp"> {
  let summary = "scheduled attention becomes loops over vectors";
  let description = [{
    A function with an `attn.attention` that can fuse, a matrix product or a softmax becomes the phases of its stages,
    on flat buffers. The module gets `attn.plan`: arguments, stages, phases with their work items, workspace sizes.

    - An attention becomes `NAME_pack` (tables, only if a term reads one by an offset) and `NAME_attend`. Its operands
      are inputs of the kernel or results of earlier stages. A stage widens operands of f16 and bf16; the result is
      rounded once. An attention that cannot fuse is computed by rows of scores; this does not affect the others.
    - An einsum whose subscripts make it a matrix product becomes `NAME_pack` (one operand in panels) and
      `NAME_matmul` (register tiles). Any other einsum, softmax or concatenation becomes a phase of loops.
    - Arithmetic and index maps are computed where they are read. They become one loop with one buffer if a stage
      needs their whole result, or if there is more than one reader.

    Results between stages are in the shared workspace, 64-byte aligned. Results with disjoint lifetimes share memory.
    The pass leaves all other functions to `attn-lower-generic`.

    (* example body=@layer *)
    becomes, in the function `layer` and with a schedule,
    ```mlir
    func.func @layer_pack(…)   // the table in panels
    func.func @layer_attend(%q: memref<?xf32>, …, %shared: memref<?xi8>, %local: memref<?xi8>, %begin: index, %end: index)
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::x86vector::X86VectorDialect",
                           "::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "the name of a processor, or a machine file">];
}
def AttnLowerToGpu : Pass<"attn-lower-to-gpu", "::mlir::ModuleOp"> {
  let summary = "a kernel becomes a program for NVIDIA GPUs";
  let description = [{
    The function's stages become kernels of a `gpu.module`, which are launched one after another.

    - An `attn.attention` becomes one kernel on `mma.sync`, according to its `#attn.gpu_schedule` (without one: 64
      queries, 64 keys, 2 stages). A block has `rows` queries of one leading index. It iterates over the keys in tiles
      of `keys`, with an online softmax, while `cp.async` loads the next tiles. Products of queries and keys, and of
      weights and values, are of f16 or bf16, with sums in f32. Terms of other classes are added to each score by
      their index expressions.
    - An attention that cannot be such a kernel has one warp for each row of scores.
    - A matrix product on tensor cores has one block for each 64 × 64 elements of its result.
    - Any other stage has one thread for each element of its result.

    Results between stages are in the workspace. The module gets `attn.plan` (arguments). The GPU module gets
    `attn.program` (its kernels, their threads, blocks and shared memory, and the bytes of the workspace).

    (* example body=@layer *)
    becomes, in the function `layer`,
    ```mlir
    gpu.module @layer_gpu attributes {attn.program = #attn.program<…>} {
      llvm.func @layer(%q: !llvm.ptr<1>, …) attributes {nvvm.kernel, …} { … nvvm.mma.sync … }
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
                           "::mlir::func::FuncDialect"];
  let options = [Option<"fuse", "fuse", "bool", "true", "fuse attentions where possible">];
}
def AttnLowerGeneric : Pass<"attn-lower-generic", "::mlir::ModuleOp"> {
  let summary = "the generic path: kernels without a fused attention become loops on buffers";
  let description = [{
    A function that is not lowered yet becomes the phases of its stages, as in `attn-lower-to-cpu` but without the
    parts that are made for a processor. Einsums, softmaxes and index maps become loops over buffers in the shared
    workspace; buffers with disjoint lifetimes share memory. A chain of arithmetic becomes one loop without a buffer
    in between. The first axes of a result count work items. Sums are in f32, whatever the tensors hold. A weight that
    a mask removes contributes nothing, whatever multiplies it. A softmax row without a visible element is 0. The
    module gets its `attn.plan`.

    (* example function=@f *)
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
def AttnApproximateErf : Pass<"attn-approximate-erf", "::mlir::func::FuncOp"> {
  let summary = "the error function becomes arithmetic";
  let description = [{
    GELU needs erf, for which LLVM has no operation; a call of libm for each lane would be slow. The pass replaces
    `math.erf` of f32, and of vectors of f32, by a polynomial in operations on vectors. Other types stay.

    (* example body=@vector *)
    becomes
    ```mlir
    %size = math.absf %x : vector<8xf32>
    // … %near: a polynomial, and %far: 1 - exp of a polynomial, with the sign of %x
    %e = arith.select %isFar, %far, %near : vector<8xi1>, vector<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect",
                           "::mlir::LLVM::LLVMDialect"];
}
def AttnGpuMath : Pass<"attn-gpu-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "functions of single numbers on a GPU become arithmetic";
  let description = [{
    A GPU has no library of functions. exp, log, sin, cos, tanh, erf, pow and the other functions of f32 with a
    polynomial become arithmetic, exact to a few units in the last place; some are short sequences of instructions. The
    angle of sin and cos is reduced first. f64 is computed in f32. The code generator knows the rest of the math
    dialect. Any other operation, which a plugin may bring, is an error.

    ```mlir
    %r = math.sin %x : f32
    ```
    becomes
    ```mlir
    %turns = math.roundeven %quarters : f32 // %x in units of pi/2
    // … %sine and %cosine: polynomials of the rest of the angle
    %value = arith.select %isOdd, %cosine, %sine : f32
    %minus = arith.negf %value : f32
    %r = arith.select %isNegative, %minus, %value : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}
def AttnUnrollSmallLoops : Pass<"attn-unroll-small-loops", "::mlir::func::FuncOp"> {
  let summary = "innermost loops with few iterations and few operations are marked for complete unrolling";
  let description = [{
    LLVM decides by size alone which loops it unrolls. Most of this unrolling gains nothing, and every later pass
    takes time for it. This pass marks an innermost loop with `llvm.loop_annotation` if its number of iterations is a
    constant and all iterations together have at most 160 operations. The back end unrolls only marked loops, and
    unrolls them completely. Loops that prefetch (`memref.prefetch`) stay loops, so that their prefetches stay spread
    over the iterations.

    (* example body=@example *)
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
  let summary = "operations of the dialect become linalg on tensors, for the pipelines of other compilers";
  let description = [{
    Every operation of the dialect becomes `linalg.generic`s on tensors (`attn.concat` becomes `tensor.insert_slice`).
    Batch axes become parallel loops, and contracted axes become reductions. An operand that is read at plain axes
    becomes an input with an indexing map. An operand that is read through an index expression is read in the body by
    `tensor.extract`; the index is clamped where only a guard keeps it inside. Sums of types narrower than f32 are in
    f32.

    An `attn.attention` becomes its scores, term by term, the rows of their exponentials, and the product of these
    with the values. Its scores are held. So the result is meant to be lowered by other compilers, compared, or
    differentiated, and not to be fast.

    Upstream passes continue from there: `-convert-elementwise-to-linalg`, tiling, `-one-shot-bufferize`,
    `-convert-linalg-to-loops`. An `attn.position` of run-time size cannot be converted.

    (* example body=@example *)
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
  let summary = "an attention inside a larger function becomes a kernel of its own and a call";
  let description = [{
    The pass works on functions that hold operations which a kernel cannot hold (linalg, loops, calls). In such a
    function, every `attn.attention` moves into a private function `NAME_attention`, and a call takes its place. From
    the second attention on, a number follows this name. The operations of this dialect and the arithmetic on tensors
    that only prepare operands of the attention move too.

    Run-time index operands keep the names and ranges that the function's arguments or an `attn.index` give them. The
    operand of the `attn.index` becomes the operand of the call. A function that is a kernel as a whole stays as it
    is.

    (* example function=@model *)
    becomes
    ```mlir
    func.func @model(%x: tensor<4x8xf32>, %t: tensor<7xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
      %half = arith.constant dense<0.5> : tensor<4x8xf32>
      %q = arith.mulf %x, %half : tensor<4x8xf32>
      %o, %l = call @model_attention(%t, %q, %x) : …
      %r = linalg.add ins(%o, %q : …) outs(%x : …)
      return %r, %l : tensor<4x8xf32>, tensor<4xf32>
    }
    func.func private @model_attention(%t: tensor<7xf32>, %q: tensor<4x8xf32>, %x: tensor<4x8xf32>) -> … {
      %wide = attn.rearrange "r -> i r" …
      %o, %l = attn.attention …
      return %o, %l : tensor<4x8xf32>, tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::skewer::attn::AttnDialect"];
}
def AttnEmbedKernels : Pass<"attn-embed-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels become functions on tensors that call their phases, for modules that also hold other code";
  let description = [{
    Every function that is a kernel (its arguments and results are tensors, and it holds only operations of this
    dialect and arithmetic on tensors) keeps its name and type, so that its callers stay as they are. Its new body
    allocates the result and the workspace, and calls the phases that `attn-lower-to-cpu` makes of the kernel, one
    after another, with all their work items. The module gets these phases as private functions. A module can hold
    several kernels, functions around them, linalg and any other operations. Upstream passes continue from there:
    `-one-shot-bufferize` with function boundaries, and so on to LLVM.

    An attention without a schedule first gets a schedule for the target. The result's memory belongs to the caller;
    the workspace is freed. No `attn.plan` is left. The range that `attn.range` promises for an index operand is
    asserted (`cf.assert`) before anything reads the operand.

    (* example function=@first *)
    becomes
    ```mlir
    func.func @first(%x: tensor<4x7xf32>) -> tensor<4x4xf32> {
      %memory = bufferization.to_buffer %x read_only : tensor<4x7xf32> to memref<4x7xf32>
      ...
      call @first_move(%flat, %output, %shared, %local, %c0, %items) : ...
      %r = bufferization.to_tensor %result restrict writable : memref<4x4xf32> to tensor<4x4xf32>
      return %r : tensor<4x4xf32>
    }
    func.func private @first_move(...)
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::func::FuncDialect", "::mlir::vector::VectorDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
                           "::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "the name of a processor, or a machine file">];
}
#endif
