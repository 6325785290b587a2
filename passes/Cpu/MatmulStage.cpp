// Emits a matrix product as two phases of CpuStages: the first packs the operand of the columns into panels, once a
// call; the second computes row blocks in register tiles (RegisterTile.h).
//
// An item packs a block of rows, and computes them on the way if they are arithmetic. It then takes a few panels at a
// time through all its row tiles. The panels stay in L2, into which the next ones are prefetched meanwhile; the rows of
// a tile stay in L1, and the accumulators in registers over the whole depth. In a batch of products, the items of a
// product are consecutive, and each worker packs the columns of the products that it takes part in. Arithmetic behind
// the product is applied to a tile of results before the tile is stored.
#include "passes/Cpu/CpuStages.h"
#include "passes/Cpu/Geometry.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

/// Row tiles of an item, if there are many rows: enough that packing them and fetching the panels costs little compared
/// with the products, few enough that a product of a thousand rows gives work to many workers.
static constexpr int64_t kTilesOfBlock = 6;

MatmulPlan::MatmulPlan(Matmul product, ElementType element, const Target &target)
    : matmul(std::move(product)), engine(engineFor(element, target)), lanes(target.lanes) {
  // For a long depth, 8x3 is the best of the tiles that fit 32 registers; 16 registers hold 4x3.
  tileRows = target.registers >= 32 ? 8 : 4;
  tileVectors = 3;
  if (keepsSumsInMemory()) {
    tileRows = engine.cost.rowsInMemory();
    tileVectors = engine.cost.vectors().back();
  }
  panels = llvm::divideCeil(matmul.columns, lanes);
  tileVectors = std::min(tileVectors, panels);
  steps = engine.stepsOf(matmul.depth);
  panelStride = CpuEngine::panelStride(steps, lanes);
  // One more cache line for each row, too.
  rowStride = llvm::alignTo(steps, lanes) + lanes;
  wideFloats = engine.packsFloats() ? 0 : llvm::alignTo(steps, lanes) * engine.cost.elementsOfStep();
  int64_t many = matmul.rows / 64 / tileRows, inL2 = target.l2Bytes / 4 / (rowStride * 4) / tileRows;
  int64_t blockRows = std::min(std::max(kTilesOfBlock, many), std::max<int64_t>(inL2, 1)) * tileRows;
  blocks = llvm::divideCeil(matmul.rows, blockRows);
  rowBlock = llvm::alignTo(llvm::divideCeil(matmul.rows, blocks), tileRows);
  packedBytes = llvm::alignTo(panels * panelStride * 4, 64);
  scratchOffset = llvm::alignTo(rowBlock * rowStride * 4, 64);
  wideOffset = scratchOffset + llvm::alignTo(tileRows * tileVectors * lanes * 4, 64);
  packedOffset = wideOffset + wideFloats * 4;
  localBytes = packedOffset + (packsItself() ? packedBytes : 0);
}

namespace {

/// Splits a flat position in a product of axes into the values of the axes.
void decompose(VectorBuilder &b, Value position, const std::vector<std::string> &axes,
               const std::map<std::string, Extent> &extents, Symbols &symbols) {
  Value rest = position;
  for (size_t k = axes.size(); k-- > 0;) {
    int64_t size = extents.at(axes[k]).fixed;
    symbols[axes[k]] = k == 0 ? rest : b.remainder(rest, size);
    if (k > 0)
      rest = b.divide(rest, size);
  }
}

} // namespace

/// Packs a panel of columns that are adjacent in memory, for an engine whose steps hold several elements.
void CpuStages::packSteps(const MatmulPlan &product, const MatmulColumns &columns, Value panel, int64_t count) {
  const Matmul &matmul = product.matmul;
  const WeightEngine &engine = *product.engine.forWeights();
  VectorBuilder v(b, product.lanes);
  int64_t elements = product.engine.cost.elementsOfStep(), whole = matmul.depth / elements;
  Value base = v.add(v.mul(panel, product.lanes), columns.base), to = v.mul(panel, product.panelStride);
  auto pack = [&](Value step, int64_t held) {
    SmallVector<Value> places, exist;
    for (int64_t e = 0; e < elements; ++e) {
      Value depth = v.add(v.mul(step, elements), e < held ? e : 0);
      places.push_back(v.add(v.mul(depth, matmul.columnDepthStride), base));
      exist.push_back(arith::ConstantIntOp::create(b, e < held, 1));
    }
    Value packed = engine.packValues(v, columns.source, places, count);
    if (held < elements)
      packed = engine.keepExisting(v, packed, exist);
    v.store(packed, columns.packed, v.add(to, v.mul(step, product.lanes)));
  };
  v.loop(code.index(0), code.index(whole), 1, [&](Value step) { pack(step, elements); });
  if (int64_t rest = matmul.depth % elements)
    pack(code.index(whole), rest);
  for (int64_t step = llvm::divideCeil(matmul.depth, elements); step < product.steps; ++step)
    v.store(v.constant(0), columns.packed, v.add(to, step * product.lanes));
}

