// Which tiles an attention's operands have, and which rows stand in them.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuKernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;
using subscript::Kind;

/// Whether every value of the expression is a multiple of `number`, by its form alone.
static bool isMultiple(const Expr &expression, int64_t number) {
  switch (expression.kind()) {
  case Kind::Constant:
    return expression.value() % number == 0;
  case Kind::Add:
    return isMultiple(expression.operands()[0], number) && isMultiple(expression.operands()[1], number);
  case Kind::Mul:
    return isMultiple(expression.operands()[0], number) || isMultiple(expression.operands()[1], number);
  default:
    return false;
  }
}

bool GpuKernel::isAligned(const Walk &walk, bool ofQuery, int64_t depth, unsigned argument) const {
  const TensorArgument &input = shape.plan.inputs[shape.inputs[argument]];
  bool same = (input.type == ElementType::F16 && shape.element.isF16()) ||
              (input.type == ElementType::BF16 && shape.element.isBF16()) ||
              (input.type == ElementType::F32 && shape.element.isF32());
  int64_t inChunk = shape.element.isF32() ? 4 : 8; // elements of 16 bytes
  int64_t rowStride = ofQuery ? walk.query : walk.key;
  return same && depth % inChunk == 0 && (walk.depth == 1 || depth == 1) && rowStride % inChunk == 0 &&
         isMultiple(walk.base, inChunk);
}

void GpuKernel::plan() {
  // First what stays from the first step to the last: queries, and what is looked up.
  for (const ContentTerm &term : shape.attention.content)
    planQueries(term.query, term.depth);
  for (const BandTerm &term : shape.bands)
    if (!term.ofKey)
      planQueries(term.query, term.depth);
  for (auto [term, places] : llvm::zip_equal(shape.lookups, layout.lookups))
    planLookup(term, places);
  for (auto [term, keys] : llvm::zip_equal(shape.attention.content, layout.content)) {
    ContentPlan part;
    part.queries = planQueries(term.query, term.depth);
    part.keys = keys;
    part.source = sourceOf(term.key, false, term.depth);
    part.scale = term.scale;
    content.push_back(std::move(part));
  }
  values = layout.values;
  valueSource = columnSource(shape.attention.value);
  planValueTerms();
  for (auto [term, places] : llvm::zip_equal(shape.bands, layout.bands)) {
    if (term.ofKey) {
      keyBands.push_back(planKeyBand(term, places));
      continue;
    }
    BandPlan part{&term, planQueries(term.query, term.depth), {}, sourceOf(term.table, false, term.depth)};
    part.window = places.window;
    bands.push_back(std::move(part));
  }
  planLines();
  if (auto scale = commonScaleOf(shape))
    lateScale = *scale * kLog2E;
}

void GpuKernel::bring(llvm::function_ref<void()> load) {
  if (!tile.isSingleBuffered())
    return;    // it came with the tile
  b.barrier(); // what stood there has been read
  load();
  b.commitCopies();
  b.waitForCopies(0);
  b.barrier();
}

KeyBandPlan GpuKernel::planKeyBand(const BandTerm &term, const GpuLayout::Band &places) {
  KeyBandPlan part;
  part.band.term = &term;
  part.band.source = sourceOf(term.table, false, term.depth);
  part.band.window = places.window;
  part.keys = places.keys;
  part.sharesKeys = places.sharedWith.has_value();
  if (!part.sharesKeys)
    part.keySource = sourceOf(term.query, false, term.depth);
  part.stride = places.logits.stride;
  part.logits = places.logits.offset;
  return part;
}

size_t GpuKernel::planQueries(const Walk &walk, int64_t depth) {
  size_t number = layout.numberOf(walk, depth);
  if (number == queries.size()) // they are asked for in their order
    queries.push_back({walk, depth, layout.queries[number].tile, sourceOf(walk, true, depth), {}});
  return number;
}

