// Emits a matrix product on tensor cores. A block computes 64 rows of 64 columns, a warp 16 of the rows. The kernel
// goes through the depth in slices of 128 bytes; while it multiplies one slice, cp.async copies the next.
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Analysis/Strides.h"
#include "passes/Gpu/AsyncCopies.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/GpuStages.h"
#include "passes/Stages/Matmul.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::generic;
using subscript::Expr;

static constexpr int64_t kRows = 64, kColumns = 64, kBlockThreads = kRows / 16 * 32;
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
  // An instruction of tensor cores multiplies 8 or 16 steps. Offsets within one outer index have 32 bits.
  constexpr int64_t kFewSteps = 8, kMost = int64_t(1) << 30;
  return matmul && matmul->depth >= kFewSteps && matmul->batch.empty() && matmul->rowDepthStride &&
         matmul->rows < kMost && matmul->columns < kMost && matmul->rows * matmul->depth < kMost &&
         matmul->columns * matmul->depth < kMost;
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

namespace {
/// The copies of a slice of the depth in shared memory.
struct SliceTiles {
  SharedTile rows, columns;
};

/// The matrix product of a stage: its operands, and how it is divided into tiles and slices of the depth.
struct Product {
  Product(const Stage &stage, attn::EinsumOp op, Matmul product, const std::map<std::string, Extent> &extents)
      : stage(stage), matmul(std::move(product)), extents(extents), resolved(resolve(op)),
        rowsOperand(op.getInputs()[matmul.rowsInput]), columnsOperand(op.getInputs()[matmul.columnsInput]),
        element(multipliedType(op)), inChunk(element.isF32() ? 4 : 8),
        slice(std::min(kSliceBytes / (16 / inChunk), matmul.depth)),
        columnBlocks((matmul.columns + kColumns - 1) / kColumns) {
    for (const std::string &axis : matmul.outer)
      outer.push_back({axis, extents.at(axis)});
  }

  /// Returns the number of rows; it has a run-time length if the outermost of their axes has one.
  Extent rowExtent(const KernelPlan &plan) const {
    const Extent &first = extents.at(matmul.rowAxes.front());
    if (first.name.empty())
      return {"", matmul.rows};
    auto length = subscript::parse(std::string_view(first.name));
    return {subscript::print(*length * Expr(matmul.rows / *plan.boundOf(first))), 1};
  }
  const std::vector<Expr> &rowSubscripts() const { return resolved.subscripts[matmul.rowsInput]; }
  /// Returns `at` with the values of `axes` at a flat index in their product.
  Symbols decomposed(GpuBuilder &g, Value flat, const std::vector<std::string> &axes, Symbols at) const {
    Value left = g.toIndex(flat);
    for (size_t k = axes.size(); k-- > 0;) {
      int64_t size = extents.at(axes[k]).fixed;
      at[axes[k]] = k == 0 ? left : g.remainder(left, size);
      if (k > 0)
        left = g.divide(left, size);
    }
    return at;
  }

  const Stage &stage;
  const Matmul matmul;
  const std::map<std::string, Extent> &extents;
  const attn::ResolvedEinsum resolved;
  const Value rowsOperand, columnsOperand;
  const Type element; // type of the multiplied numbers
  const int64_t inChunk, slice;
  const int64_t columnBlocks;
  std::vector<Axis> outer;
};
} // namespace

/// Emits the kernel of one product.
class GpuStages::TensorProduct {
public:
  TensorProduct(GpuStages &, const Product &);
  void emit();

private:
  /// Two builders at one place: the stages' builder knows tensors and subscripts, and `g` knows tiles.
  struct Builders {
    explicit Builders(GpuStages &);
    /// Runs `emit` with the stages' builder at the insertion point of `g`.
    template <typename Emit> auto withStages(Emit emit) {
      s.b.restoreInsertionPoint(g.saveInsertionPoint());
      auto result = emit();
      g.restoreInsertionPoint(s.b.saveInsertionPoint());
      return result;
    }
    Value position(const Storage &tensor, ArrayRef<Expr> subscripts, const Symbols &at) {
      return withStages([&] { return s.code.position(tensor, subscripts, at); });
    }
    GpuStages &s;
    GpuBuilder g;
  };
  /// The rows, the columns and the outer index of a block.
  struct Block {
    Block(Builders &, const Product &);
    Value firstRow, firstColumn;
    Value rowCount;                // i32
    Symbols symbols, origin, zero; // axes of the outer index; with all others at 0; all axes at 0
  };
  /// Copies the slices of the depth from global memory to shared tiles.
  class Slices {
  public:
    Slices(Builders &, const Product &, const Block &, Pipeline &);
    /// Starts to copy slice `number` of the depth.
    void load(Value number, const SliceTiles &to, Value copy);

