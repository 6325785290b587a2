// The order of the parts: phases, work items, row blocks, key blocks.
#include "passes/Cpu/CpuKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// All of one block of rows: every key block in turn, then the division by the sums.
void CpuKernel::rowBlockBody(Value firstRow, Value rows) {
  Value zero = b.index(0), nothing = b.constant(-std::numeric_limits<float>::infinity());
  Value groups = b.divide(b.add(rows, tileRows - 1), tileRows);
  packQueries(firstRow, rows, groups);
  prepareGates(firstRow, rows, groups);
  b.loop(zero, b.mul(groups, tileRows), 1, [&](Value row) {
    b.store(nothing, maximaBuffer, b.mul(row, lanes));
    b.storeScalar(b.constantScalar(0), sumsBuffer, row);
    if (manyKeyBlocks)
      b.storeScalar(b.constantScalar(-std::numeric_limits<float>::infinity()), scalesBuffer, b.add(row, rowBlock));
    if (shape.hasLse)
      b.storeScalar(b.constantScalar(0), shiftsBuffer, row);
    for (int64_t v = 0; v < widthVectors; ++v)
      b.store(b.constant(0), accumulatorsBuffer, b.add(b.mul(row, widthVectors * lanes), v * lanes));
  });

  // Windows over map axes are the same for every block of keys.
  b.loop(zero, groups, 1, [&](Value group) {
    for (unsigned term = 0; term < shape.offsets.size(); ++term)
      if (!readsWhole(shape.offsets[term]))
        offsetLogits(term, group, firstRow, zero, b.index(shape.keys));
  });
  centreLogits(firstRow, rows);
  centreLines(firstRow, groups);
  queryRows(firstRow, rows, groups);

  int64_t blockVectors = keyBlock / lanes;
  auto [lowLive, highLive] = liveKeys(firstRow, rowBlock, zero, b.index(shape.keys));
  lowLive = shape.prefix ? zero : b.maximum(lowLive, zero);
  Value firstBlock = b.mul(b.divide(lowLive, keyBlock), blockVectors);
  Value endBlock = b.divide(b.add(b.maximum(highLive, zero), lanes - 1), lanes);
  b.loop(firstBlock, endBlock, blockVectors, [&](Value firstVector) {
    Value lowKey = b.mul(firstVector, lanes);
    Value highKey = b.minimum(b.add(lowKey, keyBlock), b.index(shape.keys));
    auto live = [&](Value group) {
      return liveKeys(positionOf(firstRow, b.mul(group, tileRows)), tileRows, lowKey, highKey);
    };
    if (!strided && llvm::any_of(shape.offsets, [&](const OffsetTerm &term) { return readsWhole(term); }))
      b.loop(zero, groups, 1, [&](Value group) {
        auto [low, high] = live(group);
        b.when(meetsLive({low, high}, lowKey, lowKey, highKey), [&, high = high] {
          for (unsigned term = 0; term < shape.offsets.size(); ++term)
            if (readsWhole(shape.offsets[term]))
              offsetLogits(term, group, firstRow, lowKey, high);
        });
      });
    for (auto [number, term] : llvm::enumerate(shape.rows))
      if (!term.keySide && term.kind == RowKind::Offset && !rowPlans[number].onceABlock)
        b.loop(zero, groups, 1, [&, number = number](Value group) {
          auto [low, high] = live(group);
          b.when(meetsLive({low, high}, lowKey, lowKey, highKey),
                 [&, high = high] { offsetLine(number, group, firstRow, lowKey, high); });
        });
    forgetLive();
    if (lineBias)
      biasLines(firstRow, rows, lowKey, highKey);
    findLive(lowKey, highKey);
    keyRows(firstRow, rows, lowKey, highKey);

    // Panels outside, row groups inside: a panel stays in L1 while every group passes over it.
    auto tileLiveGroups = [&](Value vector, int64_t vectors, bool last) {
      b.loop(zero, groups, 1, [&](Value group) {
        if (!shape.visible && !lowVisible && !lowBlock)
          return scoreTile(group, firstRow, lowKey, vector, vectors, last);
        Value key = b.mul(vector, lanes);
        b.when(meetsLive(live(group), lowKey, key, b.add(key, vectors * lanes)),
               [&] { scoreTile(group, firstRow, lowKey, vector, vectors, last); });
      });
    };
    auto tileAllGroups = [&](Value vector, int64_t vectors, bool last) {
      if (laneMasks.empty())
        return tileLiveGroups(vector, vectors, last);
      b.when(
          isLive(b.sub(vector, firstVector), vectors), [&] { tileLiveGroups(vector, vectors, last); },
          [&] {
            Value column = b.mul(b.sub(vector, firstVector), lanes);
            b.loop(zero, b.mul(groups, tileRows), 1, [&](Value row) {
              for (int64_t v = 0; v < vectors; ++v)
                b.store(nothing, scoresBuffer, b.add(b.add(b.mul(row, scoreStride), column), v * lanes));
            });
          });
    };
    int64_t rest = keyVectors % tileVectors;
    if (rest == 0 && shape.keys % lanes)
      rest = tileVectors;
    Value lastWhole = b.index(keyVectors - rest);
    Value endVector = b.minimum(b.add(firstVector, blockVectors), endBlock);
    b.loop(firstVector, b.minimum(endVector, lastWhole), tileVectors,
           [&](Value vector) { tileAllGroups(vector, tileVectors, false); });
    if (rest)
      b.when(b.less(lastWhole, endVector), [&] { tileAllGroups(lastWhole, rest, true); });

    b.loop(zero, groups, 1, [&](Value group) {
      auto [low, high] = live(group);
      auto body = [&, low = low, high = high] {
        Value lowVector = b.divide(low, lanes), highVector = b.divide(b.add(high, lanes - 1), lanes);
        SmallVector<std::pair<Value, Value>> runs = {{lowVector, highVector}};
        if (shape.prefix) {
          Value end = b.divide(b.add(prefixEnd(lowKey, high), lanes - 1), lanes);
          runs = {{b.divide(lowKey, lanes), end}, {b.maximum(lowVector, end), highVector}};
        }
        Value firstOfGroup = b.mul(group, tileRows);
        b.loop(firstOfGroup, b.add(firstOfGroup, tileRows), 1, [&](Value row) { rowSoftmax(row, lowKey, runs); });
        accumulateValues(group, firstRow, lowKey, low, high);
        addValueTerms(group, firstRow, lowKey, low, high);
      };
      if (shape.visible || lowVisible || lowBlock)
        b.when(meetsLive({low, high}, lowKey, lowKey, highKey), body);
      else
        body();
    });
    lowBlock = highBlock = Value();
  });
  writeRows(firstRow, rows);
}

