// The strategy "key_dots": q_i · k_j with the lanes along the depth, so that each key is read once, in place. It
// multiplies a few rows with as many keys as together fill a vector of sums. At the end, a tree of additions sums up
// each product over its lanes, and leaves each sum in the lane of its number.
//
// Queries and keys of i8 are multiplied as integers where the depth fills vectors of them.
//
// Panels with the lanes along the keys need no such sums, but keys must first be packed into them. With few queries
// (decoding: one for each head of a group), packed keys are not read often enough to make up for that.
#include "passes/Analysis/StridedShape.h"
#include "passes/Cpu/Engines/VectorEngine.h"
#include "passes/Cpu/Schedule/CostModel.h"
#include "passes/Cpu/Strategy.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Schedule/Machine.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

// The most queries of a head for which the strategy is taken without a request. With more, packed keys are read often
// enough, and the cost model is off by more than the two strategies differ. On Zen 4, layers with 61 queries and 83
// keys of depth 20 reach 0.82 to 1.02 of the speed of packed keys, whatever was predicted; with 8 queries 1.00.
static constexpr int64_t kFewQueries = 32;
// Cycles for each node of the tree that sums up lanes: two shuffles and an addition of two vectors.
static constexpr double kCyclesOfSum = 1.5;

// From this size of keys and values on, keys are multiplied one after the other. Several keys at a time share the loads
// of queries, which matters if keys are in the caches: 256 keys of 8 heads (2 MiB with their values) take 1.14 times as
// long one after the other. If keys come from memory (Zen 4, 4096 keys of 8 heads, 8 rows), one after the other takes
// 0.91 of the time: see tests/bench/RESULTS.md, "Decoding".
static constexpr int64_t kBytesOfCaches = 4 << 20;

/// Returns the sum of two vectors, of f32 or of integers.
static Value sumOfVectors(VectorBuilder &b, Value x, Value y) {
  return x.getType() == b.integers ? arith::AddIOp::create(b.builder, x, y).getResult() : b.addf(x, y);
}

static constexpr int64_t kVectorOfBytes = 64; // of every engine that multiplies them

/// Returns the engine that multiplies vectors of bytes as integers; FMAs if the depth does not fill them, or if the
/// target has none.
static const CpuEngineCost &engineOfBytes(const ContentTerm &term, const Target &target) {
  const CpuEngineCost &engine = contentEngineFor(ElementType::I8, term.depth, withoutTiles(target));
  return term.areBytes && term.depth % kVectorOfBytes == 0 ? engine : *cpuEngines().front();
}

/// Returns one vector whose lane l is the sum of all lanes of vectors[l]; there are as many vectors as lanes. Each step
/// combines the halves of two vectors that are `apart` in the list, so that the bit in which their numbers differ
/// becomes a bit of the lane.
static Value sumsOfLanes(VectorBuilder &b, SmallVector<Value> vectors) {
  for (auto width = static_cast<int64_t>(vectors.size()); width > 1; width /= 2) {
    size_t apart = vectors.size() / 2;
    SmallVector<int64_t> own, moved; // the halves that stay in place, and those that move there
    for (int64_t lane = 0; lane < b.lanes; ++lane) {
      bool first = lane % width < width / 2;
      own.push_back(first ? lane : b.lanes + lane);
      moved.push_back(first ? lane + width / 2 : b.lanes + lane - width / 2);
    }
    for (size_t k = 0; k < apart; ++k) {
      Value x = vectors[k], y = vectors[k + apart];
      Value kept = vector::ShuffleOp::create(b.builder, x, y, own);
      vectors[k] = sumOfVectors(b, kept, vector::ShuffleOp::create(b.builder, x, y, moved));
    }
    vectors.truncate(apart);
  }
  return vectors.front();
}

