// Plans, packs and multiplies the content (ContentProducts.h).
#include "passes/Cpu/ContentProducts.h"
#include "passes/Analysis/DotKeys.h"
#include "passes/Emit/VectorMath.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

ContentProducts::ContentProducts(KernelContext &context, PanelPacker &packer)
    : KernelPart(context), engine(context.stage.engineOfContent(shape)), packer(packer),
      scales(context, engine.cost.sumsIntegers()) {
  int64_t depth = 0;
  for (const ContentTerm &term : shape.content) {
    if (term.inPlace) {
      offsets.push_back(kInPlace);
      continue;
    }
    std::optional<int64_t> shared;
    for (auto [before, offset] : llvm::zip(shape.content, offsets)) {
      const Walk &a = before.query, &q = term.query;
      if (engine.packsFloats() && !before.inPlace && a.argument == q.argument && a.base == q.base &&
          a.query == q.query && a.depth == q.depth && before.depth == term.depth && before.scale != 0 &&
          std::isfinite(term.scale / before.scale))
        shared = offset;
    }
    offsets.push_back(shared.value_or(depth));
    if (!shared)
      depth += engine.stepsOf(term.depth);
  }
  context.geometry.depth = depth;
  context.geometry.panelStride = CpuEngine::panelStride(depth, g.lanes);
}

// To pack queries costs 2 % of a layer with rows of 49 keys (swin-7). With 1024 keys nothing is gained, and some runs
// of sigmoid-1k took 1.07 of the time with queries in place.
static constexpr int64_t kFewKeys = 256;

/// Returns whether rows of queries can be multiplied where they are in memory, and that pays: they are adjacent rows of
/// f32, all rows of each tile exist, and there are few keys.
bool ContentProducts::mayReadQueries() const {
  if (shape.keys > kFewKeys || shape.content.size() != 1 || shape.content[0].inPlace || shape.bounds.queryLength ||
      g.rowStep > 1 || !engine.packsFloats())
    return false;
  const ContentTerm &term = shape.content[0];
  const Walk &query = term.query;
  bool areRows = query.depth == 1 && query.query == term.depth && !query.picked;
  bool isFloat = !context.stage.isComputed(query.argument) && !context.stage.isNarrow(query.argument);
  auto isWhole = [&](int64_t rows) { return rows % g.tileRows == 0; };
  return areRows && isFloat && isWhole(shape.queries) && isWhole(g.rowBlock) && isWhole(g.rowsPerItem);
}

void ContentProducts::plan(Layout &layout, ContentUse use) {
  readsQueries = use == ContentUse::None && mayReadQueries();
  // Sums that are held in chunks stay products of whole vectors.
  if (engine.packsFloats() && mayMultiplyAsDots(shape) && summation().chunk >= std::min(g.depth, kChain) &&
      g.depth <= kChain * g.lanes && use != ContentUse::KeyPanels)
    dots = keysMultipliedAsDots(shape.keys, g.depth, g.lanes);
  int64_t panels = g.headsTogether * llvm::alignTo(g.keyVectors, g.tileVectors);
  layout.reserve(keyPanels, g.depth ? panels * g.panelStride : 0, Layout::Zone::Panels);
  scales.plan(layout);
  layout.reserve(dotRows, dots * g.depth, Layout::Zone::Panels);
  layout.reserve(queryRows, readsQueries ? 0 : g.rowBlock * std::max<int64_t>(g.depth, 1), Layout::Zone::Queries);
}

void ContentProducts::open() {
  keyMemory = context.view(keyPanels);
  dotMemory = context.view(dotRows);
  queryMemory = context.view(queryRows);
  scales.open();
}

void ContentProducts::enterTurn(Value turn) { keyMemory = context.viewOfTurn(keyPanels, turn); }

bool ContentProducts::isRepeated(unsigned term) const {
  for (unsigned before = 0; before < term; ++before)
    if (offsets[before] == offsets[term])
      return true;
  return false;
}

Summation ContentProducts::summation() const {
  if (engine.cost.sumsIntegers()) // they are exact
    return {g.depth};
  bool large = false;
  for (const ContentTerm &term : shape.content) {
    if (context.isHuge(term.scale, term.depth))
      return kCompensated;
    large |= shape.scoreFactor * std::abs(term.scale) * std::sqrt(double(term.depth)) > kLargeScores;
  }
  return {chunkOf(large ? kChunk : g.rowStep > 1 ? kStridedChunk : kChain, g.depth), false, g.rowStep > 1};
}

