// Emits the walk through the tables of live tiles (KeyRuns.h).
#include "passes/Cpu/KeyRuns.h"
#include "passes/Emit/IntegerLanes.h"

using namespace mlir;
using namespace skewer;

KeyRuns::KeyRuns(VectorBuilder &b, const AttentionShape &shape, const Geometry &g, Positions &positions)
    : b(b), shape(shape), geometry(g), positions(positions),
      tables(tablesOf(*shape.bounds.tiles, {g.lanes, g.tileRows, g.tileVectors, g.rowBlock, g.keyBlock})) {}

void KeyRuns::forEach(Value firstRow, const std::function<void(Value, Value)> &body) {
  Value block = b.add(b.mul(positions.copyOf(shape.bounds.tiles->axes()), tables.rowBlocks),
                      b.divide(firstRow, geometry.rowBlock));
  Value ends = integerTable(b, tables.firstRun), runs = integerTable(b, tables.runs);
  b.loop(tableElement(b, ends, block), tableElement(b, ends, b.add(block, 1)), 1, [&](Value run) {
    Value at = b.mul(run, 3);
    firstVector = tableElement(b, runs, at);
    Value endVector = tableElement(b, runs, b.add(at, 1));
    description = tableElement(b, runs, b.add(at, 2));
    body(firstVector, endVector);
  });
  firstVector = description = {};
}

KeyRange KeyRuns::keysOf(Value group) {
  Value table = integerTable(b, tables.descriptions), at = b.add(description, b.mul(group, 2));
  Value firstKey = b.mul(firstVector, geometry.lanes);
  return {b.add(firstKey, tableElement(b, table, at)), b.add(firstKey, tableElement(b, table, b.add(at, 1)))};
}

Value KeyRuns::stateOf(Value group, Value vector) {
  Value panel = b.add(b.divide(b.sub(vector, firstVector), geometry.tileVectors), 2);
  Value at = b.add(description, b.add(b.mul(panel, tables.groups), group));
  return tableElement(b, integerTable(b, tables.descriptions), at);
}

Value KeyRuns::isHole(Value state) {
  return arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, state, b.index(TileTables::kHole));
}

Value KeyRuns::seenLanes(Value state, int64_t row, int64_t vector) {
  return lanesOfPattern(b, geometry, tables, state, row, vector);
}

Value skewer::lanesOfPattern(VectorBuilder &b, const Geometry &geometry, const TileTables &tables, Value state,
                             int64_t row, int64_t vector) {
  int64_t words = geometry.tileRows * geometry.tileVectors;
  Value at = b.add(b.mul(b.add(state, -TileTables::kFirstPattern), words), row * geometry.tileVectors + vector);
  Value word = memref::LoadOp::create(b.builder, integerTable(b, tables.patterns), at);
  SmallVector<int32_t> bits;
  for (int64_t lane = 0; lane < b.lanes; ++lane)
    bits.push_back(int32_t(1u << lane));
  Value lanes = arith::ConstantOp::create(b.builder, DenseElementsAttr::get(b.integers, ArrayRef<int32_t>(bits)));
  Value spread = vector::BroadcastOp::create(b.builder, b.integers, word);
  return arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, arith::AndIOp::create(b.builder, spread, lanes),
                               integer(b, 0));
}