void CpuStages::packColumns(const MatmulPlan &product, const MatmulColumns &columns, Value firstPanel, Value endPanel) {
  const Matmul &matmul = product.matmul;
  VectorBuilder v(b, product.lanes);
  int64_t whole = matmul.columns / product.lanes, last = matmul.columns % product.lanes;
  auto [source, base, packed] = columns;
  v.loop(firstPanel, endPanel, 1, [&, source = source, base = base, packed = packed](Value panel) {
    if (matmul.columnStride != 1)
      return product.engine.packPanel(
          v, {source, base, matmul.columnStride, matmul.columnDepthStride, matmul.columns, matmul.depth},
          {packed, code.index(0), product.panelStride}, panel);
    auto copy = [&](int64_t lanes) {
      if (!product.engine.packsFloats())
        return packSteps(product, columns, panel, lanes);
      v.loop(code.index(0), code.index(matmul.depth), 1, [&](Value step) {
        Value from = v.add(v.add(v.mul(step, matmul.columnDepthStride), v.mul(panel, product.lanes)), base);
        Value to = v.add(v.mul(panel, product.panelStride), v.mul(step, product.lanes));
        v.store(v.loadFirst(source, from, lanes), packed, to);
      });
    };
    v.when(
        v.less(panel, code.index(whole)), [&] { copy(product.lanes); }, [&] { copy(last ? last : product.lanes); });
  });
}

void CpuStages::packRows(const MatmulPlan &product, const MatmulRows &rows,
                         const std::map<std::string, Extent> &extents, Symbols symbols, Value target, Value base) {
  const Matmul &matmul = product.matmul;
  VectorBuilder v(b, product.lanes);
  const Value memory = tensors.isStored(rows.tensor) ? rows.storage->memory : Value();
  auto run = [&](Value from, Value to, int64_t length) {
    int64_t whole = llvm::alignDown(length, product.lanes);
    if (whole)
      v.loop(code.index(0), code.index(whole), product.lanes,
             [&](Value at) { v.store(v.load(memory, v.add(from, at)), target, v.add(to, at)); });
    if (whole < length)
      v.store(v.loadFirst(memory, v.add(from, whole), length - whole), target, v.add(to, whole));
  };
  // Rows may also be read along a column axis if it has one element.
  for (const std::vector<std::string> *axes : {&matmul.depthAxes, &matmul.columnAxes})
    for (const std::string &axis : *axes)
      symbols[axis] = code.index(0);
  if (memory && matmul.rowDepthStride == 1)
    return run(code.position(*rows.storage, rows.subscripts, symbols), base, matmul.depth);
  // The row is not one run: it goes by runs of the innermost axis if that axis is one, else by elements.
  std::vector<Axis> axes;
  for (const std::string &axis : matmul.depthAxes)
    axes.push_back({axis, extents.at(axis)});
  auto depthAt = [&]() {
    Value flat = code.index(0);
    for (const Axis &axis : axes)
      flat = v.add(v.mul(flat, axis.extent.fixed), symbols[axis.name]);
    return v.add(base, flat);
  };
  const Axis inner = axes.back();
  if (!memory) {
    Storage packed;
    packed.memory = target;
    packed.element = b.getF32Type();
    bool vector = inner.extent.fixed % kLanes == 0 && elements.vectorises(rows.tensor, rows.subscripts, inner.name);
    return code.loops(ArrayRef<Axis>(axes).drop_back(), symbols, [&] {
      code.loop(code.index(0), code.index(inner.extent.fixed), vector ? kLanes : 1, [&](Value at) {
        symbols[inner.name] = at;
        elements.computed.clear();
        if (Value x = elements.element(rows.tensor, rows.subscripts, symbols, vector ? inner.name : ""))
          code.store(x, packed, depthAt());
        else
          code.failure = "the rows of a matrix product cannot be computed";
      });
    });
  }
  bool runs = step(*rows.storage, rows.subscripts, inner.name) == 1 && inner.extent.fixed % product.lanes == 0;
  code.loops(runs ? ArrayRef<Axis>(axes).drop_back() : ArrayRef<Axis>(axes), symbols, [&] {
    if (runs)
      symbols[inner.name] = code.index(0);
    Value from = code.position(*rows.storage, rows.subscripts, symbols);
    if (runs)
      return run(from, depthAt(), inner.extent.fixed);
    v.storeScalar(v.scalar(memory, from), target, depthAt());
  });
}