RowSource GpuKernel::sourceOf(const Walk &walk, bool ofQuery, int64_t depth) {
  RowSource source;
  unsigned input = shape.inputs[walk.argument];
  source.pointer = inputs[input];
  source.base = baseOf(walk.base);
  source.element = elementOf(walk.argument);
  source.rowStride = ofQuery ? walk.query : walk.key;
  source.depthStride = walk.depth;
  source.depth = depth;
  source.aligned = isAligned(walk, ofQuery, depth, walk.argument);
  return source;
}

RowSource GpuKernel::columnSource(const Walk &walk) {
  RowSource source = sourceOf(walk, false, columns);
  if (firstColumn) {
    source.base = b.add(source.base, b.mul(b.toI64(firstColumn), walk.depth));
    source.aligned &= shape.attention.width % 8 == 0; // then a part begins at a multiple of 8 columns
  }
  return source;
}

void GpuKernel::loadRows(const SharedTile &to, const RowSource &from, Value first, int64_t end, Value copy) {
  loadTile(
      to, from,
      [&](Value row) -> std::pair<Value, Value> {
        Value source = b.add(first, row);
        return {b.minimum(source, b.i32(end - 1)), b.less(source, b.i32(end))};
      },
      copy);
}

void GpuKernel::loadWindow(const BandPlan &part, Value firstKey, Value copy) {
  const BandTerm &term = *part.term;
  // Row r of the window is for key - query = firstKey - blockRow - (rows - 1) + r.
  Value first = b.add(b.sub(firstKey, blockRow), 1 - tile.rows);
  Value constant = b.i32(term.constant);
  if (!term.shift.isConstant(0)) {
    // Far from the table's rows it makes no difference how far.
    Value far = b.i64(int64_t(1) << 30), shifted = b.add(baseOf(term.shift), term.constant);
    constant = arith::TruncIOp::create(b, b.getI32Type(), b.minimum(b.maximum(shifted, b.sub(b.i64(0), far)), far));
  }
  loadTile(
      part.window, part.source,
      [&](Value row) -> std::pair<Value, Value> {
        Value offset = b.add(first, row), source;
        if (term.offsets) {
          Expr place = subscript::clamp(Expr::symbol("offset") - Expr(term.offsets->low), 0,
                                        int64_t(term.offsets->rows.size()) - 1);
          auto entries = std::make_shared<const std::vector<int64_t>>(term.offsets->rows);
          source = b.toI32(emitIndex(Expr::table(entries, place), {{"offset", b.toIndex(offset)}}));
        } else {
          source = term.sign > 0 ? b.add(offset, constant) : b.sub(constant, offset);
        }
        Value there = b.both(b.lessEqual(b.i32(0), source), b.less(source, b.i32(term.rows)));
        return {b.minimum(b.maximum(source, b.i32(0)), b.i32(term.rows - 1)), there};
      },
      copy);
}

void GpuKernel::loadKeyBand(const KeyBandPlan &part, Value firstKey, Value copy) {
  if (!part.sharesKeys)
    loadRows(part.keys, part.keySource, firstKey, shape.attention.keys, copy);
  loadWindow(part.band, firstKey, copy);
}

void GpuKernel::loadKeys(Value tileIndex, Value copy) {
  Value first = b.mul(tileIndex, tile.keys);
  if (!tile.isSingleBuffered())
    loadOperands(first, copy);
  for (const LinePlan &part : lines)
    makeLine(part, first, copy);
  b.commitCopies();
}

void GpuKernel::loadOperands(Value firstKey, Value copy) {
  for (const ContentPlan &part : content)
    loadRows(part.keys, part.source, firstKey, shape.attention.keys, copy);
  loadRows(values, valueSource, firstKey, shape.attention.keys, copy);
  loadValueTerms(firstKey, copy);
  for (const BandPlan &part : bands)
    loadWindow(part, firstKey, copy);
  for (const KeyBandPlan &part : keyBands)
    loadKeyBand(part, firstKey, copy);
}
