// Emits the roles of the warps of a block: producers and computing warpgroups.
#include "passes/Gpu/RingKernel.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Gpu/AsyncCopies.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/Ring.h"
#include "passes/Gpu/Shape/RingRegisters.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

class RingKernel {
public:
  RingKernel(KernelContext &in, Masks &masks)
      : in(in), masks(masks), b(in.b), ring(in.b, in.shared, in.layout.signals, in.tile.stages),
        registers(ringRegistersOf(in.tile)) {}

  void emit() {
    ring.begin(in.at, in.tile.facts().producers / 32, in.tile.warps());
    std::tie(low, high) = masks.steps();
    b.either(b.less(in.at.thread, b.i32(in.tile.threads())), [&] { compute(); }, [&] { produce(); });
  }

private:
  /// Moves registers between the warpgroups of the block, if the tile needs that.
  void setRegisters(int64_t count, NVVM::SetMaxRegisterAction action) {
    if (registers.move)
      NVVM::SetMaxRegisterOp::create(b, uint32_t(count), action);
  }

  /// Emits the loop over steps with the thread's place in the ring; `body` returns the carried numbers.
  SmallVector<Value> loop(ArrayRef<Value> initial,
                          llvm::function_ref<SmallVector<Value>(Value number, const RingPlace &, ValueRange)> body) {
    RingPlace first = ring.first();
    SmallVector<Value> carried{first.copy, first.phase};
    carried.append(initial.begin(), initial.end());
    SmallVector<Value> last = b.loop(low, high, 1, carried, [&](Value number, ValueRange before) {
      RingPlace at{before[0], before[1]};
      SmallVector<Value> after = body(number, at, before.drop_front(2));
      RingPlace next = ring.next(at);
      SmallVector<Value> all{next.copy, next.phase};
      all.append(after);
      return all;
    });
    return SmallVector<Value>(ArrayRef<Value>(last).drop_front(2));
  }

  void produce() {
    setRegisters(registers.producing, NVVM::SetMaxRegisterAction::decrease);
    ThreadPlace at = in.at;
    at.thread = b.sub(in.at.thread, b.i32(in.tile.threads()));
    int64_t threads = in.tile.facts().producers;
    AsyncCopies copies(b, in.shared, at, in.shape.element, {threads}, in.tile.stages);
    KernelContext own{b,        in.shared, in.shape,  in.tile,   in.layout,  in.operands, at,
                      in.place, copies,    in.engine, in.queries, {at.thread, threads},   in.lateScale};
    StepCode code(own, masks);
    code.locate();
    if (code.hasPrologue())
      barrierOf(b, kPrologueBarrier, in.tile.blockThreads());
    loop({}, [&](Value number, const RingPlace &place, ValueRange) {
      ring.waitUntilEmpty(place);
      code.fill(number, place.copy);
      ring.arriveWhenCopied(place);
      ring.sayFull(place, at.lane);
      return SmallVector<Value>();
    });
    copies.commit();
    copies.drain();
  }

  void compute() {
    setRegisters(registers.computing, NVVM::SetMaxRegisterAction::increase);
    StepCode code(in, masks);
    code.locate();
    code.readQueries();
    in.queries.fill();
    in.pipeline.commit();
    if (code.hasPrologue()) {
      code.runPrologue();
      in.pipeline.allFull();
      barrierOf(b, kPrologueBarrier, in.tile.blockThreads());
    } else {
      in.pipeline.allFull();
    }
    size_t rows = in.place.scores.rows();
    SmallVector<Value> last =
        loop(code.emptyRows().numbers(), [&](Value number, const RingPlace &place, ValueRange before) {
          ring.waitUntilFull(place);
          fenceBeforeAsyncReads(b); // of what producers have copied
          Step step = code.stepAt(number, place.copy);
          RowState after = code.compute(step, code.seenBits(step), RowState::of(before, rows));
          ring.sayEmpty(place, in.at.lane);
          return after.numbers();
        });
    finish(code, RowState::of(last, rows));
  }

  /// Writes the result. If a mask hides keys, and some result of the block is NaN, a hidden key may have a value that is
  /// no number: then the block computes all of it again, with care.
  void finish(StepCode &code, const RowState &state) {
    if (in.engine.hidesOddValues() || !(masks.hideSome() || hidesByFunction(in.shape.attention)))
      return code.write(state);
    b.either(someAreNan(state), [&] { computeAgain(); }, [&] { code.write(state); });
  }

  /// Computes the rows of the block as a kernel of mma.sync does.
  void computeAgain() {
    GpuAttention shape = in.shape;
    shape.tile = carefulTileOf(in.tile);
    GpuLayout layout = carefulLayoutOf(shape, in.tile);
    BlockPlace place(b, shape, in.operands, in.at);
    Masks own(b, shape, in.operands, place);
    std::unique_ptr<Engine> engine = makeEngine(
        shape.tile.engine, {b, in.shared, in.at, shape.element, shape.attention.keys, shape.attention.direct});
    AsyncCopies copies(b, in.shared, in.at, shape.element, {in.tile.threads(), kComputingBarrier}, shape.tile.stages);
    QueryTiles queries(b, shape, layout, place, copies, *engine);
    KernelContext again{b,     in.shared, shape,   shape.tile, layout,    in.operands, in.at,
                        place, copies,    *engine, queries,    in.filler, in.lateScale};
    emitByAll(again, own);
  }

  /// Returns whether some result of the block is NaN (i1).
  Value someAreNan(const RowState &state) {
    Value own;
    for (const Accumulator &sum : state.output.tiles)
      for (Value number : sum) {
        Value nan = b.isNan(number);
        own = own ? Value(arith::OrIOp::create(b, own, nan)) : nan;
      }
    Value ofWarp = b.select(anyLane(b, own), b.i32(1), b.i32(0));
    int64_t numbers = in.layout.signals + 16 * in.tile.stages; // one of each warp
    b.when(b.equal(in.at.lane, b.i32(0)), [&] { store(b, ofWarp, in.shared.numberAt(in.at.warp, numbers)); });
    in.pipeline.meet();
    Value some = b.i32(0);
    for (int64_t warp = 0; warp < in.tile.warps(); ++warp)
      some = arith::OrIOp::create(b, some, load(b, in.shared.numberAt(b.i32(warp), numbers), b.getI32Type()));
    return b.notEqual(some, b.i32(0));
  }

  KernelContext &in;
  Masks &masks;
  GpuBuilder &b;
  Ring ring;
  RingRegisters registers;
  Value low, high; // the block's steps
};

} // namespace

void skewer::gpu::emitWithProducers(KernelContext &in, Masks &masks, LLVM::LLVMFuncOp kernel) {
  if (ringRegistersOf(in.tile).move) // without this, ptxas does not move registers
    kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), in.b.getI32IntegerAttr(1));
  RingKernel(in, masks).emit();
}
