// Emits a matrix product on tensor cores. A block computes 64 rows of 64 columns, a warp 16 of the rows. The kernel
// goes through the depth in slices of 128 bytes; while it multiplies one slice, cp.async copies the next.
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Analysis/Strides.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/GpuStages.h"
#include "passes/Stages/Matmul.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::generic;
using subscript::Expr;

static constexpr int64_t kRows = 64, kColumns = 64, kThreads = kRows / 16 * 32;
static constexpr int64_t kSliceBytes = 128;
static constexpr int64_t kStages = 2;
// A product has no schedule that names an engine; every GPU has this one.
static constexpr StringLiteral kEngine = kMmaSync;

/// Returns the type as which both operands are multiplied: their type, or f32 if their types differ.
static Type multipliedType(attn::EinsumOp op) {
  Type first = getElementTypeOrSelf(op.getInputs()[0]);
  return first == getElementTypeOrSelf(op.getInputs()[1]) ? first : Type(Float32Type::get(op.getContext()));
}

bool GpuStages::isMatrixProduct(attn::EinsumOp op) {
  for (Value input : op.getInputs())
    if (tensors.storage[input].number)
      return false;
  if (tensors.checksAbsence(op))
    return false;
  auto matmul = matmulOf(op);
  // Offsets within one outer index have 32 bits.
  constexpr int64_t kMost = int64_t(1) << 30;
  return matmul && matmul->batch.empty() && matmul->rowDepthStride && matmul->rows < kMost && matmul->columns < kMost &&
         matmul->rows * matmul->depth < kMost && matmul->columns * matmul->depth < kMost;
}

/// Returns whether all rows of an operand begin at multiples of 16 bytes, given the strides of its axes.
static bool rowsAreAligned(const Storage &tensor, ArrayRef<Expr> subscripts, ArrayRef<std::string> alongDepth,
                           int64_t inChunk) {
  SmallVector<int64_t> shape;
  for (const Extent &extent : tensor.shape)
    shape.push_back(extent.fixed);
  auto affine = subscript::asAffine(rowMajor(subscripts, shape));
  return affine && affine->constant % inChunk == 0 && llvm::all_of(affine->coefficients, [&](const auto &entry) {
           return llvm::is_contained(alongDepth, entry.first) || entry.second % inChunk == 0;
         });
}

/// Emits the kernel of one product, with two builders: the stages' builder, `s.b`, knows tensors and subscripts; `g`
/// knows tiles.
class GpuStages::TensorProduct {
public:
  TensorProduct(GpuStages &, const Stage &, attn::EinsumOp, Matmul, const std::map<std::string, Extent> &extents);
  void emit();

private:
  Extent rowExtent() const;
  void findPlace();
  RowSource sourceOf(Value operand, int64_t depthStride, bool aligned);
  void findSources();
  void load(Value number, const SharedTile &rowsTo, const SharedTile &columnsTo, Value copy);
  Tiles multiply(const SharedTile &rowsIn, const SharedTile &columnsIn, Value copy, const Tiles &before);
  void throughDepth();
  void store();
  void put(Value sum, const Symbols &atRow, Value column);
  /// Returns `at` with the values of `axes` at a flat index in their product.
  Symbols decomposed(Value flat, const std::vector<std::string> &axes, Symbols at);
  /// Runs `emit` with the stages' builder at the insertion point of `g`.
  template <typename Emit> auto withStages(Emit emit) {
    s.b.restoreInsertionPoint(g.saveInsertionPoint());
    auto result = emit();
    g.restoreInsertionPoint(s.b.saveInsertionPoint());
    return result;
  }
  /// Emits `body` under `place` < `end`, or without a condition unless `asks`. Each condition is computed where it is
  /// needed: to hold the conditions of all elements would take more registers than there are.
  void whenLess(Value place, Value end, bool asks, llvm::function_ref<void()> body) {
    if (asks)
      g.when(g.less(place, end), body);
    else
      body();
  }
  static GpuBuilder &started(GpuBuilder &g, GpuStages &s) {
    g.restoreInsertionPoint(s.b.saveInsertionPoint());
    auto sharedPointer = LLVM::LLVMPointerType::get(s.b.getContext(), kSharedSpace);
    g.shared = LLVM::AddressOfOp::create(g, sharedPointer, sharedMemory(s.gpuModule));
    return g;
  }