  private:
    RowSource sourceOf(Value operand, int64_t depthStride, bool aligned);

    Builders &builders;
    GpuBuilder &g;
    const Product &product;
    const Block &block;
    Pipeline &pipeline;
    RowSource rows, columns;
    Value rowBase;
  };

  Tiles sumsOf(Slices &, const SliceTiles &);
  void store(const Block &, const Tiles &sums);
  void put(Value sum, const Symbols &atRow, Value column);

  GpuStages &s;
  const Product &product;
  Builders builders;
  GpuBuilder &g;
  BlockMemory shared;
  ThreadPlace at;
  ScoreLayout layout;
  AsyncCopies pipeline;
  std::unique_ptr<Engine> engine;
};

GpuStages::TensorProduct::Builders::Builders(GpuStages &s) : s(s), g(s.b.getLoc(), s.b.getContext()) {
  g.restoreInsertionPoint(s.b.saveInsertionPoint());
}

GpuStages::TensorProduct::TensorProduct(GpuStages &s, const Product &product)
    : s(s), product(product), builders(s), g(builders.g), shared(g, s.gpuModule, kChunkAlignment), at(threadPlace(g)),
      layout(g, at, 1, kColumns),
      pipeline(g, shared, at, product.element, {kBlockThreads}, kStages),
      engine(makeEngine(kEngine, {g, shared, at, product.element, product.matmul.depth})) {}

GpuStages::TensorProduct::Block::Block(Builders &builders, const Product &product) {
  GpuBuilder &g = builders.g;
  GpuStages &s = builders.s;
  const Matmul &matmul = product.matmul;
  Value item = s.code.phase.begin;
  firstColumn = g.toI32(g.mul(g.remainder(item, product.columnBlocks), kColumns));
  Value rest = g.divide(item, product.columnBlocks);
  if (Extent count = product.rowExtent(s.plan); count.name.empty()) {
    int64_t rowBlocks = (count.fixed + kRows - 1) / kRows;
    rowCount = g.i32(count.fixed);
    firstRow = g.toI32(g.mul(g.remainder(rest, rowBlocks), kRows));
    rest = g.divide(rest, rowBlocks);
  } else {
    Value rows = builders.withStages([&] { return s.code.extent(count); });
    Value rowBlocks = g.divide(g.add(rows, kRows - 1), kRows);
    rowCount = g.toI32(rows);
    firstRow = g.toI32(g.mul(g.createOrFold<arith::RemUIOp>(rest, rowBlocks), kRows));
    rest = g.createOrFold<arith::DivUIOp>(rest, rowBlocks);
  }
  builders.withStages([&] {
    s.code.addRuntimeSizes(product.extents, symbols);
    s.code.addRuntimeSymbols(symbols);
    for (size_t k = product.outer.size(); k-- > 0;) {
      Value size = s.code.extent(product.outer[k].extent);
      symbols[product.outer[k].name] = k == 0 ? rest : s.b.createOrFold<arith::RemUIOp>(rest, size);
      if (k > 0)
        rest = s.b.createOrFold<arith::DivUIOp>(rest, size);
    }
    return true;
  });
  origin = symbols;
  for (const auto *axes : {&matmul.rowAxes, &matmul.columnAxes, &matmul.depthAxes})
    for (const std::string &axis : *axes)
      origin[axis] = g.index(0);
  zero = origin;
  for (const Axis &axis : product.outer)
    zero[axis.name] = origin[matmul.depthAxes.front()];
}