namespace {
class KeyDots : public CpuStrategy {
public:
  KeyDots(CpuKernel &kernel, const ContentTerm &term)
      : CpuStrategy(kernel), term(term), vectors(engineOf(term)), elements(vectors.cost.elementsOfStep()),
        stride(llvm::alignTo(vectors.stepsOf(term.depth), lanes)), integers(vectors.cost.sumsIntegers()),
        scaled(stage.isScaled(term.key.argument)), computed(stage.isComputed(term.key.argument) && !scaled) {
    needsTiles = true;
  }

  void plan(Layout &layout) override {
    layout.reserve(queries, rowBlock * stride, Layout::Zone::Panels);
    layout.reserve(keys, computed ? keyBlock * stride : 0, Layout::Zone::Panels);
    layout.reserve(scales, scalesQueries() ? rowBlock : 0, Layout::Zone::Queries);
  }
  void open() override {
    queriesMemory = view(memory.local, queries);
    keysMemory = computed ? view(memory.local, keys) : memory.arguments[term.key.argument];
    scalesMemory = view(memory.local, scales);
  }
  void packQueries(const RowBlock &block) override {
    if (stride > vectors.stepsOf(term.depth))
      b.loop(b.index(0), b.mul(block.groups, tileRows), 1,
             [&](Value row) { b.store(b.constant(0), queriesMemory, b.add(b.mul(row, stride), stride - lanes)); });
    double scale = vectors.packedFactor(term.scale);
    kernel.packer.packQueryRows(vectors, term.query, term.depth, scale, block, queriesMemory, stride);
    if (scalesQueries())
      packScales(block);
  }

  /// Computes keys without memory, for the block that they are in.
  void computeBlock(const KeyBlock &block) override {
    if (!computed)
      return;
    auto [low, high] = live.of(block.firstRow, rowBlock, block.lowKey, block.highKey);
    b.loop(shape.prefix ? block.lowKey : low, high, 1, [&](Value key) {
      Value at = b.mul(b.sub(key, block.lowKey), stride);
      if (stride > term.depth)
        b.store(b.constant(0), keysMemory, b.add(at, stride - lanes));
      stage.computeRow(term.key.argument, positions.keyPlace(term.key, key), keysMemory, at, 1);
    });
  }

  /// Adds the products, in a loop that first stores them where the scores will be. If the loop were unrolled, LLVM
  /// would hold all vectors of products in memory before it sums up the first one.
  void addToScores(ScoreTile &tile) override {
    Value held = b.add(b.mul(tile.row, scoreStride), b.sub(tile.key, tile.lowKey));
    for (int64_t row = 0, rows; row < tileRows; row += rows) {
      rows = std::min(lanes, int64_t(llvm::bit_floor(uint64_t(tileRows - row))));
      int64_t keys = lanes / rows;
      b.loop(b.index(0), b.index(tile.vectors * lanes), keys, [&](Value key) {
        Value sums = sumsOf(tile, b.mul(b.add(tile.row, row), stride), rows, b.add(tile.key, key), keys);
        for (int64_t r = 0; r < rows; ++r) {
          Value own = vector::ExtractStridedSliceOp::create(b.builder, sums, ArrayRef<int64_t>{r * keys},
                                                            ArrayRef<int64_t>{keys}, ArrayRef<int64_t>{1});
          if (scalesQueries()) {
            Value scale = b.scalar(scalesMemory, b.add(tile.row, row + r));
            own = b.mulf(own, vector::BroadcastOp::create(b.builder, own.getType(), scale));
          }
          b.store(own, memory.scores, b.add(b.add(held, (row + r) * scoreStride), key));
        }
      });
    }
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = tile.sums[r * tile.vectors + v];
        sum = b.addf(sum, b.load(memory.scores, b.add(held, r * scoreStride + v * lanes)));
      }
  }

private:
  /// Returns whether the sums of each query are multiplied with a number of its own.
  bool scalesQueries() const { return integers && stage.isScaled(term.query.argument); }
  void packScales(const RowBlock &block) {
    Value base = positions.baseOf(term.query.base);
    auto store = [&](Value low, Value high, llvm::function_ref<Value(Value)> scale) {
      b.loop(low, high, 1, [&](Value row) { b.storeScalar(scale(row), scalesMemory, row); });
    };
    store(b.index(0), block.rows, [&](Value row) {
      Value at = b.add(base, b.mul(context.positionOf(block.firstRow, row), term.query.query));
      return stage.rowScale(term.query.argument, at);
    });
    store(block.rows, b.mul(block.groups, tileRows), [&](Value) { return b.constantScalar(0); });
  }
  /// Returns the engine whose vectors of elements, as queries and keys are in memory, the depth fills; else FMAs.
  const VectorEngine &engineOf(const ContentTerm &term) const {
    auto elementOf = [&](const Walk &walk) {
      bool isRead = walk.depth == 1 && (!stage.isComputed(walk.argument) || stage.isScaled(walk.argument));
      return isRead ? stage.elements[walk.argument] : ElementType::F32;
    };
    ElementType element = elementOf(term.key);
    const CpuEngineCost &ofBytes = engineOfBytes(term, stage.target);
    if (ofBytes.sumsIntegers() && lanes == stage.target.lanes && element == ElementType::I8 &&
        elementOf(term.query) == ElementType::I8)
      return static_cast<const VectorEngine &>(engineOfCost(ofBytes));
    const VectorEngine &engine = widestEngineFor(
        elementOf(term.query) == element && lanes == stage.target.lanes ? element : ElementType::F32, stage.target);
    bool fills = term.depth % (lanes * engine.cost.elementsOfStep()) == 0;
    return fills ? engine : widestEngineFor(ElementType::F32, stage.target);
  }

