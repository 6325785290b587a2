// Decomposes the block's number, and positions into axes.
#include "passes/Gpu/BlockPlace.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/Widening.h"
#include "passes/Stages/NarrowRows.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;
using subscript::Kind;

BlockPlace::BlockPlace(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const ThreadPlace &at)
    : columns(shape.tile.columnsOf(shape.attention.width)), scores(b, at, shape.tile.rowTiles(), shape.tile.keys), b(b),
      shape(shape), operands(operands) {
  const KeyBounds &bounds = shape.attention.bounds;
  auto count = [&](const std::optional<Expr> &length) {
    return length ? b.toI32(operands.index(*length, {})) : Value();
  };
  queryCount = count(bounds.queryLength);
  keyCount = count(bounds.keyLength);
  Value rest = NVVM::BlockIdXOp::create(b, b.getI32Type());
  readRows(rest);
  readColumns(rest);
  readKeyPart(rest);
  leading = leadingAxes(b, operands, shape, b.toIndex(rest));
}

/// Returns whether blocks of the last queries begin first: if later queries see more keys, as under a causal mask. Then
/// the blocks that are left when multiprocessors run out of blocks are short ones.
static bool beginsWithLast(const AttentionShape &attention) {
  return attention.visible && attention.visible->low == std::numeric_limits<int64_t>::min() &&
         attention.visible->high != std::numeric_limits<int64_t>::max();
}

void BlockPlace::readRows(Value &rest) {
  int64_t rows = shape.tile.rows;
  Value rowBlocks, number, block = rest;
  if (queryCount) {
    rowBlocks = b.divide(b.add(queryCount, rows - 1), rows);
    rest = b.createOrFold<arith::DivUIOp>(block, rowBlocks);
    number = b.createOrFold<arith::RemUIOp>(block, rowBlocks);
  } else {
    int64_t count = (shape.attention.queries + rows - 1) / rows;
    rowBlocks = b.i32(count);
    rest = b.divide(block, count);
    number = b.remainder(block, count);
  }
  if (beginsWithLast(shape.attention))
    number = b.sub(b.add(rowBlocks, -1), number);
  row = b.mul(number, rows);
  threadRow = scores.firstRow(b.add(row, scores.warpRow()));
}

void BlockPlace::readColumns(Value &rest) {
  int64_t width = shape.attention.width, parts = shape.tile.partsOf(width);
  if (parts == 1)
    return;
  // The last part begins early enough to have as many columns as the others; another block writes the first of them.
  Value part = b.mul(b.remainder(rest, parts), columns);
  firstColumn = b.minimum(part, b.i32(width - columns));
  if (width % columns)
    firstOwn = b.sub(part, firstColumn);
  rest = b.divide(rest, parts);
}

void BlockPlace::readKeyPart(Value &rest) {
  int64_t parts = shape.tile.keyParts;
  if (parts == 1)
    return;
  keyPart = b.remainder(rest, parts);
  rest = b.divide(rest, parts);
}

Axes skewer::gpu::leadingAxes(GpuBuilder &b, Operands &operands, const GpuAttention &shape, Value rest) {
  Axes leading;
  const auto &names = shape.attention.space.leading;
  for (size_t place = names.size(); place-- > 0;) {
    const Extent &extent = shape.leading[place];
    if (place == 0) {
      leading[names[place]] = rest;
    } else if (extent.name.empty()) {
      leading[names[place]] = b.remainder(rest, extent.fixed);
      rest = b.divide(rest, extent.fixed);
    } else {
      Value size = b.toIndex(operands.sizeOf(extent));
      leading[names[place]] = arith::RemUIOp::create(b, rest, size);
      rest = arith::DivUIOp::create(b, rest, size);
    }
  }
  return leading;
}

Value BlockPlace::leadingIndex() const {
  Value flat = b.i64(0);
  for (auto [name, extent] : llvm::zip_equal(shape.attention.space.leading, shape.leading))
    flat = b.add(b.mul(flat, operands.sizeOf(extent)), b.toI64(leading.at(name)));
  return flat;
}

//===- Axes ------------------------------------------------------------------------===//

Axes BlockPlace::axesOf(Value position, const std::vector<std::string> &names, const std::vector<MapAxis> &map) const {
  Axes values;
  Value flat = b.toIndex(position);
  for (auto [place, name] : llvm::enumerate(names)) {
    Value value = b.divide(flat, map[place].inner);
    values[name] = place == 0 ? value : b.remainder(value, map[place].extent);
  }
  return values;
}