  GpuStages &s;
  const Stage &stage;
  attn::EinsumOp op;
  const Matmul matmul;
  const std::map<std::string, Extent> &extents;
  const attn::ResolvedEinsum resolved;
  const Type element; // type of the multiplied numbers
  const int64_t inChunk, slice;
  const int64_t columnBlocks;
  SharedPlaces places;
  SharedTile rowTile, columnTile;
  GpuBuilder g;
  ThreadPlace at;
  ScoreLayout layout;
  EngineParts parts;
  Pipeline &pipeline;
  Engine &engine;
  std::vector<Axis> outer;
  Value firstRow, firstColumn;   // of the block
  Value rowCount;                // i32
  Symbols symbols, origin, zero; // axes of the outer index; with all others at 0; all axes at 0
  RowSource rows, columns;
  Value rowBase;
  Tiles sums;
};

GpuStages::TensorProduct::TensorProduct(GpuStages &s, const Stage &stage, attn::EinsumOp op, Matmul product,
                                        const std::map<std::string, Extent> &extents)
    : s(s), stage(stage), op(op), matmul(std::move(product)), extents(extents), resolved(resolve(op)),
      element(multipliedType(op)), inChunk(element.isF32() ? 4 : 8),
      slice(std::min(kSliceBytes / (16 / inChunk), matmul.depth)),
      columnBlocks((matmul.columns + kColumns - 1) / kColumns), places(element.isF32() ? 4 : 2),
      rowTile(places.place(kRows, slice, kStages)), columnTile(places.place(kColumns, slice, kStages)),
      g(s.b.getLoc(), s.b.getContext()), at(threadPlace(started(g, s))), layout(g, at, 1, kColumns),
      parts(*makeEngine(kEngine, {g, at, element, kThreads, kStages, matmul.depth})), pipeline(*parts.pipeline),
      engine(*parts.engine) {}

/// Returns the number of rows; it has a run-time length if the outermost of their axes has one.
Extent GpuStages::TensorProduct::rowExtent() const {
  const Extent &first = extents.at(matmul.rowAxes.front());
  if (first.name.empty())
    return {"", matmul.rows};
  auto length = subscript::parse(std::string_view(first.name));
  return {subscript::print(*length * Expr(matmul.rows / *s.plan.boundOf(first))), 1};
}

/// Finds the rows, the columns and the outer index of the block.
void GpuStages::TensorProduct::findPlace() {
  Value item = s.code.phase.begin;
  firstColumn = g.toI32(g.mul(g.remainder(item, columnBlocks), kColumns));
  Value rest = g.divide(item, columnBlocks);
  if (Extent count = rowExtent(); count.name.empty()) {
    int64_t rowBlocks = (count.fixed + kRows - 1) / kRows;
    rowCount = g.i32(count.fixed);
    firstRow = g.toI32(g.mul(g.remainder(rest, rowBlocks), kRows));
    rest = g.divide(rest, rowBlocks);
  } else {
    Value rows = withStages([&] { return s.code.extent(count); }), rowBlocks = g.divide(g.add(rows, kRows - 1), kRows);
    rowCount = g.toI32(rows);
    firstRow = g.toI32(g.mul(g.createOrFold<arith::RemUIOp>(rest, rowBlocks), kRows));
    rest = g.createOrFold<arith::DivUIOp>(rest, rowBlocks);
  }
  withStages([&] {
    s.code.addRuntimeSizes(extents, symbols);
    s.code.addRuntimeSymbols(symbols);
    for (size_t k = outer.size(); k-- > 0;) {
      Value size = s.code.extent(outer[k].extent);
      symbols[outer[k].name] = k == 0 ? rest : s.b.createOrFold<arith::RemUIOp>(rest, size);
      if (k > 0)
        rest = s.b.createOrFold<arith::DivUIOp>(rest, size);
    }
    return true;
  });
  origin = symbols;
  for (const auto *axes : {&matmul.rowAxes, &matmul.columnAxes, &matmul.depthAxes})
    for (const std::string &axis : *axes)
      origin[axis] = withStages([&] { return s.code.index(0); });
  zero = origin;
  for (const Axis &axis : outer)
    zero[axis.name] = origin[matmul.depthAxes.front()];
}