  /// Returns where the row of a key begins. A key behind the last one has the row of the last key; its score is hidden
  /// afterwards.
  Value placeOf(const ScoreTile &tile, Value key) {
    if (computed)
      return b.mul(b.sub(key, tile.lowKey), stride);
    if (shape.bounds.keyLength)
      key = b.minimum(key, b.add(positions.keys(), -1));
    else if (tile.last && shape.keys % lanes)
      key = b.minimum(key, b.index(shape.keys - 1));
    return positions.keyPlace(term.key, key);
  }

  /// Returns Σ_d q_r[d] · k_c[d] in lane r × count + c, where rows × count = lanes.
  Value sumsOf(const ScoreTile &tile, Value query, int64_t rows, Value firstKey, int64_t count) {
    bool onePage = !computed && isOnePage(term.key, count);
    auto places =
        positions.keyPlaces(term.key, count, onePage, [&](int64_t c) { return placeOf(tile, b.add(firstKey, c)); });
    // A row of 128 in each element gives what integers have too much: 128 times the sum of the key.
    Value nothing = integers ? integer(b, 0) : b.constant(0), halves;
    if (integers)
      halves = arith::BitcastOp::create(b.builder, b.vector, integer(b, static_cast<int32_t>(0x80808080)));
    int64_t all = rows + integers;
    SmallVector<Value> ahead, sums(all * count, nothing);
    if (!computed)
      ahead = positions.keyPlaces(term.key, count, onePage,
                                  [&](int64_t c) { return placeAhead(places[c], b.add(firstKey, c)); });
    // Multiplies the keys [first, end) with all rows, from their element d on.
    auto step = [&](Value d, int64_t valid, int64_t first, int64_t end, SmallVector<Value> carried) {
      SmallVector<Value> parts;
      for (int64_t r = 0; r < rows; ++r)
        parts.push_back(b.load(queriesMemory, b.add(b.add(query, r * stride), b.divide(d, elements))));
      if (integers)
        parts.push_back(halves);
      for (int64_t c = first; c < end; ++c) {
        Value key = keyPart(b.add(places[c], d), valid);
        for (int64_t r = 0; r < all; ++r) {
          Value &sum = carried[r * (end - first) + c - first];
          sum = vectors.addProducts(b, parts[r], key, sum);
        }
      }
      return carried;
    };
    int64_t turn = std::max(lanes, kLineFloats), whole = term.depth / turn * turn;
    if (!computed && term.depth % lineOfKeys() == 0) // each line is prefetched once
      turn = std::max(turn, lineOfKeys());
    int64_t together = comesFromMemory() ? 1 : count;
    // Rows of a page are prefetched in the order in which they lie, as many lines in a turn as there are keys: nothing
    // else tells the processor early enough which page comes next.
    bool inOrder =
        together == count && onePage && term.key.runStep == term.depth && whole == term.depth && turn == lineOfKeys();
    auto products = [&](int64_t first, int64_t end) {
      SmallVector<Value> none(all * (end - first), nothing), own = none;
      auto chain = [&](Value from, Value to, ValueRange start) {
        return b.loop(from, to, turn, start, [&](Value d, ValueRange before) {
          SmallVector<Value> carried(before);
          for (int64_t part = 0; part < turn; part += lanes * elements)
            carried = step(b.add(d, part), lanes * elements, first, end, std::move(carried));
          for (int64_t c = first; c < end && !computed; ++c)
            b.prefetch(keysMemory,
                       inOrder ? b.add(ahead.front(), b.add(b.mul(d, count), c * turn)) : b.add(ahead[c], d));
          return carried;
        });
      };
      int64_t span = kChain * lanes; // a multiple of a turn
      if (whole <= span)
        own = chain(b.index(0), b.index(whole), own);
      else
        own = b.loop(b.index(0), b.index(whole), span, own, [&](Value from, ValueRange before) {
          SmallVector<Value> more = chain(from, b.minimum(b.add(from, span), b.index(whole)), none);
          for (auto [sum, sofar] : llvm::zip(more, before))
            sum = sumOfVectors(b, sofar, sum);
          return more;
        });
      for (int64_t d = whole; d < term.depth; d += lanes)
        own = step(b.index(d), std::min(lanes, term.depth - d), first, end, std::move(own));
      return own;
    };
    for (int64_t first = 0; first < count; first += together)
      for (auto [n, sum] : llvm::enumerate(products(first, first + together)))
        sums[n / together * count + first + n % together] = sum;
    if (integers)
      for (int64_t number = 0; number < lanes; ++number)
        sums[number] = arith::SubIOp::create(b.builder, sums[number], sums[lanes + number % count]);
    sums.truncate(lanes);
    Value scores = sumsOfLanes(b, std::move(sums));
    if (integers)
      scores = arith::SIToFPOp::create(b.builder, b.vector, scores);
    if (scaled)
      scores = b.mulf(scores, scalesOf(places, rows));
    return vectors.packsFloats() ? scores : b.mulf(scores, b.constant(term.scale));
  }
  /// Returns the numbers by which the keys at these places are multiplied, in the lanes of their products.
  Value scalesOf(ArrayRef<Value> places, int64_t rows) {
    SmallVector<Value> scales;
    for (Value place : places)
      scales.push_back(stage.rowScale(term.key.argument, place));
    SmallVector<Value> all;
    for (int64_t r = 0; r < rows; ++r)
      llvm::append_range(all, scales);
    return vector::FromElementsOp::create(b.builder, b.vector, all);
  }
  /// Returns the elements of a key that one step multiplies.
  Value keyPart(Value at, int64_t valid) {
    return computed ? b.load(keysMemory, at) : vectors.loadSteps(b, keysMemory, at, valid, 1);
  }
  /// Returns whether the keys and values of one batch row alone are more than the caches of a processor hold. They are
  /// then read in their order in memory, one key after the other, which the processor predicts.
  bool comesFromMemory() const {
    if (computed || !context.geometry.streaming)
      return false;
    int64_t bytes = 2 * shape.keys * term.depth * memory.bytesOf(term.key.argument); // with as many values
    for (const Extent &extent : stage.leading)
      bytes *= extent.name.empty() ? extent.fixed : 1;
    return bytes >= kBytesOfCaches;
  }
  int64_t lineOfKeys() const { return kLineBytes / memory.bytesOf(term.key.argument); } // in elements
  /// Returns the place of the key that is prefetched while this one is multiplied.
  Value placeAhead(Value place, Value key) {
    int64_t count = llvm::divideCeil(kFetchedAhead, memory.bytesOf(term.key.argument) * term.depth);
    if (!term.key.picked)
      return b.add(place, count * term.key.key);
    return positions.keyPlace(term.key, b.minimum(b.add(key, count), b.index(shape.keys - 1)));
  }

