// Packs the numbers of queries and keys, and multiplies sums with them (RowScales.h).
#include "passes/Cpu/RowScales.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

RowScales::RowScales(KernelContext &context, bool exist)
    : KernelPart(context), term(exist ? &shape.content[0] : nullptr) {}

void RowScales::plan(Layout &layout) {
  bool ofKeys = term && hasAny(term->key), ofQueries = term && hasAny(term->query);
  layout.reserve(keys, ofKeys ? llvm::alignTo(g.keyVectors, g.tileVectors) * g.lanes : 0, Layout::Zone::Panels);
  layout.reserve(queries, ofQueries ? g.rowBlock : 0, Layout::Zone::Queries);
}

void RowScales::open() {
  keyMemory = context.view(keys);
  queryMemory = context.view(queries);
}

/// Lanes behind the last key get 0: what their panels hold is finite, and so are their scores until they are hidden.
void RowScales::packKeys(const KeyRange &panels) {
  if (!term || !hasAny(term->key))
    return;
  Value count = positions.keys(), high = b.mul(panels.high, g.lanes);
  b.loop(b.mul(panels.low, g.lanes), b.minimum(high, count), 1, [&](Value key) {
    Value scale = context.stage.rowScale(term->key.argument, positions.keyPlace(term->key, key));
    b.storeScalar(scale, keyMemory, key);
  });
  b.loop(b.minimum(high, count), high, 1, [&](Value key) { b.storeScalar(b.constantScalar(0), keyMemory, key); });
}

void RowScales::packQueries(const RowBlock &block) {
  if (!term || !hasAny(term->query))
    return;
  const Walk &walk = term->query;
  Value base = positions.baseOf(walk.base);
  b.loop(b.index(0), block.rows, 1, [&](Value row) {
    Value at = b.add(base, b.mul(context.positionOf(block.firstRow, row), walk.query));
    Value scale = b.mulf(context.stage.rowScale(walk.argument, at), b.constantScalar(float(term->scale)));
    b.storeScalar(scale, queryMemory, row);
  });
  b.loop(block.rows, b.mul(block.groups, g.tileRows), 1,
         [&](Value row) { b.storeScalar(b.constantScalar(0), queryMemory, row); });
}

/// Each score is rounded where its sum becomes f32 and where it is multiplied with the two numbers.
void RowScales::apply(const ScoreTile &tile, MutableArrayRef<Value> sums) {
  if (!term)
    return;
  SmallVector<Value> ofKeys;
  for (int64_t v = 0; v < tile.vectors && hasAny(term->key); ++v)
    ofKeys.push_back(b.load(keyMemory, b.mul(b.add(tile.vector, v), g.lanes)));
  auto rows = static_cast<int64_t>(sums.size()) / tile.vectors;
  for (int64_t r = 0; r < rows; ++r) {
    Value ofQuery = hasAny(term->query) ? b.loadBroadcast(queryMemory, b.add(tile.row, r)) : Value();
    if (!ofQuery && term->scale != 1)
      ofQuery = b.constant(float(term->scale));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value &sum = sums[r * tile.vectors + v];
      sum = ofKeys.empty() ? sum : b.mulf(sum, ofKeys[v]);
      sum = ofQuery ? b.mulf(sum, ofQuery) : sum;
    }
  }
}
