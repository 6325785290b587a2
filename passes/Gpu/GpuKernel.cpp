// Emits the kernel of a fused attention: the work before the tiles of keys, the loop over them, and the work after it.
#include "passes/Gpu/GpuKernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Emit/EmitThrough.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/Masks.h"
#include "passes/Gpu/ResultRows.h"
#include "passes/Gpu/ShortMath.h"
#include "passes/Gpu/Strategies/Strategies.h"
#include "passes/Gpu/Warp.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

void ScoreSums::add(GpuBuilder &b, const Tiles &other) {
  for (auto [sum, added] : llvm::zip_equal(tiles, other))
    for (size_t k = 0; k < 4; ++k)
      sum[k] = begun ? b.addf(sum[k], added[k]) : added[k];
  begun = true;
}

namespace {

class Kernel {
public:
  Kernel(KernelContext &in, Masks &masks)
      : in(in), masks(masks), b(in.b), powers(in.b, in.lateScale.value_or(1)), strategies(strategiesOf(in)) {}

  void emit() {
    for (auto &strategy : strategies)
      strategy->locate();
    in.place.findQueryAxes();
    for (auto &strategy : strategies)
      strategy->readQueries();
    in.queries.fill();
    auto [low, high] = masks.steps();
    begin(low);
    RowState state = emptyRows(b, in.place.scores, size_t(in.layout.values.width / 8));
    size_t rows = in.place.scores.rows();
    SmallVector<Value> last = b.loop(low, high, 1, state.numbers(), [&](Value number, ValueRange before) {
      return step(number, RowState::of(before, rows)).numbers();
    });
    in.pipeline.drain(); // of tiles behind the last step
    writeRows(b, in.shape, in.operands, in.place, powers, RowState::of(last, rows));
  }

private:
  bool some(llvm::function_ref<bool(Strategy &)> holds) {
    return llvm::any_of(strategies, [&](const auto &strategy) { return holds(*strategy); });
  }