Symbols GpuStages::TensorProduct::decomposed(Value flat, const std::vector<std::string> &axes, Symbols at) {
  Value left = g.toIndex(flat);
  for (size_t k = axes.size(); k-- > 0;) {
    int64_t size = extents.at(axes[k]).fixed;
    at[axes[k]] = k == 0 ? left : g.remainder(left, size);
    if (k > 0)
      left = g.divide(left, size);
  }
  return at;
}

RowSource GpuStages::TensorProduct::sourceOf(Value operand, int64_t depthStride, bool aligned) {
  const Storage &stored = s.tensors.storage[operand];
  RowSource source;
  source.pointer = pointerTo(g, stored.memory);
  source.element = stored.element;
  source.depthStride = depthStride;
  source.depth = slice;
  source.aligned = aligned && depthStride == 1 && stored.element == element && matmul.depth % inChunk == 0;
  return source;
}

/// Finds the sources of the rows and the columns.
void GpuStages::TensorProduct::findSources() {
  Value operand = op.getInputs()[matmul.rowsInput];
  const std::vector<Expr> &subscripts = resolved.subscripts[matmul.rowsInput];
  rows = sourceOf(operand, *matmul.rowDepthStride,
                  rowsAreAligned(s.tensors.storage[operand], subscripts, matmul.depthAxes, inChunk));
  rows.rowStride = 1; // rows are given by their offsets
  rowBase = g.toI64(withStages([&] { return s.code.position(s.tensors.storage[operand], subscripts, origin); }));
  columns = sourceOf(op.getInputs()[matmul.columnsInput], matmul.columnDepthStride,
                     matmul.columnStride % inChunk == 0 && matmul.columnBase % inChunk == 0);
  columns.rowStride = matmul.columnStride;
}

/// Starts to copy slice `number` of the depth.
void GpuStages::TensorProduct::load(Value number, const SharedTile &rowsTo, const SharedTile &columnsTo, Value copy) {
  const Storage &stored = s.tensors.storage[op.getInputs()[matmul.rowsInput]];
  const std::vector<Expr> &subscripts = resolved.subscripts[matmul.rowsInput];
  Value depth = g.mul(g.toI64(number), slice);
  rows.base = g.add(rowBase, g.mul(depth, rows.depthStride));
  columns.base = g.add(g.mul(depth, columns.depthStride), matmul.columnBase);
  pipeline.fill(
      rowsTo, rows,
      [&](Value row) -> std::pair<Value, Value> {
        Value flat = g.add(firstRow, row), last = g.add(rowCount, -1);
        Symbols at = decomposed(g.minimum(flat, last), matmul.rowAxes, zero);
        Value offset = withStages([&] { return s.code.position(stored, subscripts, at); });
        Value start = withStages([&] { return s.code.position(stored, subscripts, zero); });
        return {g.toI32(g.sub(offset, start)), g.lessEqual(flat, last)};
      },
      copy);
  pipeline.fill(
      columnsTo, columns,
      [&](Value column) -> std::pair<Value, Value> {
        Value flat = g.add(firstColumn, column), last = g.i32(matmul.columns - 1);
        return {g.minimum(flat, last), g.lessEqual(flat, last)};
      },
      copy);
  pipeline.commit();
}

Tiles GpuStages::TensorProduct::multiply(const SharedTile &rowsIn, const SharedTile &columnsIn, Value copy,
                                         const Tiles &before) {
  return engine.issueProducts(before, {{rowsIn, copy, layout.warpRow()}, 1, {}}, {columnsIn, copy, {}});
}

