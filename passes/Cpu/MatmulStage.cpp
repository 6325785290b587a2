// A matrix product as two phases: the columns' operand in panels, once a call, then row blocks by register tiles
// (Panels.h).
//
// An item packs a block of rows, computing them on the way where they are arithmetic, then takes a few panels at a time
// through all its row tiles: the panels stay in L2, where the next ones are fetched to meanwhile, a tile's rows in L1,
// the accumulators in registers over the whole depth. Arithmetic behind the product is done to a tile of results before
// it is stored.
#include "passes/Cpu/CpuStages.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

/// Rows of an item, in tiles, where there are many: enough that packing them and fetching the panels is little beside
/// the products, few enough that a product of a thousand rows gives work to many workers.
static constexpr int64_t kTilesOfBlock = 6;
static constexpr int64_t kLineFloats = 16; // of a line of the cache

MatmulPlan::MatmulPlan(Matmul product, const Target &target) : matmul(std::move(product)), lanes(target.lanes) {
  // 8x3 is the best of the tiles that fit 32 registers over a long depth; 16 registers hold 4x3.
  tileRows = target.registers >= 32 ? 8 : 4;
  tileVectors = 3;
  panels = llvm::divideCeil(matmul.columns, lanes);
  tileVectors = std::min(tileVectors, panels);
  // A line more each: rows and panels a multiple of 4 KiB apart would share their L1 sets.
  panelStride = (matmul.depth + 1) * lanes;
  rowStride = llvm::alignTo(matmul.depth, lanes) + lanes;
  int64_t many = matmul.rows / 64 / tileRows, inL2 = target.l2Bytes / 4 / (rowStride * 4) / tileRows;
  int64_t blockRows = std::min(std::max(kTilesOfBlock, many), std::max<int64_t>(inL2, 1)) * tileRows;
  blocks = llvm::divideCeil(matmul.rows, blockRows);
  rowBlock = llvm::alignTo(llvm::divideCeil(matmul.rows, blocks), tileRows);
  packedBytes = llvm::alignTo(panels * panelStride * 4, 64);
  scratchOffset = llvm::alignTo(rowBlock * rowStride * 4, 64);
  localBytes = scratchOffset + llvm::alignTo(tileRows * tileVectors * lanes * 4, 64);
}