void BlockPlace::findQueryAxes() {
  // Positions behind the last query are computed as the last one: their scores are not used, but nothing may be read
  // outside of the operands for them.
  const AttentionShape &attention = shape.attention;
  queryAxes.clear();
  for (size_t number = 0; number < scores.rows(); ++number) {
    Value inside = b.minimum(query(number), b.add(queries(), -1));
    queryAxes.push_back(axesOf(inside, attention.space.query, attention.queryAxes));
  }
}

Axes BlockPlace::axesOfQuery(size_t number) const {
  Axes at = leading;
  at.insert(queryAxes[number].begin(), queryAxes[number].end());
  return at;
}

Axes BlockPlace::axesAt(size_t number, Value key) const {
  const AttentionShape &attention = shape.attention;
  Axes at = axesOfQuery(number);
  Value inside = b.minimum(key, b.add(keys(), -1));
  Axes keyAxes = axesOf(inside, attention.space.key, attention.keyAxes);
  at.insert(keyAxes.begin(), keyAxes.end());
  return at;
}

std::vector<Axes> BlockPlace::axesOfTile(Value firstKey) const {
  std::vector<Axes> at;
  for (const HeldNumber &number : scores.numbers())
    at.push_back(axesAt(number.row, scores.columnFrom(firstKey, number.column)));
  return at;
}

//===- Rows of operands --------------------------------------------------------------===//

bool skewer::gpu::isMultiple(const Expr &expression, int64_t number) {
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

bool BlockPlace::isAligned(const Walk &walk, int64_t rowStride, int64_t depth) const {
  int64_t inChunk = shape.element.isF32() ? 4 : 8; // elements in 16 bytes
  return depth % inChunk == 0 && (walk.depth == 1 || depth == 1) && rowStride % inChunk == 0 &&
         isMultiple(walk.base, inChunk) && (!walk.picked || isMultiple(*walk.picked, inChunk));
}

RowSource BlockPlace::sourceOf(const Walk &walk, int64_t rowStride, int64_t depth) const {
  RowSource source;
  source.pointer = operands.pointerTo(walk.argument);
  source.base = baseOf(walk.base);
  source.element = operands.elementOf(walk.argument);
  source.rowStride = rowStride;
  source.depthStride = walk.depth;
  source.depth = depth;
  bool isAlike = source.element == shape.element, regular = isAligned(walk, rowStride, depth);
  source.aligned = isAlike && regular;
  if (isOfBytes(source.element)) {
    // The elements of a chunk are in one row of the operand, where rows consist of whole chunks.
    int64_t inChunk = shape.element.isF32() ? 4 : 8;
    source.widened = regular && shape.scaledElements[walk.argument] % inChunk == 0;
    source.byInstruction = convertsE4M3(shape.target);
    if (unsigned operand = walk.argument; operands.hasScales(operand))
      source.scaleAt = [this, operand](Value place) {
        return operands.scaleAt(operand, arith::IndexCastOp::create(b, b.getIndexType(), place));
      };
  }
  source.picking = walk.picked ? &walk : nullptr;
  return source;
}

/// Returns where the row that a key picks begins; i64.
Value BlockPlace::pickedRow(const Walk &walk, Value key) const {
  Axes at = leading;
  at.merge(axesOf(key, shape.attention.space.key, shape.attention.keyAxes));
  return b.toI64(operands.index(*walk.picked, at));
}

RowSource BlockPlace::inTile(const RowSource &source, Value firstKey) const {
  const Walk *walk = source.picking;
  if (!walk)
    return source;
  RowSource tile = source;
  if (walk->run % shape.tile.keys == 0) {
    Value key = b.minimum(firstKey, b.add(keys(), -1)); // behind the last step no row is copied
    tile.rowStride = walk->runStep;
    tile.base = b.add(source.base, b.sub(pickedRow(*walk, key), b.mul(b.toI64(key), walk->runStep)));
  } else {
    tile.placeOf = [this, walk](Value key) { return pickedRow(*walk, key); };
  }
  return tile;
}

RowSource BlockPlace::columnsOf(const Walk &walk) const {
  RowSource source = keysOf(walk, columns);
  if (firstColumn) {
    source.base = b.add(source.base, b.mul(b.toI64(firstColumn), walk.depth));
    source.aligned &= shape.attention.width % 8 == 0;
    source.widened &= shape.attention.width % 8 == 0; // then a part begins at a multiple of 8 columns
  }
  return source;
}
