// Emits the kernel of a fused attention: the work before the tiles of keys, the loop over them, and the work after it.
#include "passes/Gpu/GpuKernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/AsyncCopies.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/RingKernel.h"
#include "passes/Gpu/Warp.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

/// The loop over steps in which all threads of a block fill tiles and compute.
class Loop {
public:
  Loop(KernelContext &in, Masks &masks) : in(in), code(in, masks), masks(masks), b(in.b) {}

  void emit() {
    code.locate();
    code.readQueries();
    in.queries.fill();
    code.computeBlockNumbers();
    auto [low, high] = masks.steps();
    begin(low);
    size_t rows = in.place.scores.rows();
    SmallVector<Value> last = b.loop(low, high, 1, code.emptyRows().numbers(), [&](Value number, ValueRange before) {
      return step(number, RowState::of(before, rows)).numbers();
    });
    in.pipeline.drain(); // of tiles behind the last step
    code.write(RowState::of(last, rows));
  }

private:
  /// Emits what comes before the first step, `low`.
  void begin(Value low) {
    bool hasPrologue = code.hasPrologue();
    if (hasPrologue) {
      in.pipeline.commit();
      code.runPrologue();
      in.pipeline.empty(); // tiles of keys take these places now
    }
    for (int64_t ahead = 0; ahead < in.pipeline.stepsAhead(); ++ahead)
      fill(b.add(low, ahead), in.pipeline.copyOf(b.add(low, ahead)));
    if (!in.queries.isEmpty() && !hasPrologue) {
      if (in.pipeline.isSingleBuffered())
        in.pipeline.commit();
      in.pipeline.full();
    }
    in.queries.hold();
  }

  void fill(Value number, Value copy) {
    code.fill(number, copy);
    in.pipeline.commit();
  }

  RowState step(Value number, const RowState &before) {
    in.pipeline.full();
    Value copy = in.pipeline.copyOf(number), next = in.pipeline.nextOf(number);
    if (!in.pipeline.isSingleBuffered()) // then a tile is filled right before its product
      in.pipeline.holdConverted();
    fill(next, in.pipeline.copyOf(next));
    RowState state = computed(number, copy, before);
    in.pipeline.settle();
    return state;
  }

  /// Returns the state of the rows after a step.
  RowState computed(Value number, Value copy, const RowState &before) {
    if (in.pipeline.isSingleBuffered() && code.computesNumbers())
      in.pipeline.meet();
    Step at = code.stepAt(number, copy);
    SmallVector<Value> bits = code.seenBits(at);
    auto compute = [&] { return code.compute(at, bits, before); };
    // A warp leaves a tile out if it sees none of its keys: other documents, keys behind a length. If all warps of the
    // block meet at a barrier in a step, no warp leaves a tile out.
    if (bits.empty() || in.pipeline.isSingleBuffered() || code.meetsInSteps())
      return compute();
    Value seen = bits.front();
    for (Value word : ArrayRef<Value>(bits).drop_front())
      seen = arith::OrIOp::create(b, seen, word);
    SmallVector<Value> flat = before.numbers();
    return RowState::of(b.choose(
                            anyLane(b, b.notEqual(seen, b.i32(0))), TypeRange(ValueRange(flat)),
                            [&] { return compute().numbers(); }, [&] { return flat; }),
                        in.place.scores.rows());
  }

  KernelContext &in;
  StepCode code;
  Masks &masks;
  GpuBuilder &b;
};

} // namespace

void skewer::gpu::emitByAll(KernelContext &in, Masks &masks) { Loop(in, masks).emit(); }

std::optional<Refusal> skewer::gpu::emitAttentionKernel(GpuBuilder &b, const GpuAttention &shape,
                                                        mlir::gpu::GPUModuleOp module) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  GpuLayout layout = layoutOf(shape, shape.tile);
  LLVM::LLVMFuncOp function = createKernel(b, b.getLoc(), module, shape.signature, shape.kernel,
                                           shape.tile.blockThreads(), layout.boxes.size());
  // Numbers below 2^-126 count as 0, weights included: this selects ex2.approx.ftz, which also needs two instructions
  // less.
  function.setDenormalFpMathF32("preserve-sign");
  b.setInsertionPointToStart(&function.getBody().front());
  BlockMemory shared(b, module, shape.tile.facts().swizzles ? kSwizzleAlignment : kChunkAlignment);

  Operands operands(b, shape, module, function);
  ThreadPlace at = threadPlace(b);
  BlockPlace place(b, shape, operands, at);
  Masks masks(b, shape, operands, place);
  std::unique_ptr<Engine> engine =
      makeEngine(shape.tile.engine, {b, shared, at, shape.element, shape.attention.keys, shape.attention.direct});
  if (!engine)
    return Refusal{"there is no engine '" + shape.tile.engine.str() + "'"};
  bool hasProducers = shape.tile.facts().producers;
  TileUsers users{shape.tile.threads()};
  if (hasProducers)
    users = {shape.tile.threads(), kComputingBarrier, /*readAsynchronously=*/true};
  AsyncCopies pipeline(b, shared, at, shape.element, users, shape.tile.stages);
  QueryTiles queries(b, shape, layout, place, pipeline, *engine);
  KernelContext in{b,
                   shared,
                   shape,
                   shape.tile,
                   layout,
                   operands,
                   at,
                   place,
                   pipeline,
                   *engine,
                   queries,
                   {at.thread, shape.tile.threads()},
                   commonScaleOf(shape),
                   /*stepsBeginTogether=*/!hasProducers};
  if (hasProducers)
    emitWithProducers(in, masks, function);
  else
    emitByAll(in, masks);
  LLVM::ReturnOp::create(b, ValueRange());
  return operands.refusal;
}