/// Emits the second phase of one product: row blocks in register tiles.
class CpuStages::MatmulEmitter {
public:
  MatmulEmitter(CpuStages &stages, const Stage &stage, attn::EinsumOp op, const MatmulPlan &product,
                const std::map<std::string, Extent> &extents)
      : s(stages), stage(stage), product(product), matmul(product.matmul), extents(extents), resolved(resolve(op)),
        v(stages.b, product.lanes), rowsOperand(stages.inMemory(op.getInputs()[matmul.rowsInput])),
        columnsOperand(stages.inMemory(op.getInputs()[matmul.columnsInput])),
        rows{rowsOperand, &stages.tensors.storage[rowsOperand], resolved.subscripts[matmul.rowsInput]},
        result(stages.tensors.storage[stage.result]) {
    for (const subscript::Dimension &dimension : *resolved.spec.result)
      subscripts.push_back(subscript::flatIndex(dimension, resolved.sizes));
    packed = product.packsItself()
                 ? v.view(s.code.phase.local, s.code.index(product.packedOffset), product.packedBytes / 4)
                 : v.view(s.tensors.memoryAt(s.code.phase, product.packed), s.code.address(product.packed),
                          product.packedBytes / 4);
    block = v.view(s.code.phase.local, s.code.index(0), product.rowBlock * product.rowStride);
    scratch = v.view(s.code.phase.local, s.code.index(product.scratchOffset),
                     product.tileRows * product.tileVectors * product.lanes);
    if (product.wideFloats)
      wide = v.view(s.code.phase.local, s.code.index(product.wideOffset), product.wideFloats);
  }
  void emit();

private:
  void findStores();
  Symbols symbolsOf(Value item);
  void packBlock();
  void packRow(Value to);
  void packOwnColumns(Value item);
  Value offsetOf(const std::vector<std::string> &moving, Value at, bool isRow);
  SmallVector<Value> sumsInScratch(Value row, int64_t vectors);
  void storeTile(Value tile, Value panel, int64_t vectors, bool last, ArrayRef<Value> sums);
  void storeRuns(Value firstOfTile, Value panel, int64_t vectors, bool last, ArrayRef<Value> sums);
  Value rowsOfProduct();
  void throughRows(Value panel, int64_t vectors, bool last);

  CpuStages &s;
  const Stage &stage;
  const MatmulPlan &product;
  const Matmul &matmul;
  const std::map<std::string, Extent> &extents;
  attn::ResolvedEinsum resolved;
  VectorBuilder v;
  Value rowsOperand, columnsOperand;
  MatmulRows rows;
  const Storage &result;
  std::vector<Expr> subscripts; // of the result
  Value packed, block, scratch, wide;
  std::vector<Axis> outer;
  bool consecutive = false; // vectors of the result are consecutive in memory, and are stored as they are
  bool finishes = false;    // the arithmetic behind the product takes `kLanes` columns at a time
  // The state of the current item.
  Symbols symbols;
  Value firstRow, rowCount, tiles;
};

/// Decides how results are stored. Vectors of the result are consecutive if the last column axis is the last axis of
/// the result and no vector crosses its end.
void CpuStages::MatmulEmitter::findStores() {
  const std::string &lastColumn = matmul.columnAxes.back();
  bool isRun = step(result, subscripts, lastColumn) == 1;
  auto fits = [&](int64_t lanes) {
    return isRun && (matmul.columnAxes.size() == 1 || extents.at(lastColumn).fixed % lanes == 0);
  };
  consecutive = !stage.finishes && fits(product.lanes);
  // Expressions that are computed on the way, in the rows or behind the product, are simplified within the sizes of the
  // axes.
  s.elements.domain.clear();
  for (const auto &[axis, size] : extents)
    if (size.name.empty())
      s.elements.domain[axis] = {0, size.fixed - 1};
  // The columns of a tile are vectors of the product; the arithmetic behind it takes `kLanes` at a time.
  finishes = stage.finishes && product.lanes % kLanes == 0 && fits(kLanes) && matmul.columns % kLanes == 0 &&
             s.elements.vectorises(stage.result.getDefiningOp(), subscripts, lastColumn);
}

