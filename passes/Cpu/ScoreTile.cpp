// Emits one tile of scores: the matmul of the content, the terms that are added to it, the function of the scores, then
// the mask. CpuKernel calls it for each register tile of a block of rows and keys.
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Cpu/Strategy.h"
#include "passes/Emit/EmitThrough.h"
#include "passes/Emit/VectorMath.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// Returns how a strategy multiplies the content of a tile; null: the engine multiplies rows of queries × panels of
/// keys.
ProductsOfSteps CpuKernel::ownProducts(const ScoreTile &tile) {
  ProductsOfSteps products;
  forEach([&](CpuStrategy &strategy) {
    if (ProductsOfSteps own = strategy.contentProducts(tile))
      products = std::move(own);
  });
  return products;
}

/// Returns the content of a tile. Scores that may be large are summed up in chunks, whose sums are held where the
/// scores will be: one chain of products would round at the size of its result in each step.
SmallVector<Value> CpuKernel::contentSums(const ScoreTile &tile, ArrayRef<Value> places) {
  TilePart whole{0, tileRows, 0, tile.vectors};
  ProductsOfSteps products = ownProducts(tile);
  if (!products) {
    TileProduct product{whole,
                        depth,
                        summationOfContent(),
                        {memory.queries, b.mul(tile.row, depth), depth},
                        {memory.keys, b.mul(tile.vector, panelStride), panelStride}};
    for (const ContentTerm &term : shape.content)
      if (!engine.packsFloats() && !term.inPlace)
        product.scale = term.scale; // all have the same
    return engine.multiply(b, product, {memory.scores, places});
  }
  if (!passesByChunks())
    return sumInChunks(b, whole, depth, summationOfContent(), memory.scores, places, products);
  int64_t chunk = summationOfContent().chunk, last = (depth - 1) / chunk * chunk;
  return addChunk(whole, last, depth - last, places, products);
}

/// Returns whether all groups of rows compute a chunk of a panel's steps before the next chunk begins.
bool CpuKernel::passesByChunks() const {
  Summation summation = summationOfContent();
  return summation.wholeTile && !summation.compensated && summation.chunk < depth;
}

/// Returns the products of some steps, plus the sums of the steps before, which are where the scores will be.
SmallVector<Value> CpuKernel::addChunk(const TilePart &part, int64_t first, int64_t steps, ArrayRef<Value> places,
                                       const ProductsOfSteps &products) {
  SmallVector<Value> none(part.rows * part.vectors, b.constant(0));
  SmallVector<Value> sums = products(part, b.index(first), steps, none);
  if (first)
    for (auto [sum, place] : llvm::zip(sums, places))
      sum = b.addf(b.load(memory.scores, place), sum);
  return sums;
}

/// Stores the sums of a tile up to the end of the chunk that begins at `first`, where its scores will be.
void CpuKernel::leaveChunk(const KeyBlock &block, Value group, Value vector, int64_t vectors, int64_t first) {
  SmallVector<Value> sums(tileRows * vectors, b.constant(0)), places;
  ScoreTile tile = tileAt(block, group, vector, vectors, false, sums, places);
  sums = addChunk({0, tileRows, 0, vectors}, first, summationOfContent().chunk, places, ownProducts(tile));
  for (auto [sum, place] : llvm::zip(sums, places))
    b.store(sum, memory.scores, place);
}

/// Returns the products of rows and the few keys of the last vector. Lanes go along the depth, so that a key costs one
/// step for as many steps of the depth as there are lanes.
SmallVector<Value> CpuKernel::contentDots(const ScoreTile &tile) {
  SmallVector<Value> products(tileRows * dotKeys, b.constant(0)), scores;
  for (int64_t d = 0; d < depth; d += lanes) {
    SmallVector<Value> keys;
    for (int64_t key = 0; key < dotKeys; ++key)
      keys.push_back(b.load(memory.dotKeys, b.index(key * depth + d)));
    for (int64_t r = 0; r < tileRows; ++r) {
      Value query = b.load(memory.queries, b.add(b.mul(tile.row, depth), r * depth + d));
      for (int64_t key = 0; key < dotKeys; ++key) {
        Value &product = products[r * dotKeys + key];
        product = b.fma(query, keys[key], product);
      }
    }
  }
  for (int64_t r = 0; r < tileRows; ++r) {
    Value score = b.broadcast(b.reduceAdd(products[r * dotKeys]));
    for (int64_t key = 1; key < dotKeys; ++key)
      score = b.select(b.firstLanes(key), score, b.broadcast(b.reduceAdd(products[r * dotKeys + key])));
    scores.push_back(score);
  }
  return scores;
}