  /// Emits what comes before the first step, `low`.
  void begin(Value low) {
    bool hasPrologue = some([](Strategy &strategy) { return strategy.hasPrologue(); });
    if (hasPrologue) {
      in.pipeline.commit();
      for (auto &strategy : strategies)
        strategy->runPrologue();
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
    Value firstKey = masks.firstKeyOf(number);
    if (!in.pipeline.isSingleBuffered())
      for (auto &strategy : strategies)
        strategy->fill(firstKey, copy);
    for (auto &strategy : strategies)
      strategy->computeNumbers(firstKey, copy);
    in.pipeline.commit();
  }

  RowState step(Value number, const RowState &before) {
    in.pipeline.full();
    Value copy = in.pipeline.copyOf(number), next = in.pipeline.nextOf(number);
    fill(next, in.pipeline.copyOf(next));
    if (in.pipeline.isSingleBuffered() && some([](Strategy &strategy) { return strategy.computesNumbers(); }))
      barrier(b);
    Value firstKey = masks.firstKeyOf(number);
    Step at{firstKey, copy, masks.crosses(number, firstKey)};
    SmallVector<Value> bits = masks.seenBits(firstKey, at.crossed);
    auto computed = [&] { return compute(at, bits, before); };
    // A warp leaves a tile out if it sees none of its keys: other documents, keys behind a length. If all warps of the
    // block meet at a barrier in a step, no warp leaves a tile out.
    if (bits.empty() || in.pipeline.isSingleBuffered() ||
        some([](Strategy &strategy) { return strategy.meetsInSteps(); }))
      return computed();
    Value seen = bits.front();
    for (Value word : ArrayRef<Value>(bits).drop_front())
      seen = arith::OrIOp::create(b, seen, word);
    SmallVector<Value> flat = before.numbers();
    return RowState::of(b.choose(
                            anyLane(b, b.notEqual(seen, b.i32(0))), TypeRange(ValueRange(flat)),
                            [&] { return computed().numbers(); }, [&] { return flat; }),
                        in.place.scores.rows());
  }

  RowState compute(const Step &at, ArrayRef<Value> bits, const RowState &before) {
    Tiles weights = scores(at, bits);
    // If a mask may hide keys, a number for all keys of a tile must not be added to hidden scores: it might be NaN or
    // infinite.
    SmallVector<Value> ofTile(in.place.scores.rows());
    if (!at.crossed && in.shape.attention.isPlainSoftmax())
      addToRows(at, ofTile);
    RowState state = in.shape.attention.direct ? addDirect(b, in.place.scores, weights, before, in.engine.addsOutside())
                                               : softmaxStep(b, in.place.scores, weights, ofTile, powers,
                                                             in.engine.addsOutside(), before);
    for (auto &strategy : strategies)
      strategy->addToValues(at, weights, state.output);
    in.engine.wait();
    return state;
  }

  void addToRows(const Step &at, MutableArrayRef<Value> rows) {
    for (auto &strategy : strategies)
      strategy->addToRows(at.firstKey, rows);
  }

  Tiles scores(const Step &at, ArrayRef<Value> bits) {
    ScoreSums sums{in.place.scores.zeros()};
    for (auto &strategy : strategies)
      strategy->beginScores(at, sums);
    addProducts(at, sums);
    Tiles result = std::move(sums.tiles);
    for (auto &strategy : strategies)
      strategy->addToScores(at, result);
    std::vector<Tiles> further(size_t(in.shape.attention.sums - 1), in.place.scores.zeros());
    if (some([](Strategy &strategy) { return strategy.addsToEachScore(); })) {
      std::vector<Axes> axes = in.place.axesOfTile(at.firstKey);
      for (auto &strategy : strategies)
        strategy->addToEachScore(axes, strategy->sum() ? further[strategy->sum() - 1] : result);
    }
    if (at.crossed || !in.shape.attention.isPlainSoftmax()) {
      SmallVector<Value> ofTile(in.place.scores.rows());
      addToRows(at, ofTile);
      for (const HeldNumber &number : in.place.scores.numbers())
        if (Value added = ofTile[number.row]) {
          Value &score = result[number.tile][number.part];
          score = b.addf(score, added);
        }
    }
    applyFunction(result, further);
    masks.hide(result, at.firstKey, at.crossed, bits);
    return result;
  }

  /// Applies the attention's function to the scores that a thread holds.
  void applyFunction(Tiles &scores, ArrayRef<Tiles> further) {
    const AttentionShape &attention = in.shape.attention;
    if (attention.isPlainSoftmax())
      return;
    // Later results are rounded to the operands' type; if it is narrow, approximate functions are exact enough.
    auto flags = in.shape.element.isF32() ? arith::FastMathFlags::none : arith::FastMathFlags::afn;
    for (const HeldNumber &number : in.place.scores.numbers()) {
      Value &score = scores[number.tile][number.part];
      SmallVector<Value> sums{score};
      for (const Tiles &other : further)
        sums.push_back(other[number.tile][number.part]);
      if (attention.through)
        score = emitThrough(b, *attention.through, sums,
                            [&](Operation *op, ValueRange operands) { return emitWithFlags(b, op, operands, flags); });
      if (attention.direct) // -0 marks a hidden key, so a weight of -0 becomes 0
        score = b.addf(score, b.f32(0));
    }
  }

  /// Adds the products of all terms. Terms with the same scale are one sum.
  void addProducts(const Step &at, ScoreSums &scores) {
    std::vector<double> scales;
    for (auto &strategy : strategies)
      if (auto scale = strategy->scaleOfProducts(); scale && !llvm::is_contained(scales, *scale))
        scales.push_back(*scale);
    for (double scale : scales) {
      ScoreSums sums{in.place.scores.zeros()};
      for (auto &strategy : strategies)
        if (strategy->scaleOfProducts() == scale)
          strategy->beginProducts(at, sums);
      for (auto &strategy : strategies)
        if (strategy->scaleOfProducts() == scale)
          strategy->addProducts(at, sums.tiles);
      in.engine.wait();
      if (in.lateScale) { // then there is only one scale
        scores.tiles = sums.tiles;
        return;
      }
      Value factor = b.f32(scale);
      for (auto [sum, score] : llvm::zip_equal(sums.tiles, scores.tiles))
        for (size_t k = 0; k < 4; ++k)
          score[k] = scores.begun ? b.fma(sum[k], factor, score[k]) : b.mulf(sum[k], factor);
      scores.begun = true;
    }
  }

  KernelContext &in;
  Masks &masks;
  GpuBuilder &b;
  Powers powers;
  Strategies strategies;
};

} // namespace

std::optional<Refusal> skewer::gpu::emitAttentionKernel(GpuBuilder &b, const GpuAttention &shape,
                                                        mlir::gpu::GPUModuleOp module) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  LLVM::LLVMFuncOp function = createKernel(b, b.getLoc(), module, shape.signature, shape.kernel, shape.tile.threads());
  // Numbers below 2^-126 count as 0, weights included: this selects ex2.approx.ftz, which also needs two instructions
  // less.
  function.setDenormalFpMathF32("preserve-sign");
  b.setInsertionPointToStart(&function.getBody().front());
  BlockMemory shared(b, module);

  GpuLayout layout = layoutOf(shape, shape.tile);
  Operands operands(b, shape, module, function);
  ThreadPlace at = threadPlace(b);
  BlockPlace place(b, shape, operands, at);
  Masks masks(b, shape, operands, place);
  auto parts = makeEngine(shape.tile.engine, {b, shared, at, shape.element, shape.tile.threads(), shape.tile.stages,
                                              shape.attention.keys, shape.attention.direct});
  if (!parts)
    return Refusal{"there is no engine '" + shape.tile.engine.str() + "'"};
  QueryTiles queries(b, shape, layout, place, *parts->pipeline, *parts->engine);
  KernelContext in{b,     shared,           shape,          shape.tile, layout,      operands, at,
                   place, *parts->pipeline, *parts->engine, queries,    std::nullopt};
  in.lateScale = commonScaleOf(shape);
  Kernel(in, masks).emit();
  LLVM::ReturnOp::create(b, ValueRange());
  return operands.refusal;
}