/// Packs the keys behind the last whole panel as rows.
void ContentProducts::packDotKeys(const ContentTerm &term, double factor, int64_t depthOffset, bool accumulate) {
  Value first = b.index(shape.keys - dots), source = memory.arguments[term.key.argument];
  Value base = b.add(positions.baseOf(term.key.base), b.mul(first, term.key.key));
  int64_t rowStride = term.key.key, depthStride = term.key.depth;
  if (context.stage.isComputed(term.key.argument)) {
    ProductOperand rows = packer.computedRows(term.key, term.depth, first, b.index(shape.keys));
    source = rows.memory, base = rows.base, rowStride = rows.stride, depthStride = 1;
  }
  int64_t step = depthStride == 1 && term.depth % g.lanes == 0 ? g.lanes : 1; // terms side by side fill whole vectors
  Value scale = step == 1 ? b.constantScalar(factor) : b.constant(factor);
  for (int64_t key = 0; key < dots; ++key)
    b.loop(b.index(0), b.index(term.depth), step, [&](Value d) {
      Value from = b.add(b.add(base, key * rowStride), b.mul(d, depthStride));
      Value to = b.add(d, key * g.depth + depthOffset);
      Value x = b.mulf(step == 1 ? b.scalar(source, from) : b.load(source, from), scale);
      if (step == 1)
        b.storeScalar(accumulate ? b.addf(x, b.scalar(dotMemory, to)) : x, dotMemory, to);
      else
        b.store(accumulate ? b.addf(x, b.load(dotMemory, to)) : x, dotMemory, to);
    });
}

void ContentProducts::packKeys() {
  for (unsigned number = 0; number < shape.content.size(); ++number) {
    const ContentTerm &term = shape.content[number];
    if (term.inPlace)
      continue;
    // q·k + q·E = q·(k + E): the keys of terms with the same queries are added up, in the scale of the first term.
    bool repeated = isRepeated(number);
    double factor = readsQueries ? term.scale : 1;
    for (unsigned before = 0; repeated && before < number; ++before)
      if (offsets[before] == offsets[number] && !isRepeated(before))
        factor = term.scale / shape.content[before].scale;
    KeyRange panels = packer.panelsOfHead();
    if (dots)
      panels.high = b.minimum(panels.high, b.index(g.keyVectors - 1));
    packer.packKeyPanels(engine, term.key, term.depth, factor,
                         {keyMemory, b.index(0), g.panelStride, offsets[number], repeated}, panels);
    if (dots)
      packDotKeys(term, factor, offsets[number], repeated);
    scales.packKeys(panels);
  }
}

void ContentProducts::packQueries(const RowBlock &block) {
  if (readsQueries) {
    const Walk &query = shape.content[0].query;
    firstQuery =
        b.add(positions.baseOf(query.base), b.mul(context.positionOf(block.firstRow, b.index(0)), query.query));
    return;
  }
  for (unsigned number = 0; number < shape.content.size(); ++number)
    if (const ContentTerm &term = shape.content[number]; !term.inPlace && !isRepeated(number))
      packer.packQueryRows(engine, term.query, term.depth, engine.packedFactor(term.scale), block, queryMemory, g.depth,
                           offsets[number]);
  scales.packQueries(block);
}

/// Returns the queries of a block, from a row on.
ProductOperand ContentProducts::rowsFrom(Value row) const {
  if (!readsQueries)
    return {queryMemory, b.mul(row, g.depth), g.depth};
  const ContentTerm &term = shape.content[0];
  return {memory.arguments[term.query.argument], b.add(firstQuery, b.mul(row, term.query.query)), term.query.query};
}

TileProduct ContentProducts::productOf(const TilePart &tile, Value row, Value vector) const {
  return {tile, g.depth, summation(), rowsFrom(row), {keyMemory, b.mul(vector, g.panelStride), g.panelStride}};
}

/// All terms have the same factor.
double ContentProducts::scaleOfSums() const {
  if (scales.exist())
    return 0;
  for (const ContentTerm &term : shape.content)
    if (!engine.packsFloats() && !term.inPlace)
      return term.scale;
  return 1;
}

bool ContentProducts::multipliesAhead() const {
  return g.depth && engine.cost.rowsInMemory() && !summation().compensated &&
         engine.cost.holds(g.tileRows * g.groupsTogether, 1, context.stage.target);
}