/// Hides the lanes behind the last key.
void CpuKernel::hideBehindEnd(ScoreTile &tile) {
  if (!tile.last || shape.keys % b.lanes == 0)
    return;
  Value nothing = hidden();
  Value inside = arith::CmpIOp::create(
      b.builder, arith::CmpIPredicate::slt, b.laneNumbers(),
      arith::ConstantOp::create(b.builder, DenseElementsAttr::get(b.integers, int32_t(shape.keys % b.lanes))));
  for (int64_t r = 0; r < tileRows; ++r) {
    Value &sum = tile.sums[r * tile.vectors + tile.vectors - 1];
    sum = b.select(inside, sum, nothing);
  }
}

/// Runs `hide`, with its tests, if the tile lies at an edge; else the scores stay as they are.
void CpuKernel::hideAtEdge(ScoreTile &tile, Value edge, function_ref<void(MutableArrayRef<Value>)> hide) {
  auto branch = scf::IfOp::create(b.builder, ValueRange(tile.sums).getTypes(), edge, true);
  b.builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b.builder, ValueRange(tile.sums));
  b.builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> masked(tile.sums.begin(), tile.sums.end());
  hide(masked);
  scf::YieldOp::create(b.builder, masked);
  llvm::copy(branch.getResults(), tile.sums.begin());
  b.builder.setInsertionPointAfter(branch);
}

/// Hides the keys that no query of the head sees. Tiles without such keys skip the test.
void CpuKernel::hideOutsideBounds(ScoreTile &tile) {
  if (shape.bounds.parts.empty() && !shape.bounds.keyLength)
    return;
  const KeyRange &seen = live.ofHead;
  Value end = b.add(tile.key, tile.vectors * b.lanes), nothing = hidden(), numbers = b.laneNumbers();
  Value edge = arith::OrIOp::create(b.builder, b.less(tile.key, seen.low), b.less(seen.high, end));
  hideAtEdge(tile, edge, [&](MutableArrayRef<Value> masked) {
    for (int64_t v = 0; v < tile.vectors; ++v) {
      auto test = [&](arith::CmpIPredicate predicate, Value bound) {
        Value limit = b.broadcastIndex(b.sub(bound, b.add(tile.key, v * b.lanes)));
        return arith::CmpIOp::create(b.builder, predicate, numbers, limit);
      };
      Value inside = arith::AndIOp::create(b.builder, test(arith::CmpIPredicate::sge, seen.low),
                                           test(arith::CmpIPredicate::slt, seen.high));
      for (int64_t r = 0; r < tileRows; ++r) {
        Value &sum = masked[r * tile.vectors + v];
        sum = b.select(inside, sum, nothing);
      }
    }
  });
}

/// Hides the keys outside the interval of key - query. Tiles that every row sees whole skip the test.
void CpuKernel::hideOutsideInterval(ScoreTile &tile) {
  if (!shape.visible || runs)
    return;
  const subscript::Range &visible = *shape.visible;
  const Geometry &g = *this;
  Value edge, nothing = hidden();
  auto either = [&](Value condition) {
    edge = edge ? arith::OrIOp::create(b.builder, edge, condition).getResult() : condition;
  };
  if (visible.high != INT64_MAX)
    either(b.less(b.add(tile.position, live.highestVisible()), b.add(tile.key, tile.vectors * g.lanes - 1)));
  if (visible.low != INT64_MIN) {
    Value begins = b.less(tile.key, b.add(b.add(tile.position, live.lowestVisible()), (g.tileRows - 1) * g.rowStep));
    if (shape.prefix)
      begins = arith::AndIOp::create(b.builder, begins,
                                     b.less(b.index(shape.prefix), b.add(tile.key, tile.vectors * g.lanes)));
    either(begins);
  }
  hideAtEdge(tile, edge, [&](MutableArrayRef<Value> masked) {
    Value numbers = b.laneNumbers();
    for (int64_t r = 0; r < g.tileRows; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v) {
        // Compares lane + key + v*lanes - (position + r) with the interval.
        auto test = [&](arith::CmpIPredicate predicate, Value bound, bool prefix) {
          Value limit = b.sub(b.add(b.add(tile.position, bound), r * g.rowStep - v * g.lanes), tile.key);
          Value seen = arith::CmpIOp::create(b.builder, predicate, numbers, b.broadcastIndex(limit));
          if (prefix) {
            Value end = b.broadcastIndex(b.sub(b.index(shape.prefix - v * g.lanes), tile.key));
            Value first = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, numbers, end);
            seen = arith::OrIOp::create(b.builder, seen, first);
          }
          Value &sum = masked[r * tile.vectors + v];
          sum = b.select(seen, sum, nothing);
        };
        if (visible.high != INT64_MAX)
          test(arith::CmpIPredicate::sle, live.highestVisible(), false);
        if (visible.low != INT64_MIN)
          test(arith::CmpIPredicate::sge, live.lowestVisible(), shape.prefix > 0);
      }
  });
}