static void emitPack(CpuKernel &kernel, ModuleOp module, KernelPlan &plan) {
  VectorBuilder &b = kernel.b;
  PhaseFunction phase = createPhase(b.builder, module, plan, "pack");
  kernel.openStage(kernel, phase);
  // One item a panel, the tables one after the other.
  int64_t first = 0;
  for (auto [number, term] : llvm::enumerate(kernel.shape.offsets)) {
    const PackedTable &table = kernel.tables[number];
    int64_t stride = (term.depth + 1) * kernel.lanes;
    int64_t items = table.copies * table.panels;
    Value low = b.maximum(phase.begin, b.index(first)), high = b.minimum(phase.end, b.index(first + items));
    Value target = b.view(kernel.shared, b.index(table.buffer.offset), table.buffer.floats);
    b.loop(low, high, 1, [&, &term = term](Value item) {
      Value local = b.sub(item, b.index(first));
      Value copy = b.divide(local, table.panels), panel = b.remainder(local, table.panels);
      kernel.enterCopy(term.tableAxes, copy);
      // For strided addition a step's columns stand side by side; else panel by panel.
      PanelTarget place{target, b.mul(copy, table.copyFloats), stride};
      if (kernel.strided)
        place = {target, b.add(b.mul(copy, table.copyFloats), kernel.shiftedMargin), kernel.lanes};
      place.lineStride = kernel.strided ? kernel.shiftedLine : kernel.lanes;
      packPanel(b,
                {kernel.arguments[term.table], kernel.baseOf(term.tableBase), term.rowStride, term.depthStride,
                 term.rows, term.depth, table.factor, term.sign < 0},
                place, panel);
    });
    first += items;
  }
  for (auto [number, plan] : llvm::enumerate(kernel.rowPlans)) {
    int64_t items = plan.copies * plan.items;
    Value low = b.maximum(phase.begin, b.index(first)), high = b.minimum(phase.end, b.index(first + items));
    b.loop(low, high, 1, [&, number = number, &plan = plan](Value item) {
      Value local = b.sub(item, b.index(first));
      kernel.packRowTable(number, b.divide(local, plan.items), b.remainder(local, plan.items));
    });
    first += items;
  }
  // Score tables: one item a row.
  for (unsigned number = 0; number < kernel.prepared.size(); ++number) {
    const PreparedBias &bias = kernel.prepared[number];
    if (bias.kind != BiasKind::Table)
      continue;
    int64_t rows = kernel.shape.queries;
    int64_t items = countOf(bias.axes, kernel.shape.space) * rows;
    Value low = b.maximum(phase.begin, b.index(first)), high = b.minimum(phase.end, b.index(first + items));
    Value target = b.view(kernel.shared, b.index(bias.buffer.offset), bias.buffer.floats);
    b.loop(low, high, 1, [&](Value item) {
      Value local = b.sub(item, b.index(first));
      Value copy = b.divide(local, rows);
      kernel.enterCopy(bias.axes, copy);
      kernel.prepare(number, target, b.mul(copy, bias.copyFloats), b.remainder(local, rows));
    });
    first += items;
  }
  plan.phases.push_back({phase.function.getSymName().str(), "pack", {first, 0, {}}});
}