Symbols CpuStages::MatmulEmitter::symbolsOf(Value item) {
  Symbols at;
  s.code.addRuntimeSizes(extents, at);
  for (const auto &[name, size] : s.code.sizes)
    at[generic::symbolOf({name, 1})] = size;
  Value rest = v.divide(item, product.blocks);
  for (size_t k = outer.size(); k-- > 0;) {
    Value size = s.code.extent(outer[k].extent);
    at[outer[k].name] = k == 0 ? rest : s.b.createOrFold<arith::RemUIOp>(rest, size);
    if (k > 0)
      rest = s.b.createOrFold<arith::DivUIOp>(rest, size);
  }
  return at;
}

/// Packs the columns of a product if the item begins that product of the batch, or the work of the worker.
void CpuStages::MatmulEmitter::packOwnColumns(Value item) {
  Value itemsOfProduct = s.code.index(product.blocks);
  for (const std::string &axis : matmul.outer)
    itemsOfProduct = v.mul(itemsOfProduct, s.code.extent(extents.at(axis)));
  Value inProduct = s.b.createOrFold<arith::RemUIOp>(item, itemsOfProduct);
  auto same = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(s.b, arith::CmpIPredicate::eq, x, y); };
  Value begins = arith::OrIOp::create(s.b, same(inProduct, s.code.index(0)), same(item, s.code.phase.begin));
  Symbols at = symbols;
  for (const auto *axes : {&matmul.outer, &matmul.rowAxes, &matmul.columnAxes, &matmul.depthAxes})
    for (const std::string &axis : *axes)
      at[axis] = s.code.index(0);
  const Storage &columns = s.tensors.storage[columnsOperand];
  Value base = s.code.position(columns, resolved.subscripts[matmul.columnsInput], at);
  v.when(begins, [&] {
    s.packColumns(product, {columns.memory, base, packed}, s.code.index(0), s.code.index(product.panels));
  });
}

/// Packs a row of the block. An engine that does not pack floats gets the row rounded.
void CpuStages::MatmulEmitter::packRow(Value to) {
  if (!wide)
    return s.packRows(product, rows, extents, symbols, block, to);
  s.packRows(product, rows, extents, symbols, wide, s.code.index(0));
  int64_t elements = product.engine.cost.elementsOfStep();
  v.loop(s.code.index(0), s.code.index(product.wideFloats / elements), product.lanes, [&](Value step) {
    SmallVector<Value> floats;
    for (int64_t e = 0; e < elements; ++e)
      floats.push_back(v.load(wide, v.add(v.mul(step, elements), e * product.lanes)));
    v.store(product.engine.forWeights()->packWeights(v, floats), block, v.add(to, step));
  });
}

/// Packs the block of rows. Rows below the last one are zeros: they are computed with the tile, but not stored.
void CpuStages::MatmulEmitter::packBlock() {
  for (int64_t at = llvm::alignDown(matmul.depth, product.lanes); at < product.wideFloats; at += product.lanes)
    v.store(v.constant(0), wide, s.code.index(at)); // a row may leave what is behind its depth
  v.loop(s.code.index(0), v.mul(tiles, product.tileRows), 1, [&](Value row) {
    Value to = v.mul(row, product.rowStride);
    v.when(
        v.less(row, rowCount),
        [&] {
          decompose(v, v.add(firstRow, row), matmul.rowAxes, extents, symbols);
          packRow(to);
        },
        [&] {
          v.loop(s.code.index(0), s.code.index(llvm::alignTo(product.steps, product.lanes)), product.lanes,
                 [&](Value at) { v.store(v.constant(0), block, v.add(to, at)); });
        });
  });
}

/// Returns the part of the result's offset that its row, or its column, contributes. The offset is the sum of both.
Value CpuStages::MatmulEmitter::offsetOf(const std::vector<std::string> &moving, Value at, bool isRow) {
  Symbols own = symbols;
  if (!isRow)
    for (const Axis &axis : outer)
      own[axis.name] = s.code.index(0);
  for (const auto *axes : {&matmul.rowAxes, &matmul.columnAxes})
    for (const std::string &axis : *axes)
      own[axis] = s.code.index(0);
  decompose(v, at, moving, extents, own);
  return s.code.position(result, subscripts, own);
}