/// Hides the keys that a mask known at compile time hides. Tiles that every row sees whole skip the test.
void CpuKernel::hideByTiles(ScoreTile &tile, Value state) {
  if (!state)
    return;
  Value nothing = hidden();
  hideAtEdge(tile, runs->isEdge(state), [&](MutableArrayRef<Value> masked) {
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = masked[r * tile.vectors + v];
        sum = b.select(runs->seenLanes(state, r, v), sum, nothing);
      }
  });
}

/// Stores the tile of a group in which no key is seen.
void CpuKernel::hideAll(const KeyBlock &block, Value group, Value vector, int64_t vectors) {
  Value column = b.sub(b.mul(vector, lanes), block.lowKey), nothing = hidden();
  Value row = b.mul(group, tileRows);
  for (int64_t r = 0; r < tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      b.store(nothing, memory.scores, b.add(b.add(b.mul(b.add(row, r), scoreStride), column), v * lanes));
}

void CpuKernel::scoreKnownTile(const KeyBlock &block, Value group, Value vector, int64_t vectors, bool last) {
  Value state = runs->stateOf(group, vector);
  b.when(
      runs->isSeen(state), [&] { scoreTile(block, group, vector, vectors, last, state); },
      [&] { b.when(runs->isHole(state), [&] { hideAll(block, group, vector, vectors); }); });
}

Value CpuKernel::lineOrigin(const ScoreTile &tile) {
  return b.add(b.add(b.mul(tile.row, lineStride), lineMargin), b.sub(tile.key, tile.lowKey));
}

/// Adds all terms but the content to a tile, after the content and in one rounding. As initial values of the
/// accumulators they would need no addition, but each of the `depth` products would then round at the size of the bias:
/// measured 4.3e-6 of the largest output, instead of 1.9e-6, on a 64x64 map with unit-normal tables.
void CpuKernel::addTerms(ScoreTile &tile, uint64_t sum) {
  forEach([&](CpuStrategy &strategy) {
    if (strategy.sum() == sum)
      strategy.addToScores(tile);
  });
  if (!hasLine[sum])
    return;
  bool hides = sum == 0 && lineMask && shape.isPlainSoftmax(); // else they hide after the function
  addToTile(b, tileRows, lineOf(sum), lineOrigin(tile), lineStride, hides, tile);
}

/// Returns whether a function of scores takes so many steps, as exponentials and quotients do, that a whole tile at
/// once leaves it no registers.
static bool isLong(Region &through) {
  return llvm::any_of(through.front(), [](Operation &op) {
    return isa<arith::DivFOp>(op) || isa<math::MathDialect>(op.getDialect());
  });
}

/// Applies a long function of one sum to the scores in memory, a few vectors at a time. On an Emerald Rapids core whose
/// other thread runs another program, softcap-1k takes 0.95 and sigmoid-1k 0.93 of the time that they take with the
/// whole tile in registers; 0.98 if they have the core alone.
void CpuKernel::applyInPlace(ScoreTile &tile, ArrayRef<Value> places) {
  int64_t together = tile.vectors % 3 == 0 ? 3 : tile.vectors % 2 == 0 ? 2 : 1;
  for (auto [score, place] : llvm::zip(tile.sums, places))
    b.store(score, memory.scores, place);
  b.loop(b.index(0), b.index(tileRows), 1, [&](Value row) {
    Value from = b.add(places[0], b.mul(row, scoreStride));
    b.loop(b.index(0), b.index(tile.vectors * lanes), together * lanes, [&](Value x) {
      for (int64_t v = 0; v < together; ++v) {
        Value at = b.add(b.add(from, x), v * lanes);
        b.store(through({b.load(memory.scores, at)}), memory.scores, at);
      }
    });
  });
  for (auto [score, place] : llvm::zip(tile.sums, places))
    score = b.load(memory.scores, place);
}

Value CpuKernel::through(ArrayRef<Value> sums) {
  return emitThrough(b.builder, *shape.through, sums,
                     [&](Operation *op, ValueRange operands) { return vectorFunction(b, op, operands); });
}

/// Applies the function of the sums to a tile. Keys are hidden after it.
void CpuKernel::applyFunction(ScoreTile &tile, ArrayRef<Value> places) {
  if (shape.isPlainSoftmax())
    return;
  bool isInPlace = shape.through && shape.sums == 1 && isLong(*shape.through);
  if (isInPlace)
    applyInPlace(tile, places);
  std::vector<SmallVector<Value>> more; // of the other sums
  for (uint64_t sum = 1; sum < uint64_t(shape.sums); ++sum) {
    ScoreTile other{
        tile.firstRow, tile.lowKey, tile.group,   tile.row,  tile.position,
        tile.key,      tile.vector, tile.vectors, tile.last, more.emplace_back(tile.sums.size(), b.constant(0))};
    addTerms(other, sum);
  }
  for (size_t place = 0; place < tile.sums.size(); ++place) {
    Value &score = tile.sums[place];
    if (shape.through && !isInPlace) {
      SmallVector<Value> sums{score};
      for (const SmallVector<Value> &other : more)
        sums.push_back(other[place]);
      score = through(sums);
    }
    if (shape.direct) // -0 means a hidden key, so a weight of -0 becomes 0
      score = b.addf(score, b.constant(0));
  }
  if (lineMask)
    hideByLine(tile);
}

/// Hides the keys that the line of biases hides.
void CpuKernel::hideByLine(ScoreTile &tile) {
  Value nothing = b.constant(-std::numeric_limits<float>::infinity()), origin = lineOrigin(tile), lines = lineOf(0);
  for (int64_t r = 0; r < tileRows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value line = b.load(lines, b.add(origin, r * lineStride + v * b.lanes));
      Value &score = tile.sums[r * tile.vectors + v];
      score = b.select(b.compare(arith::CmpFPredicate::OEQ, line, nothing), hidden(), score);
    }
}

Value CpuKernel::hidden() { return b.constant(shape.direct ? -0.0f : -std::numeric_limits<float>::infinity()); }

Value CpuKernel::isSeen(Value weight) {
  if (!shape.direct)
    return b.compare(arith::CmpFPredicate::UNE, weight, b.constantScalar(0));
  Type integer = b.builder.getI32Type();
  Value bits = arith::BitcastOp::create(b.builder, integer, weight);
  Value none = arith::ConstantIntOp::create(b.builder, integer, INT32_MIN);
  return arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, bits, none);
}