void GpuStages::TensorProduct::throughDepth() {
  int64_t whole = matmul.depth / slice, rest = matmul.depth % slice;
  sums = layout.zeros();
  load(g.i32(0), rowTile, columnTile, g.i32(0));
  sums = gathered(g.loop(g.i32(0), g.i32(whole), 1, flattened(sums), [&](Value number, ValueRange before) {
    // The copies of this slice are done, for all threads, and no thread reads the other copy any more.
    pipeline.full();
    Value next = g.add(number, 1);
    g.when(g.less(next, g.i32(whole)), [&] { load(next, rowTile, columnTile, g.bitAnd(next, 1)); });
    return flattened(multiply(rowTile, columnTile, g.bitAnd(number, 1), gathered(before)));
  }));
  if (!rest)
    return;
  auto shortened = [&](SharedTile tile) {
    tile.depth = rest;
    tile.width = int64_t(llvm::alignTo(rest, 32 / tile.elementBytes));
    return tile;
  };
  SharedTile lastRows = shortened(rowTile), lastColumns = shortened(columnTile);
  pipeline.empty();
  load(g.i32(whole), lastRows, lastColumns, {});
  pipeline.full();
  sums = multiply(lastRows, lastColumns, {}, sums);
}

/// Stores one element of the result, after the operations that follow the product.
void GpuStages::TensorProduct::put(Value sum, const Symbols &atRow, Value column) {
  const Storage &result = s.tensors.storage[stage.result];
  std::vector<Expr> subscripts;
  for (const subscript::Dimension &dimension : *resolved.spec.result)
    subscripts.push_back(subscript::flatIndex(dimension, resolved.sizes));
  Symbols at = decomposed(column, matmul.columnAxes, atRow);
  withStages([&] {
    Value value = stage.finishes ? s.elements.finished(stage, subscripts, at, "", sum) : sum;
    if (value)
      s.code.store(value, result, s.code.position(result, subscripts, at));
    return true;
  });
}

void GpuStages::TensorProduct::store() {
  s.elements.domain.clear();
  for (const auto &[axis, size] : extents)
    if (size.name.empty())
      s.elements.domain[axis] = {0, size.fixed - 1};
  std::array<Value, 2> row;
  std::array<Symbols, 2> atRow;
  for (size_t side : {0u, 1u}) {
    row[side] = layout.rowFrom(layout.firstRow(g.add(firstRow, layout.warpRow())), side);
    atRow[side] = decomposed(row[side], matmul.rowAxes, symbols);
  }
  Extent count = rowExtent();
  bool hasWholeBlocks = count.name.empty() && count.fixed % kRows == 0;
  int64_t columnTiles = columnBlocks == 1 ? (matmul.columns + 7) / 8 : kColumns / 8;
  for (int64_t n = 0; n < columnTiles; ++n) {
    Value firstOfTile = g.add(firstColumn, 8 * n);
    whenLess(firstOfTile, g.i32(matmul.columns), columnBlocks > 1 && matmul.columns % kColumns, [&] {
      for (size_t side : {0u, 1u})
        whenLess(row[side], rowCount, !hasWholeBlocks, [&] {
          for (size_t k : {0u, 1u}) {
            Value column = layout.columnFrom(firstOfTile, int64_t(k));
            whenLess(column, g.i32(matmul.columns), matmul.columns % 8,
                     [&] { put(sums[size_t(n)][2 * side + k], atRow[side], column); });
          }
        });
    });
  }
}

void GpuStages::TensorProduct::emit() {
  for (const std::string &axis : matmul.outer)
    outer.push_back({axis, extents.at(axis)});
  Extent count = rowExtent();
  Extent rowBlocks{"", (count.fixed + kRows - 1) / kRows};
  if (!count.name.empty())
    rowBlocks = {blocksOf(count.name, kRows), 1};
  SizeExpression &items = s.plan.phases.back().items;
  items = itemsOf(outer, rowBlocks.fixed * columnBlocks);
  if (!rowBlocks.name.empty()) {
    items.scaled += std::exchange(items.fixed, 0);
    items.factors.push_back(rowBlocks.name);
  }
  findPlace();
  findSources();
  throughDepth();
  store();
  s.takePhases(ItemOf::Block, {}, kThreads, places.end);
}

bool GpuStages::emitTensorProduct(const Stage &stage, attn::EinsumOp op) {
  auto extents = tensors.extentsOf(op, resolve(op));
  if (!extents)
    return fail(op, "a run-time size is no operand's dimension");
  beginPhase(stage, "matmul");
  TensorProduct(*this, stage, op, *matmulOf(op), *extents).emit();
  return true;
}