void ContentProducts::multiplyAhead(const KeyBlock &block, Value firstGroup, Value firstVector, Value endVector) {
  Value row = b.mul(firstGroup, g.tileRows), first = b.sub(b.mul(firstVector, g.lanes), block.lowKey);
  engine.multiplyColumns(b, productOf({0, g.tileRows * g.groupsTogether, 0, g.tileVectors}, row, firstVector),
                         b.sub(endVector, firstVector),
                         {memory.scores, b.add(b.mul(row, g.scoreStride), first), g.scoreStride});
}

/// Scores that may be large are summed up in chunks, whose sums are held where the scores will be: one chain of
/// products would round at the size of its result in each step.
SmallVector<Value> ContentProducts::sumsOf(const ScoreTile &tile, ArrayRef<Value> places, const ProductsOfSteps &own) {
  if (multipliesAhead() && !own) {
    SmallVector<Value> sums;
    double scale = g.weighing.termsByRows ? 1 : scaleOfSums();
    for (Value place : places) {
      Value sum = engine.numbersOf(b, b.load(memory.scores, place));
      sums.push_back(scale == 1 || scales.exist() ? sum : b.mulf(sum, b.constant(scale)));
    }
    scales.apply(tile, sums);
    return sums;
  }
  if (dots && tile.last)
    return dotsOf(tile);
  TilePart whole{0, g.tileRows, 0, tile.vectors};
  Value scores = memory.scores;
  if (!own) {
    TileProduct product = productOf(whole, tile.row, tile.vector);
    product.scale = scales.exist() ? 1 : scaleOfSums();
    SmallVector<Value> sums = engine.multiply(b, product, {scores, places, g.scoreStride});
    scales.apply(tile, sums);
    return sums;
  }
  int64_t chunk = stepsOfPass();
  if (chunk == g.depth)
    return sumInChunks(b, whole, g.depth, summation(), scores, places, own);
  int64_t last = (g.depth - 1) / chunk * chunk;
  return addChunk(whole, last, g.depth - last, places, own);
}

int64_t ContentProducts::stepsOfPass() const {
  Summation sums = summation();
  return sums.wholeTile && !sums.compensated ? std::min(sums.chunk, g.depth) : g.depth;
}

/// Returns the products of some steps, plus the sums of the steps before, which are where the scores will be.
SmallVector<Value> ContentProducts::addChunk(const TilePart &part, int64_t first, int64_t steps, ArrayRef<Value> places,
                                             const ProductsOfSteps &products) {
  SmallVector<Value> none(part.rows * part.vectors, b.constant(0));
  SmallVector<Value> sums = products(part, b.index(first), steps, none);
  if (first)
    for (auto [sum, place] : llvm::zip(sums, places))
      sum = b.addf(b.load(memory.scores, place), sum);
  return sums;
}

void ContentProducts::leaveChunk(const ScoreTile &tile, ArrayRef<Value> places, int64_t first,
                                 const ProductsOfSteps &own) {
  SmallVector<Value> sums = addChunk({0, g.tileRows, 0, tile.vectors}, first, stepsOfPass(), places, own);
  for (auto [sum, place] : llvm::zip(sums, places))
    b.store(sum, memory.scores, place);
}

/// Returns the products of rows and the few keys of the last vector. Lanes go along the depth, so that a key costs one
/// step for as many steps of the depth as there are lanes.
SmallVector<Value> ContentProducts::dotsOf(const ScoreTile &tile) {
  SmallVector<Value> products(g.tileRows * dots, b.constant(0)), scores;
  ProductOperand rows = rowsFrom(tile.row);
  for (int64_t d = 0; d < g.depth; d += g.lanes) {
    SmallVector<Value> keys;
    for (int64_t key = 0; key < dots; ++key)
      keys.push_back(b.load(dotMemory, b.index(key * g.depth + d)));
    for (int64_t r = 0; r < g.tileRows; ++r) {
      Value query = b.load(rows.memory, b.add(rows.base, r * rows.stride + d));
      for (int64_t key = 0; key < dots; ++key) {
        Value &product = products[r * dots + key];
        product = b.fma(query, keys[key], product);
      }
    }
  }
  for (int64_t r = 0; r < g.tileRows; ++r) {
    Value score = b.broadcast(reduceAdd(b, products[r * dots]));
    for (int64_t key = 1; key < dots; ++key)
      score = b.select(b.firstLanes(key), score, b.broadcast(reduceAdd(b, products[r * dots + key])));
    scores.push_back(score);
  }
  return scores;
}