void CpuStages::MatmulEmitter::storeRuns(Value firstOfTile, Value panel, int64_t vectors, bool last,
                                         ArrayRef<Value> sums) {
  int64_t partial = matmul.columns % product.lanes;
  SmallVector<Value> columns;
  for (int64_t k = 0; k < vectors; ++k)
    columns.push_back(offsetOf(matmul.columnAxes, v.mul(v.add(panel, k), product.lanes), false));
  auto store = [&](Value row, ArrayRef<Value> ofRow) {
    Value base = offsetOf(matmul.rowAxes, v.add(firstRow, row), true);
    for (int64_t k = 0; k < vectors; ++k)
      v.storeFirst(ofRow[k], result.memory, v.add(base, columns[k]),
                   last && partial && k + 1 == vectors ? partial : product.lanes);
  };
  if (sums.empty()) {
    Value rowsHere = v.minimum(s.code.index(product.tileRows), v.sub(rowCount, firstOfTile));
    return v.loop(s.code.index(0), rowsHere, 1,
                  [&](Value r) { store(v.add(firstOfTile, r), sumsInScratch(r, vectors)); });
  }
  for (int64_t r = 0; r < product.tileRows; ++r) {
    Value row = v.add(firstOfTile, r);
    v.when(v.less(row, rowCount), [&] { store(row, sums.slice(r * vectors, vectors)); });
  }
}

SmallVector<Value> CpuStages::MatmulEmitter::sumsInScratch(Value row, int64_t vectors) {
  SmallVector<Value> sums;
  Value from = v.mul(row, vectors * product.lanes);
  for (int64_t k = 0; k < vectors; ++k)
    sums.push_back(v.load(scratch, v.add(from, k * product.lanes)));
  return sums;
}

/// Stores a tile of results. Without `sums`, its sums are in the scratch memory.
void CpuStages::MatmulEmitter::storeTile(Value tile, Value panel, int64_t vectors, bool last, ArrayRef<Value> sums) {
  Value firstOfTile = v.mul(tile, product.tileRows);
  if (consecutive)
    return storeRuns(firstOfTile, panel, vectors, last, sums);
  for (auto [number, sum] : llvm::enumerate(sums))
    v.store(sum, scratch, s.code.index(int64_t(number) * product.lanes));
  Value rowsHere = v.minimum(s.code.index(product.tileRows), v.sub(rowCount, firstOfTile));
  Value firstColumn = v.mul(panel, product.lanes);
  Value columnsHere =
      v.minimum(s.code.index(vectors * product.lanes), v.sub(s.code.index(matmul.columns), firstColumn));
  Storage sumsOfTile;
  sumsOfTile.memory = scratch;
  sumsOfTile.element = s.b.getF32Type();
  v.loop(s.code.index(0), rowsHere, 1, [&](Value r) {
    Value row = v.add(firstRow, v.add(firstOfTile, r)), base = offsetOf(matmul.rowAxes, row, true);
    Symbols at = symbols;
    decompose(v, row, matmul.rowAxes, extents, at);
    v.loop(s.code.index(0), columnsHere, finishes ? kLanes : 1, [&](Value column) {
      Value position = v.add(firstColumn, column);
      decompose(v, position, matmul.columnAxes, extents, at);
      Value x = s.code.load(sumsOfTile, v.add(v.mul(r, vectors * product.lanes), column), finishes);
      if (stage.finishes)
        x = s.elements.finished(stage, subscripts, at, finishes ? matmul.columnAxes.back() : "", x);
      if (x)
        s.code.store(x, result, v.add(base, offsetOf(matmul.columnAxes, position, false)));
    });
  });
}