/// Where the keys and values of a head lie; empty where those of no two heads that follow each other can be the same.
static std::vector<subscript::Expr> basesOfKeys(const AttentionShape &shape) {
  std::vector<subscript::Expr> bases = {shape.value.base};
  for (const ContentTerm &term : shape.content)
    bases.push_back(term.key.base);
  for (const RowTerm &term : shape.rows)
    if (term.keySide)
      bases.push_back(term.vector.base);
  // Tables that belong to the values are added to them where they are packed.
  bool added = llvm::any_of(shape.valueTerms, [](const ValueTerm &term) { return term.kind == ValueKind::Key; });
  if (shape.space.leading.empty() || added)
    return {};
  subscript::Domain domain = subscript::domainOf(shape.space.sizes);
  for (const subscript::Expr &base : bases)
    if (auto affine = subscript::asAffine(base, domain);
        affine && affine->coefficients.count(shape.space.leading.back()))
      return {};
  return bases;
}

/// Whether keys or values are others than those of the head before.
static Value keysChange(CpuKernel &kernel, ArrayRef<subscript::Expr> bases) {
  VectorBuilder &b = kernel.b;
  SmallVector<Value> own;
  for (const subscript::Expr &base : bases)
    own.push_back(kernel.baseOf(base));
  std::map<std::string, Value> axes = kernel.axes;
  kernel.enterHead(b.maximum(b.add(kernel.leadingIndex, -1), b.index(0)));
  Value change;
  for (auto [base, here] : llvm::zip(bases, own)) {
    Value other = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, kernel.baseOf(base), here);
    change = change ? arith::OrIOp::create(b.builder, change, other).getResult() : other;
  }
  kernel.axes = std::move(axes);
  return change;
}

static void emitAttend(CpuKernel &kernel, ModuleOp module, KernelPlan &plan) {
  VectorBuilder &b = kernel.b;
  PhaseFunction phase = createPhase(b.builder, module, plan, "attend");
  kernel.openStage(kernel, phase);
  kernel.openBuffers();
  kernel.leadingSizes.clear();
  for (const Extent &extent : kernel.leading)
    kernel.leadingSizes.push_back(extentIn(phase, b.builder, plan, extent));

  b.loop(phase.begin, phase.end, 1, [&](Value item) {
    Value chunk = b.remainder(item, kernel.chunks);
    kernel.leadingIndex = b.divide(item, kernel.chunks);
    kernel.enterHead(kernel.leadingIndex);
    // Items of one head follow each other: its keys are packed by the first of them that this worker does.
    Value firstOfHead = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, chunk, b.index(0));
    Value firstOfRun = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, item, phase.begin);
    Value prepares = arith::OrIOp::create(b.builder, firstOfHead, firstOfRun), packs = prepares;
    // Heads of a group share what is packed.
    if (auto bases = basesOfKeys(kernel.shape); !bases.empty())
      packs = arith::OrIOp::create(b.builder, firstOfRun,
                                   arith::AndIOp::create(b.builder, firstOfHead, keysChange(kernel, bases)));
    b.when(packs, [&] {
      kernel.packKeys();
      kernel.packRowKeys();
      kernel.packValues();
    });
    b.when(prepares, [&] {
      kernel.packValueTerms();
      kernel.prepareHead();
    });
    kernel.findVisible();
    kernel.findUpcoming();
    if (kernel.packedValues.floats) {
      kernel.valueBase = b.index(0);
      kernel.valueStride = kernel.widthVectors * kernel.lanes;
    } else {
      kernel.valueBase = kernel.baseOf(kernel.shape.value.base);
      kernel.valueStride = kernel.shape.value.key;
    }
    kernel.enterHeadOfValueTerms();
    kernel.testValues();
    if (kernel.strided) {
      kernel.packPhase(chunk);
      Value count = b.divide(b.sub(b.index(kernel.shape.queries + kernel.lanes - 1), chunk), kernel.lanes);
      return b.loop(b.index(0), count, kernel.rowBlock, [&](Value first) {
        Value rows = b.minimum(b.index(kernel.rowBlock), b.sub(count, first));
        kernel.rowBlockBody(kernel.positionOf(chunk, first), rows);
      });
    }
    Value low = b.mul(chunk, kernel.rowsPerItem);
    Value high = b.minimum(b.add(low, kernel.rowsPerItem), b.index(kernel.shape.queries));
    b.loop(low, high, kernel.rowBlock, [&](Value firstRow) {
      Value rows = b.minimum(b.index(kernel.rowBlock), b.sub(high, firstRow));
      kernel.rowBlockBody(firstRow, rows);
    });
  });

  SizeExpression items;
  int64_t count = kernel.chunks;
  for (const Extent &extent : kernel.leading) {
    if (extent.name.empty())
      count *= extent.fixed;
    else
      items.factors.push_back(extent.name);
  }
  (items.factors.empty() ? items.fixed : items.scaled) = count;
  plan.phases.push_back({phase.function.getSymName().str(), "attend", items});
}

void skewer::emitCpuKernel(CpuKernel &kernel, ModuleOp module, KernelPlan &plan) {
  bool tables = llvm::any_of(kernel.prepared, [](const PreparedBias &bias) { return bias.kind == BiasKind::Table; });
  if (!kernel.shape.offsets.empty() || !kernel.shape.rows.empty() || tables)
    emitPack(kernel, module, plan);
  emitAttend(kernel, module, plan);
}