/// Returns the tile, and fills `places` with the places of its scores.
ScoreTile CpuKernel::tileAt(const KeyBlock &block, Value group, Value vector, int64_t vectors, bool last,
                            SmallVectorImpl<Value> &sums, SmallVectorImpl<Value> &places) {
  Value row = b.mul(group, tileRows);               // within the block
  Value position = positionOf(block.firstRow, row); // of the tile's first query
  Value key = b.mul(vector, lanes);                 // of the tile's first key
  Value column = b.sub(key, block.lowKey);          // within the key block
  Value held = b.add(b.mul(row, scoreStride), column);
  for (int64_t r = 0; r < tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      places.push_back(b.add(held, r * scoreStride + v * lanes));
  return {block.firstRow, block.lowKey, group, row, position, key, vector, vectors, last, sums};
}

void CpuKernel::scoreTile(const KeyBlock &block, Value group, Value vector, int64_t vectors, bool last, Value state) {
  const Geometry &g = *this;
  SmallVector<Value> places, sums(g.tileRows * vectors, b.constant(0));
  ScoreTile tile = tileAt(block, group, vector, vectors, last, sums, places);
  if (dotKeys && last)
    sums = contentDots(tile);
  else if (g.depth)
    sums = contentSums(tile, places);
  addTerms(tile, 0);
  applyFunction(tile, places);
  forEach([&](CpuStrategy &strategy) { strategy.hide(tile); });
  hideBehindEnd(tile);
  hideOutsideBounds(tile);
  hideOutsideInterval(tile);
  hideByTiles(tile, state);

  if (shape.direct) {
    for (auto [score, place] : llvm::zip(sums, places))
      b.store(score, memory.scores, place);
    return;
  }
  Value rowMaxima = b.mul(tile.row, g.lanes);
  for (int64_t r = 0; r < g.tileRows; ++r) {
    Value at = b.add(rowMaxima, r * g.lanes);
    Value maximum = b.load(memory.maxima, at);
    for (int64_t v = 0; v < vectors; ++v) {
      Value sum = sums[r * vectors + v];
      maximum = b.larger(sum, maximum);
      b.store(sum, memory.scores, places[r * vectors + v]);
    }
    b.store(maximum, memory.maxima, at);
  }
}

void skewer::addToTile(VectorBuilder &b, int64_t tileRows, Value buffer, Value origin, int64_t rowStride, bool mayHide,
                       ScoreTile &tile) {
  Value nothing = b.constant(-std::numeric_limits<float>::infinity());
  for (int64_t r = 0; r < tileRows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value term = b.load(buffer, b.add(origin, r * rowStride + v * b.lanes));
      Value &sum = tile.sums[r * tile.vectors + v];
      sum = b.addf(sum, term);
      if (mayHide)
        sum = b.select(b.compare(arith::CmpFPredicate::OEQ, term, nothing), nothing, sum);
    }
}