RowSource GpuStages::TensorProduct::Slices::sourceOf(Value operand, int64_t depthStride, bool aligned) {
  const Storage &stored = builders.s.tensors.storage[operand];
  RowSource source;
  source.pointer = pointerTo(g, stored.memory);
  source.element = stored.element;
  source.depthStride = depthStride;
  source.depth = product.slice;
  source.aligned =
      aligned && depthStride == 1 && stored.element == product.element && product.matmul.depth % product.inChunk == 0;
  return source;
}

GpuStages::TensorProduct::Slices::Slices(Builders &builders, const Product &product, const Block &block,
                                         Pipeline &pipeline)
    : builders(builders), g(builders.g), product(product), block(block), pipeline(pipeline) {
  const Matmul &matmul = product.matmul;
  const Storage &stored = builders.s.tensors.storage[product.rowsOperand];
  rows = sourceOf(product.rowsOperand, *matmul.rowDepthStride,
                  rowsAreAligned(stored, product.rowSubscripts(), matmul.depthAxes, product.inChunk));
  rows.rowStride = 1; // rows are given by their offsets
  rowBase = g.toI64(builders.position(stored, product.rowSubscripts(), block.origin));
  columns = sourceOf(product.columnsOperand, matmul.columnDepthStride,
                     matmul.columnStride % product.inChunk == 0 && matmul.columnBase % product.inChunk == 0);
  columns.rowStride = matmul.columnStride;
}

void GpuStages::TensorProduct::Slices::load(Value number, const SliceTiles &to, Value copy) {
  const Matmul &matmul = product.matmul;
  const Storage &stored = builders.s.tensors.storage[product.rowsOperand];
  Value depth = g.mul(g.toI64(number), product.slice);
  rows.base = g.add(rowBase, g.mul(depth, rows.depthStride));
  columns.base = g.add(g.mul(depth, columns.depthStride), matmul.columnBase);
  pipeline.fill(
      to.rows, rows,
      [&](Value row) -> std::pair<Value, Value> {
        Value flat = g.add(block.firstRow, row), last = g.add(block.rowCount, -1);
        Symbols at = product.decomposed(g, g.minimum(flat, last), matmul.rowAxes, block.zero);
        Value offset = builders.position(stored, product.rowSubscripts(), at);
        Value start = builders.position(stored, product.rowSubscripts(), block.zero);
        return {g.toI32(g.sub(offset, start)), g.lessEqual(flat, last)};
      },
      copy);
  pipeline.fill(
      to.columns, columns,
      [&](Value column) -> std::pair<Value, Value> {
        Value flat = g.add(block.firstColumn, column), last = g.i32(matmul.columns - 1);
        return {g.minimum(flat, last), g.lessEqual(flat, last)};
      },
      copy);
  pipeline.commit();
}

/// Returns the sums over the whole depth.
Tiles GpuStages::TensorProduct::sumsOf(Slices &slices, const SliceTiles &tiles) {
  int64_t whole = product.matmul.depth / product.slice, rest = product.matmul.depth % product.slice;
  auto multiply = [&](const SliceTiles &in, Value copy, const Tiles &before) {
    return engine->issueProducts(before, {{in.rows, copy, layout.warpRow()}, 1, {}}, {in.columns, copy, {}});
  };
  Tiles sums = layout.zeros();
  slices.load(g.i32(0), tiles, g.i32(0));
  sums = gathered(g.loop(g.i32(0), g.i32(whole), 1, flattened(sums), [&](Value number, ValueRange before) {
    // The copies of this slice are done, for all threads, and no thread reads the other copy any more.
    pipeline.full();
    Value next = g.add(number, 1);
    g.when(g.less(next, g.i32(whole)), [&] { slices.load(next, tiles, g.bitAnd(next, 1)); });
    return flattened(multiply(tiles, g.bitAnd(number, 1), gathered(before)));
  }));
  if (!rest)
    return sums;
  SliceTiles last = tiles;
  for (SharedTile *tile : {&last.rows, &last.columns}) {
    tile->depth = rest;
    tile->width = int64_t(llvm::alignTo(rest, 32 / tile->elementBytes));
  }
  pipeline.empty();
  slices.load(g.i32(whole), last, {});
  pipeline.full();
  return multiply(last, {}, sums);
}