namespace {

/// A flat position in a product of axes becomes the axes' values.
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

void CpuStages::packColumns(MatmulPlan &product, Value source) {
  const Matmul &matmul = product.matmul;
  VectorBuilder v(b, product.lanes);
  Value packed = v.view(phase.shared, address(product.packed), product.packedBytes / 4);
  int64_t whole = matmul.columns / product.lanes, last = matmul.columns % product.lanes;
  v.loop(phase.begin, phase.end, 1, [&](Value panel) {
    if (matmul.columnStride != 1)
      return packPanel(v,
                       {source, index(matmul.columnBase), matmul.columnStride, matmul.columnDepthStride, matmul.columns,
                        matmul.depth},
                       {packed, index(0), product.panelStride}, panel);
    auto copy = [&](int64_t lanes) {
      v.loop(index(0), index(matmul.depth), 1, [&](Value step) {
        Value from =
            v.add(v.add(v.mul(step, matmul.columnDepthStride), v.mul(panel, product.lanes)), matmul.columnBase);
        Value to = v.add(v.mul(panel, product.panelStride), v.mul(step, product.lanes));
        v.store(v.loadFirst(source, from, lanes), packed, to);
      });
    };
    v.when(v.less(panel, index(whole)), [&] { copy(product.lanes); }, [&] { copy(last ? last : product.lanes); });
  });
  plan.phases.back().items = {product.panels, 0, {}};
}

void CpuStages::packRows(const MatmulPlan &product, const MatmulRows &rows,
                         const std::map<std::string, Extent> &extents, Symbols symbols, Value target, Value base) {
  const Matmul &matmul = product.matmul;
  VectorBuilder v(b, product.lanes);
  const Value memory = isStored(rows.tensor) ? rows.storage->memory : Value();
  auto run = [&](Value from, Value to, int64_t length) {
    int64_t whole = llvm::alignDown(length, product.lanes);
    if (whole)
      v.loop(index(0), index(whole), product.lanes,
             [&](Value at) { v.store(v.load(memory, v.add(from, at)), target, v.add(to, at)); });
    if (whole < length)
      v.store(v.loadFirst(memory, v.add(from, whole), length - whole), target, v.add(to, whole));
  };
  // Rows may be read along a column's axis too where that has one element.
  for (const std::vector<std::string> *axes : {&matmul.depthAxes, &matmul.columnAxes})
    for (const std::string &axis : *axes)
      symbols[axis] = index(0);
  if (memory && matmul.rowDepthStride == 1)
    return run(position(*rows.storage, rows.subscripts, symbols), base, matmul.depth);
  // Not one run: the innermost axis at a time, if that is one.
  std::vector<Axis> axes;
  for (const std::string &axis : matmul.depthAxes)
    axes.push_back({axis, extents.at(axis)});
  auto depthAt = [&]() {
    Value flat = index(0);
    for (const Axis &axis : axes)
      flat = v.add(v.mul(flat, axis.extent.fixed), symbols[axis.name]);
    return v.add(base, flat);
  };
  const Axis inner = axes.back();
  if (!memory) {
    Storage packed;
    packed.memory = target;
    packed.element = b.getF32Type();
    bool vector = inner.extent.fixed % kLanes == 0 && vectorises(rows.tensor, rows.subscripts, inner.name);
    return loops(ArrayRef<Axis>(axes).drop_back(), symbols, [&] {
      loop(index(0), index(inner.extent.fixed), vector ? kLanes : 1, [&](Value at) {
        symbols[inner.name] = at;
        computed.clear();
        if (Value x = element(rows.tensor, rows.subscripts, symbols, vector ? inner.name : ""))
          store(x, packed, depthAt());
        else
          emissionFailure = "the rows of a matrix product cannot be computed";
      });
    });
  }
  bool runs = step(*rows.storage, rows.subscripts, inner.name) == 1 && inner.extent.fixed % product.lanes == 0;
  loops(runs ? ArrayRef<Axis>(axes).drop_back() : ArrayRef<Axis>(axes), symbols, [&] {
    if (runs)
      symbols[inner.name] = index(0);
    Value from = position(*rows.storage, rows.subscripts, symbols);
    if (runs)
      return run(from, depthAt(), inner.extent.fixed);
    v.storeScalar(v.scalar(memory, from), target, depthAt());
  });
}

bool CpuStages::emitMatmul(const Stage &stage, attn::EinsumOp op) {
  MatmulPlan &product = *matmuls[op];
  const Matmul &matmul = product.matmul;
  attn::ResolvedEinsum resolved = resolve(op);
  auto extents = extentsOf(resolved, op.getInputs());
  if (!extents)
    return fail(op, "a run-time size is no operand's dimension");
  beginPhase(stage, "pack");
  packColumns(product, storage[op.getInputs()[matmul.columnsInput]].memory);

  beginPhase(stage, "matmul");
  VectorBuilder v(b, product.lanes);
  Value rowsOperand = op.getInputs()[matmul.rowsInput];
  MatmulRows rows{rowsOperand, &storage[rowsOperand], resolved.subscripts[matmul.rowsInput]};
  const Storage &result = storage[stage.result];
  std::vector<Expr> subscripts;
  for (const subscript::Dimension &dimension : *resolved.spec.result)
    subscripts.push_back(subscript::flatIndex(dimension, resolved.sizes));
  Value packed = v.view(phase.shared, address(product.packed), product.packedBytes / 4);
  Value block = v.view(phase.local, index(0), product.rowBlock * product.rowStride);
  Value scratch =
      v.view(phase.local, index(product.scratchOffset), product.tileRows * product.tileVectors * product.lanes);

  std::vector<Axis> outer;
  SizeExpression count{0, 0, {}};
  int64_t fixed = product.blocks;
  for (const std::string &axis : matmul.outer) {
    outer.push_back({axis, extents->at(axis)});
    if (outer.back().extent.name.empty())
      fixed *= outer.back().extent.fixed;
    else
      count.factors.push_back(outer.back().extent.name);
  }
  (count.factors.empty() ? count.fixed : count.scaled) = fixed;
  plan.phases.back().items = count;

  // Vectors of the result are consecutive where the last column axis is the result's last and no vector crosses its
  // end.
  const std::string &lastColumn = matmul.columnAxes.back();
  bool isRun = step(result, subscripts, lastColumn) == 1;
  auto fits = [&](int64_t lanes) {
    return isRun && (matmul.columnAxes.size() == 1 || extents->at(lastColumn).fixed % lanes == 0);
  };
  bool consecutive = !stage.product && fits(product.lanes);
  // What is computed on the way, in the rows or behind the product, is simplified within the axes' sizes.
  domain.clear();
  for (const auto &[axis, size] : *extents)
    if (size.name.empty())
      domain[axis] = {0, size.fixed - 1};
  // A tile's columns are vectors of the product; what finishes them takes `kLanes` at a time.
  bool finishes = stage.product && product.lanes % kLanes == 0 && fits(kLanes) && matmul.columns % kLanes == 0 &&
                  vectorises(stage.result.getDefiningOp(), subscripts, lastColumn);
  int64_t partial = matmul.columns % product.lanes;

  v.loop(phase.begin, phase.end, 1, [&](Value item) {
    Symbols symbols;
    addRuntimeSizes(*extents, symbols);
    for (const auto &[name, size] : sizes)
      symbols[symbolOf({name, 1})] = size;
    Value rest = v.divide(item, product.blocks);
    for (size_t k = outer.size(); k-- > 0;) {
      Value size = extent(outer[k].extent);
      symbols[outer[k].name] = k == 0 ? rest : b.createOrFold<arith::RemUIOp>(rest, size);
      if (k > 0)
        rest = b.createOrFold<arith::DivUIOp>(rest, size);
    }
    Value firstRow = v.mul(v.remainder(item, product.blocks), product.rowBlock);
    Value rowCount = v.minimum(index(product.rowBlock), v.sub(index(matmul.rows), firstRow));
    Value tiles = v.divide(v.add(rowCount, product.tileRows - 1), product.tileRows);
    v.loop(index(0), v.mul(tiles, product.tileRows), 1, [&](Value row) {
      Value to = v.mul(row, product.rowStride);
      v.when(
          v.less(row, rowCount),
          [&] {
            decompose(v, v.add(firstRow, row), matmul.rowAxes, *extents, symbols);
            packRows(product, rows, *extents, symbols, block, to);
          },
          [&] { // computed with the others of the tile, and not stored
            v.loop(index(0), index(llvm::alignTo(matmul.depth, product.lanes)), product.lanes,
                   [&](Value at) { v.store(v.constant(0), block, v.add(to, at)); });
          });
    });

    // The result's offset is the sum of what its row and its column say.
    auto offsetOf = [&](const std::vector<std::string> &moving, Value at, bool isRow) -> Value {
      Symbols own = symbols;
      if (!isRow)
        for (const Axis &axis : outer)
          own[axis.name] = index(0);
      for (const auto *axes : {&matmul.rowAxes, &matmul.columnAxes})
        for (const std::string &axis : *axes)
          own[axis] = index(0);
      decompose(v, at, moving, *extents, own);
      return position(result, subscripts, own);
    };
    auto storeTile = [&](Value tile, Value panel, int64_t vectors, bool last, ArrayRef<Value> sums) {
      Value firstOfTile = v.mul(tile, product.tileRows);
      if (consecutive) {
        SmallVector<Value> columns;
        for (int64_t k = 0; k < vectors; ++k)
          columns.push_back(offsetOf(matmul.columnAxes, v.mul(v.add(panel, k), product.lanes), false));
        for (int64_t r = 0; r < product.tileRows; ++r) {
          Value row = v.add(firstOfTile, r);
          v.when(v.less(row, rowCount), [&] {
            Value base = offsetOf(matmul.rowAxes, v.add(firstRow, row), true);
            for (int64_t k = 0; k < vectors; ++k)
              v.storeFirst(sums[r * vectors + k], result.memory, v.add(base, columns[k]),
                           last && partial && k + 1 == vectors ? partial : product.lanes);
          });
        }
        return;
      }
      for (int64_t r = 0; r < product.tileRows; ++r)
        for (int64_t k = 0; k < vectors; ++k)
          v.store(sums[r * vectors + k], scratch, index((r * vectors + k) * product.lanes));
      Value rowsHere = v.minimum(index(product.tileRows), v.sub(rowCount, firstOfTile));
      Value firstColumn = v.mul(panel, product.lanes);
      Value columnsHere = v.minimum(index(vectors * product.lanes), v.sub(index(matmul.columns), firstColumn));
      Storage sumsOfTile;
      sumsOfTile.memory = scratch;
      sumsOfTile.element = b.getF32Type();
      v.loop(index(0), rowsHere, 1, [&](Value r) {
        Value row = v.add(firstRow, v.add(firstOfTile, r)), base = offsetOf(matmul.rowAxes, row, true);
        Symbols at = symbols;
        decompose(v, row, matmul.rowAxes, *extents, at);
        v.loop(index(0), columnsHere, finishes ? kLanes : 1, [&](Value column) {
          Value position = v.add(firstColumn, column);
          decompose(v, position, matmul.columnAxes, *extents, at);
          Value x = load(sumsOfTile, v.add(v.mul(r, vectors * product.lanes), column), finishes);
          if (stage.product)
            x = finished(stage, subscripts, at, finishes ? lastColumn : "", x);
          if (x)
            store(x, result, v.add(base, offsetOf(matmul.columnAxes, position, false)));
        });
      });
    };
    // The next panels are fetched to L2 while these are used: so many lines in each turn of the depth loop that the
    // tiles of a block have asked for all of them.
    int64_t tilesOfBlock = product.rowBlock / product.tileRows;
    int64_t linesOfTurn = llvm::divideCeil(product.tileVectors * kStepsOfTurn, tilesOfBlock);
    int64_t floatsOfTile = llvm::divideCeil(matmul.depth, kStepsOfTurn) * linesOfTurn * kLineFloats;
    auto throughRows = [&](Value panel, int64_t vectors, bool last) {
      Value next = v.mul(v.add(panel, vectors), product.panelStride);
      v.loop(index(0), tiles, 1, [&](Value tile) {
        Value ahead = v.add(next, v.mul(tile, floatsOfTile));
        auto fetch = [&](Value step) {
          Value at = v.add(ahead, v.mul(step, linesOfTurn * kLineFloats / kStepsOfTurn));
          for (int64_t line = 0; line < linesOfTurn; ++line)
            v.prefetch(packed, v.add(at, line * kLineFloats));
        };
        Value row = v.mul(tile, product.tileRows * product.rowStride), column = v.mul(panel, product.panelStride);
        SmallVector<Value> places;
        for (int64_t k = 0; k < product.tileRows * vectors; ++k)
          places.push_back(index(k * product.lanes));
        SmallVector<Value> sums =
            multiplyInChains(v, {0, product.tileRows, 0, vectors}, matmul.depth, scratch, places,
                             [&](const TilePart &part, Value first, int64_t steps, SmallVector<Value> start) {
                               auto fetchFrom = [&](Value step) { fetch(v.add(first, step)); };
                               return multiply(v, part.rows, part.vectors, steps, std::move(start),
                                               {block, v.add(row, first), product.rowStride},
                                               {packed, v.add(column, v.mul(first, v.lanes)), product.panelStride},
                                               product.lanes == kLineFloats ? BesideSteps(fetchFrom) : BesideSteps());
                             });
        storeTile(tile, panel, vectors, last, sums);
      });
    };
    int64_t left = product.panels % product.tileVectors;
    if (left == 0 && partial)
      left = product.tileVectors;
    v.loop(index(0), index(product.panels - left), product.tileVectors,
           [&](Value panel) { throughRows(panel, product.tileVectors, false); });
    if (left)
      throughRows(index(product.panels - left), left, true);
  });
  return true;
}