  const ContentTerm &term;
  const VectorEngine &vectors;
  const int64_t elements; // of a step
  const int64_t stride;   // floats from a packed row to the next one
  const bool integers;    // sums are integers of 32 bits
  const bool scaled;      // keys are those in memory, each times a number
  const bool computed;    // keys have no memory
  Buffer queries, keys, scales;
  Value queriesMemory, keysMemory, scalesMemory;
};

// The keys of a block that are read once, if they lie in pages or have 16 bits. The values of the block follow soon, so
// that two streams alternate. Zen 4, pages of 64 keys 128 deep, 8 rows of 512 to 4096, least ms at 768, 384, 192 and 96
// keys: bf16 4.95, 4.99, 3.46, 3.49, f32 8.3, 8.2, 7.8, 7.8. If all keys are adjacent: bf16 3.6, 3.7, 3.4, 3.3, f32
// 6.8, 6.8, 7.6, 7.6; on another day bf16 3.61, 3.74, 3.30, 3.44 (of 128 keys), f32 6.43, 6.76, 7.59, 7.64.
constexpr int64_t kTurnKeys = 256;

class KeyDotsStrategy : public TermStrategy {
public:
  StringRef name() const override { return "key_dots"; }
  AddOrder order() const override { return AddOrder::Offsets; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    auto *term = form.as<ContentTerm>();
    return term && term->key.depth == 1 && !mayAddStrided(shape) && !shape.bounds.tiles;
  }
  void take(const TermForm &form, AttentionShape &shape) const override { shape.content[form.number].inPlace = true; }
  bool takesLengths() const override { return true; }
  void addSizes(const TermForm &form, const AttentionShape &shape, AttentionSizes &sizes) const override {
    const ContentTerm &term = *form.as<ContentTerm>();
    sizes.depthInPlace += term.depth;
    sizes.bytesInPlace |= term.areBytes && term.depth % kVectorOfBytes == 0 && shape.content.size() == 1;
    int64_t pageKeys = term.key.picked ? term.key.run : 0;
    if (pageKeys || term.key.element != ElementType::F32)
      sizes.turnKeys = std::max({sizes.turnKeys, kTurnKeys, pageKeys});
  }
  bool competes(const AttentionShape &shape) const override { return shape.queries <= kFewQueries; }
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    const ContentTerm &term = *form.as<ContentTerm>();
    double rows = double(llvm::alignTo(shape.queries, tile.tileRows));
    return {2 * double(shape.queries) * tile.columns * double(term.depth),
            cyclesOf(term, target) * rows * tile.columns / double(tile.lanes)};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<KeyDots>(kernel, *form.as<ContentTerm>());
  }

private:
  /// Returns the cycles for a vector of scores of one row.
  static double cyclesOf(const ContentTerm &term, const Target &target) {
    ElementType element = term.query.element == term.key.element ? term.key.element : ElementType::F32;
    const CpuEngineCost &widest = widestVectorsFor(element, target);
    bool fills = term.depth % (widest.elementsOfStep() * target.lanes) == 0;
    double products = std::max(target.fmaPerCycle, fills ? widest.products(target) : 0); // as KeyDots::engineOf
    if (const CpuEngineCost &ofBytes = engineOfBytes(term, target); ofBytes.sumsIntegers())
      products = ofBytes.products(target);
    double steps = double(target.lanes * llvm::divideCeil(term.depth, target.lanes));
    return steps / products + kCyclesOfSum * double(target.lanes - 1) + 1;
  }
};
} // namespace

std::unique_ptr<TermStrategy> makeKeyDots() { return std::make_unique<KeyDotsStrategy>(); }