/// Stores one element of the result, after the operations that follow the product.
void GpuStages::TensorProduct::put(Value sum, const Symbols &atRow, Value column) {
  const Stage &stage = product.stage;
  const Storage &result = s.tensors.storage[stage.result];
  std::vector<Expr> subscripts;
  for (const subscript::Dimension &dimension : *product.resolved.spec.result)
    subscripts.push_back(subscript::flatIndex(dimension, product.resolved.sizes));
  Symbols at = product.decomposed(g, column, product.matmul.columnAxes, atRow);
  builders.withStages([&] {
    Value value = stage.finishes ? s.elements.finished(stage, subscripts, at, "", sum) : sum;
    if (value)
      s.code.store(value, result, s.code.position(result, subscripts, at));
    return true;
  });
}

void GpuStages::TensorProduct::store(const Block &block, const Tiles &sums) {
  s.elements.domain.clear();
  for (const auto &[axis, size] : product.extents)
    if (size.name.empty())
      s.elements.domain[axis] = {0, size.fixed - 1};
  std::array<Value, 2> row;
  std::array<Symbols, 2> atRow;
  for (size_t side : {0u, 1u}) {
    row[side] = layout.rowFrom(layout.firstRow(g.add(block.firstRow, layout.warpRow())), side);
    atRow[side] = product.decomposed(g, row[side], product.matmul.rowAxes, block.symbols);
  }
  Extent count = product.rowExtent(s.plan);
  bool hasWholeBlocks = count.name.empty() && count.fixed % kRows == 0;
  int64_t columns = product.matmul.columns, columnBlocks = product.columnBlocks;
  int64_t columnTiles = columnBlocks == 1 ? (columns + 7) / 8 : kColumns / 8;
  // Each condition is computed where it is needed: to hold the conditions of all elements would take more registers
  // than there are.
  auto whenLess = [&](Value place, Value end, bool asks, llvm::function_ref<void()> body) {
    if (asks)
      g.when(g.less(place, end), body);
    else
      body();
  };
  for (int64_t n = 0; n < columnTiles; ++n) {
    Value firstOfTile = g.add(block.firstColumn, 8 * n);
    whenLess(firstOfTile, g.i32(columns), columnBlocks > 1 && columns % kColumns, [&] {
      for (size_t side : {0u, 1u})
        whenLess(row[side], block.rowCount, !hasWholeBlocks, [&] {
          for (size_t k : {0u, 1u}) {
            Value column = layout.columnFrom(firstOfTile, int64_t(k));
            whenLess(column, g.i32(columns), columns % 8,
                     [&] { put(sums[size_t(n)][2 * side + k], atRow[side], column); });
          }
        });
    });
  }
}

void GpuStages::TensorProduct::emit() {
  Extent count = product.rowExtent(s.plan);
  Extent rowBlocks{"", (count.fixed + kRows - 1) / kRows};
  if (!count.name.empty())
    rowBlocks = {blocksOf(count.name, kRows), 1};
  SizeExpression &items = s.plan.phases.back().items;
  items = itemsOf(product.outer, rowBlocks.fixed * product.columnBlocks);
  if (!rowBlocks.name.empty()) {
    items.scaled += std::exchange(items.fixed, 0);
    items.factors.push_back(rowBlocks.name);
  }
  Block block(builders, product);
  SharedPlaces places(product.element.isF32() ? 4 : 2);
  SliceTiles tiles{places.place(kRows, product.slice, kStages), places.place(kColumns, product.slice, kStages)};
  Slices slices(builders, product, block, pipeline);
  store(block, sumsOf(slices, tiles));
  s.takePhases(ItemOf::Block, {}, kBlockThreads, places.end);
}

bool GpuStages::emitTensorProduct(const Stage &stage, attn::EinsumOp op) {
  auto extents = tensors.extentsOf(op, resolve(op));
  if (!extents)
    return fail(op, "a run-time size is no operand's dimension");
  beginPhase(stage, "matmul");
  TensorProduct(*this, Product(stage, op, *matmulOf(op), *extents)).emit();
  return true;
}
