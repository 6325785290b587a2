// Emits the roles of the warps of a block: producers and computing warpgroups.
#include "passes/Gpu/RingKernel.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Analysis/FunctionRange.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/GpuLaunch.h"
#include "passes/Gpu/Ring.h"
#include "passes/Gpu/Shape/RingRegisters.h"
#include "passes/Gpu/TensorCopies.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

/// Tiles of a step that producers hand over together: those of the scores, of the values, or both.
struct Part {
  Ring ring;
  const GpuLayout::Filling &filling;
};

class RingKernel {
public:
  RingKernel(KernelContext &in, Masks &masks, ValueRange maps)
      : in(in), masks(masks), b(in.b), maps(maps), registers(ringRegistersOf(in.tile)) {
    for (const GpuLayout::Filling &filling : in.layout.fillings) {
      int64_t barriers = in.layout.signals + 16 * in.tile.stages * int64_t(parts.size());
      parts.push_back({Ring(b, in.shared, barriers, in.tile.stages), filling});
    }
  }

  void emit() {
    createBarriers(b, in.at, !in.layout.boxes.empty(), [&] {
      for (Part &part : parts)
        part.ring.create(part.filling.threads ? in.tile.facts().producers / 32 : 0, in.tile.warps(),
                         part.filling.boxes);
    });
    std::tie(low, high) = masks.steps();
    b.either(
        b.less(in.at.thread, b.i32(in.tile.threads())), [&] { compute(); }, [&] { produce(); });
  }

private:
  bool isApart() const { return parts.size() > 1; }
  Part &scores() { return parts.front(); }
  Part &values() { return parts.back(); }

  /// Moves registers between the warpgroups of the block, if the tile needs that.
  void setRegisters(int64_t count, NVVM::SetMaxRegisterAction action) {
    if (registers.move)
      NVVM::SetMaxRegisterOp::create(b, uint32_t(count), action);
  }