/// Computes all row tiles of the block × `vectors` panels. Meanwhile it prefetches the next panels into L2: in each
/// turn of the depth loop so many lines that the tiles of a block together fetch all of them.
void CpuStages::MatmulEmitter::throughRows(Value panel, int64_t vectors, bool last) {
  int64_t tilesOfBlock = product.rowBlock / product.tileRows;
  int64_t linesOfTurn = llvm::divideCeil(product.tileVectors * kStepsOfTurn, tilesOfBlock);
  int64_t floatsOfTile = llvm::divideCeil(product.steps, kStepsOfTurn) * linesOfTurn * kLineFloats;
  Value next = v.mul(v.add(panel, vectors), product.panelStride);
  v.loop(s.code.index(0), tiles, 1, [&](Value tile) {
    Value ahead = v.add(next, v.mul(tile, floatsOfTile));
    auto fetch = [&](Value step) {
      Value at = v.add(ahead, v.mul(step, linesOfTurn * kLineFloats / kStepsOfTurn));
      for (int64_t line = 0; line < linesOfTurn; ++line)
        v.prefetch(packed, v.add(at, line * kLineFloats));
    };
    Value row = v.mul(tile, product.tileRows * product.rowStride), column = v.mul(panel, product.panelStride);
    SmallVector<Value> places;
    for (int64_t k = 0; k < product.tileRows * vectors; ++k)
      places.push_back(s.code.index(k * product.lanes));
    TileProduct whole{{0, product.tileRows, 0, vectors},
                      product.steps,
                      {kChain},
                      {block, row, product.rowStride},
                      {packed, column, product.panelStride}};
    if (product.keepsSumsInMemory()) {
      product.engine.multiplyInto(v, whole, {scratch, s.code.index(0), vectors * product.lanes});
      return storeTile(tile, panel, vectors, last, {});
    }
    if (product.lanes == kLineFloats)
      whole.beside = fetch;
    SmallVector<Value> sums = product.engine.multiply(v, whole, {scratch, places});
    storeTile(tile, panel, vectors, last, sums);
  });
}

/// Returns the number of rows; `firstRow` if that is larger, so that a block behind a run-time length has no rows.
Value CpuStages::MatmulEmitter::rowsOfProduct() {
  const Extent &first = matmul.rowAxes.empty() ? Extent() : extents.at(matmul.rowAxes.front());
  if (first.name.empty())
    return s.code.index(matmul.rows);
  Value rows = v.mul(s.code.extent(first), matmul.rows / resolved.sizes.at(matmul.rowAxes.front()));
  return v.maximum(rows, firstRow);
}

void CpuStages::MatmulEmitter::emit() {
  for (const std::string &axis : llvm::concat<const std::string>(matmul.batch, matmul.outer))
    outer.push_back({axis, extents.at(axis)});
  s.plan.phases.back().items = itemsOf(outer, product.blocks);
  findStores();
  product.engine.begin(v);
  v.loop(s.code.phase.begin, s.code.phase.end, 1, [&](Value item) {
    symbols = symbolsOf(item);
    if (product.packsItself())
      packOwnColumns(item);
    firstRow = v.mul(v.remainder(item, product.blocks), product.rowBlock);
    rowCount = v.minimum(s.code.index(product.rowBlock), v.sub(rowsOfProduct(), firstRow));
    tiles = v.divide(v.add(rowCount, product.tileRows - 1), product.tileRows);
    packBlock();
    int64_t left = product.panels % product.tileVectors;
    if (left == 0 && matmul.columns % product.lanes)
      left = product.tileVectors;
    v.loop(s.code.index(0), s.code.index(product.panels - left), product.tileVectors,
           [&](Value panel) { throughRows(panel, product.tileVectors, false); });
    if (left)
      throughRows(s.code.index(product.panels - left), left, true);
  });
  product.engine.end(v);
}

bool CpuStages::emitMatmul(const Stage &stage, attn::EinsumOp op) {
  MatmulPlan &product = *matmuls[op];
  auto extents = tensors.extentsOf(op, resolve(op));
  if (!extents)
    return fail(op, "a run-time size is no operand's dimension");
  if (!product.packsItself()) {
    beginPhase(stage, "pack");
    plan.phases.back().prepares = product.packed.prepared;
    VectorBuilder v(b, product.lanes);
    Value packed =
        v.view(tensors.memoryAt(code.phase, product.packed), code.address(product.packed), product.packedBytes / 4);
    Value source = tensors.storage[inMemory(op.getInputs()[product.matmul.columnsInput])].memory;
    packColumns(product, {source, code.index(product.matmul.columnBase), packed}, code.phase.begin, code.phase.end);
    plan.phases.back().items = {product.panels, 0, {}};
  }
  beginPhase(stage, "matmul");
  MatmulEmitter(*this, stage, op, product, *extents).emit();
  return true;
}