  /// Emits the loop over steps with the thread's place in the ring; `body` returns the carried numbers.
  SmallVector<Value> loop(ArrayRef<Value> initial,
                          llvm::function_ref<SmallVector<Value>(Value number, const RingPlace &, ValueRange)> body) {
    RingPlace first = scores().ring.first();
    SmallVector<Value> carried{first.copy, first.phase};
    carried.append(initial.begin(), initial.end());
    SmallVector<Value> last = b.loop(low, high, 1, carried, [&](Value number, ValueRange before) {
      RingPlace at{before[0], before[1]};
      SmallVector<Value> after = body(number, at, before.drop_front(2));
      RingPlace next = scores().ring.next(at);
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
    TensorCopies copies(b, in.shared, at, in.shape.element, {threads}, in.tile.stages, in.layout.boxes, maps);
    KernelContext own{b,           in.shared, in.shape, in.tile,   in.layout,  in.operands,
                      at,          in.place,  copies,   in.engine, in.queries, {at.thread, threads},
                      in.lateScale};
    StepCode code(own, masks);
    code.locate();
    if (code.hasPrologue())
      barrierOf(b, kPrologueBarrier, in.tile.blockThreads());
    // One warp asks for boxes. The others have nothing to do if all rows are copied as boxes.
    Value asks = b.less(at.thread, b.i32(32));
    auto fillAll = [&] {
      loop({}, [&](Value number, const RingPlace &place, ValueRange) {
        for (Part &part : parts)
          fill(part, code, copies, number, place, asks, at.lane);
        return SmallVector<Value>();
      });
    };
    if (llvm::none_of(parts, [](const Part &part) { return part.filling.threads; }))
      return b.when(asks, fillAll);
    fillAll();
    copies.commit();
    copies.drain();
  }

  /// Fills the tiles of a part. `asks`: whether the thread is one of the warp that asks for boxes.
  void fill(Part &part, StepCode &code, TensorCopies &copies, Value number, const RingPlace &place, Value asks,
            Value lane) {
    const GpuLayout::Filling &filling = part.filling;
    auto fillTiles = [&] {
      part.ring.waitUntilEmpty(place);
      code.fill(number, place.copy, filling.ofScores, filling.ofValues);
    };
    if (!filling.threads) {
      b.when(asks, [&] {
        fillTiles();
        copies.askForBoxes(part.ring.full(place));
      });
      return;
    }
    fillTiles();
    if (filling.boxes)
      b.when(asks, [&] { copies.askForBoxes(part.ring.full(place)); });
    part.ring.arriveWhenCopied(place);
    part.ring.sayFull(place, lane);
  }

  void compute() {
    setRegisters(registers.computing, NVVM::SetMaxRegisterAction::increase);
    StepCode code(in, masks);
    code.locate();
    code.readQueries();
    in.queries.fill();
    in.pipeline.commit();
    code.computeBlockNumbers();
    if (code.hasPrologue()) {
      code.runPrologue();
      in.pipeline.allFull();
      barrierOf(b, kPrologueBarrier, in.tile.blockThreads());
    } else {
      in.pipeline.allFull();
    }
    RowState empty = code.emptyRows();
    SmallVector<Value> last = in.tile.facts().runsAhead ? stepsAhead(code, empty) : steps(code, empty);
    finish(code, RowState::of(last, in.place.scores.rows()));
  }

  /// Waits until a step's tiles are full, also for wgmma.
  void waitUntilFull(Part &part, const RingPlace &place) {
    part.ring.waitUntilFull(place);
    if (part.filling.threadsMultiplied) // boxes need no fence, nor what mma.sync reads
      fenceBeforeAsyncReads(b);
  }

  /// Says that the warp has read a step's tiles.
  void sayEmpty(Part &part, const RingPlace &place) {
    if (part.filling.warpsReadBoxes) // by the threads themselves, and the next box overwrites what they have read
      fenceBeforeAsyncReads(b);
    part.ring.sayEmpty(place, in.at.lane);
  }

  SmallVector<Value> steps(StepCode &code, const RowState &empty) {
    return loop(empty.numbers(), [&](Value number, const RingPlace &place, ValueRange before) {
      waitUntilFull(scores(), place);
      Step step = code.stepAt(number, place.copy);
      auto [weights, state] = code.weigh(step, code.seenBits(step), RowState::of(before, in.place.scores.rows()));
      if (isApart()) {
        sayEmpty(scores(), place);
        waitUntilFull(values(), place);
      }
      code.addToValues(step, weights, state.output);
      sayEmpty(values(), place);
      return state.numbers();
    });
  }

  /// Emits the steps so that the products of a step's scores, and of its values, run while the scores of the step
  /// between them become weights (FlashAttention-3, Shah et al. 2024, arXiv:2407.08608, section 3.2):
  ///
  ///   issue scores of step i | issue weights of step i - 1 × values | wait for the scores | weights of step i | wait
  ///
  /// Weights pass from step to step as operands. Tiles that are handed over together are empty when the values of the
  /// step have been read.
  SmallVector<Value> stepsAhead(StepCode &code, const RowState &empty) {
    SmallVector<Value> none = empty.numbers();
    return b.choose(
        b.less(low, high), TypeRange(ValueRange(none)), [&] { return someSteps(code, empty); }, [&] { return none; });
  }

  SmallVector<Value> someSteps(StepCode &code, const RowState &empty) {
    RingPlace place = scores().ring.first();
    waitUntilFull(scores(), place);
    Step first = code.stepAt(low, place.copy);
    auto [weights, state] = code.weigh(first, code.seenBits(first), empty);
    state.output = empty.output; // nothing to rescale
    SmallVector<Value> carried{place.copy, place.phase};
    size_t numbers = state.numbers().size();
    carried.append(state.numbers());
    for (const RowFragment &operand : in.engine.rounded(weights))
      carried.append(operand.begin(), operand.end());
    SmallVector<Value> last = b.loop(b.add(low, 1), high, 1, carried, [&](Value number, ValueRange before) {
      return stepAhead(code, number, before, numbers);
    });
    RowState after = RowState::of(ValueRange(last).slice(2, numbers), in.place.scores.rows());
    if (isApart())
      waitUntilFull(values(), {last[0], last[1]});
    issueValues(last[0], ValueRange(last).drop_front(2 + numbers), after.output);
    after.output.tiles = in.engine.wait(after.output.tiles);
    sayEmpty(values(), {last[0], last[1]});
    return after.numbers();
  }

  /// `before`: the place of the step before, its state, and its weights as operands.
  SmallVector<Value> stepAhead(StepCode &code, Value number, ValueRange before, size_t numbers) {
    RingPlace earlier{before[0], before[1]}, place = scores().ring.next(earlier);
    if (isApart())
      sayEmpty(scores(), earlier); // here and not behind the earlier step, where ptxas no longer sees that lanes agree
    waitUntilFull(scores(), place);
    if (isApart())
      waitUntilFull(values(), earlier);
    Step step = code.stepAt(number, place.copy);
    RowState state = RowState::of(before.slice(2, numbers), in.place.scores.rows());
    WeightedSums output = state.output;
    auto [weights, after] = code.weigh(step, code.seenBits(step), state,
                                       [&] { issueValues(earlier.copy, before.drop_front(2 + numbers), output); });
    // The tiles are full. But ptxas moves exponentials behind the next wait unless they are in a block of their own.
    scores().ring.waitUntilFull(place);
    after.output.tiles = in.engine.wait(output.tiles);
    sayEmpty(values(), earlier);
    std::vector<RowFragment> operands = in.engine.rounded(weights);
    after.output.tiles = rescaled(b, in.place.scores, after.output);
    SmallVector<Value> next{place.copy, place.phase};
    next.append(after.numbers());
    for (const RowFragment &operand : operands)
      next.append(operand.begin(), operand.end());
    return next;
  }

  /// Issues the product of weights, as operands, with the values in a copy of the tiles.
  void issueValues(Value copy, ValueRange weights, WeightedSums &output) {
    std::vector<RowFragment> operands;
    for (size_t k = 0; k < weights.size(); k += 4)
      operands.push_back({weights[k], weights[k + 1], weights[k + 2], weights[k + 3]});
    in.engine.issueRounded(operands, {in.layout.values, copy, {}}, /*checked=*/false, output);
  }

  /// Writes the result. If a mask hides keys, and some result of the block is NaN, a hidden key may have a value that
  /// is no number: then the block computes all of it again, with care.
  void finish(StepCode &code, const RowState &state) {
    if (in.engine.hidesOddValues() || !(masks.hideSome() || hidesByFunction(in.shape.attention)))
      return code.write(state);
    b.either(
        someAreNan(state), [&] { computeAgain(); }, [&] { code.write(state); });
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
    int64_t numbers = in.layout.signals + barrierBytes(in.tile); // one of each warp
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
  ValueRange maps; // of boxes
  std::vector<Part> parts;
  RingRegisters registers;
  Value low, high; // the block's steps
};

} // namespace

void skewer::gpu::emitWithProducers(KernelContext &in, Masks &masks, LLVM::LLVMFuncOp kernel) {
  if (ringRegistersOf(in.tile).move) // without this, ptxas does not move registers
    kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), in.b.getI32IntegerAttr(1));
  RingKernel(in, masks, mapsOf(kernel, in.layout.boxes.size())).emit();
}
