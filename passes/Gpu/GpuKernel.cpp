// One kernel: where a thread stands, the loop over the tiles of keys, and index expressions on the way.
#include "passes/Gpu/GpuKernel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuLaunch.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;
using subscript::Kind;

//===- Index expressions ---------------------------------------------------------===//

/// Constant tables are read like run-time operands, from a constant of the GPU module.
Expr GpuKernel::withoutTables(const Expr &expression) {
  std::vector<Expr> operands;
  for (const Expr &operand : expression.operands())
    operands.push_back(withoutTables(operand));
  if (expression.kind() != Kind::Table)
    return operands.empty() ? expression : expression.withOperands(std::move(operands));
  const std::vector<int64_t> &entries = expression.table();
  for (const auto &[name, known] : tables)
    if (*known == entries)
      return Expr::read(name, std::move(operands));
  // A name that no operand can have.
  std::string name = "index table " + std::to_string(tables.size());
  int64_t number = 0; // other kernels have tables too
  while (module.lookupSymbol("index_table_" + std::to_string(number)))
    ++number;
  tableSymbols[name] = "index_table_" + std::to_string(number);
  tables[name] = std::make_shared<const std::vector<int64_t>>(entries);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function);
  std::vector<int64_t> rows = entries.empty() ? std::vector<int64_t>{0} : entries;
  auto values =
      DenseElementsAttr::get(RankedTensorType::get({int64_t(rows.size())}, b.getI64Type()), ArrayRef<int64_t>(rows));
  auto type = LLVM::LLVMArrayType::get(b.getI64Type(), rows.size());
  LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, tableSymbols[name], values,
                         /*alignment=*/8, kGlobalSpace);
  return Expr::read(name, std::move(operands));
}

IndexEmitter::Read GpuKernel::reads() {
  return [this](const std::string &name, ValueRange subscripts) -> Value {
    auto inside = [&](Value subscript, Value extent) { // what no select takes is read too, but inside
      return b.minimum(b.maximum(subscript, b.index(0)), b.add(extent, -1));
    };
    auto pointerType = LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace);
    if (auto table = tables.find(name); table != tables.end()) {
      Value memory = LLVM::AddressOfOp::create(b, pointerType, tableSymbols.at(name));
      Value row = inside(subscripts[0], b.index(std::max<int64_t>(1, int64_t(table->second->size()))));
      return b.toIndex(b.load(b.globalAt(memory, b.toI64(row), b.getI64Type()), b.getI64Type()));
    }
    for (auto [number, input] : llvm::enumerate(shape.plan.inputs)) {
      if (input.name != name || input.shape.size() != subscripts.size())
        continue;
      if (input.origin)
        return b.toIndex(origins.at(name));
      Value flat = b.index(0);
      for (auto [subscript, extent] : llvm::zip_equal(subscripts, input.shape)) {
        Value size = extent.name.empty() ? b.index(extent.fixed) : b.toIndex(sizes[extent.name]);
        flat = b.add(b.mul(flat, size), inside(subscript, size));
      }
      Value element = b.toIndex(b.load(b.globalAt(inputs[number], b.toI64(flat), b.getI32Type()), b.getI32Type()));
      // The caller promises the range, but nobody looks: whatever stands there must not lead outside a table.
      if (input.range)
        element = b.minimum(b.maximum(element, b.index(input.range->low)), b.index(input.range->high));
      return element;
    }
    return {};
  };
}

Value GpuKernel::emitIndex(const Expr &expression, const std::map<std::string, Value> &at) {
  IndexEmitter emitter(b, b.getLoc(), at, reads());
  Value value = emitter.emit(withoutTables(expression));
  if (value)
    return value;
  failure = emitter.failure();
  return b.index(0);
}
Value GpuKernel::emitPredicate(const Expr &expression, const std::map<std::string, Value> &at) {
  IndexEmitter emitter(b, b.getLoc(), at, reads());
  Value value = emitter.emitPredicate(withoutTables(expression));
  if (value)
    return value;
  failure = emitter.failure();
  return arith::ConstantIntOp::create(b, 0, 1);
}
Value GpuKernel::baseOf(const Expr &expression) { return b.toI64(emitIndex(expression, leading)); }

//===- The kernel ------------------------------------------------------------------===//

void GpuKernel::readPlace() {
  readThread();
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  int64_t rowBlocks = (shape.attention.queries + tile.rows - 1) / tile.rows;
  Value rest = b.divide(block, rowBlocks);
  blockRow = b.mul(b.remainder(block, rowBlocks), tile.rows);
  threadRow = b.add(b.add(blockRow, b.shiftLeft(warp, 4)), group);
  if (int64_t width = shape.attention.width, parts = tile.partsOf(width); parts > 1) {
    // The last part begins early enough to have as many columns as the others; the first of them are another's.
    Value part = b.mul(b.remainder(rest, parts), columns);
    firstColumn = b.minimum(part, b.i32(width - columns));
    if (width % columns)
      firstOwn = b.sub(part, firstColumn);
    rest = b.divide(rest, parts);
  }
  rest = b.toIndex(rest);
  const auto &names = shape.attention.space.leading;
  for (size_t place = names.size(); place-- > 0;) {
    const Extent &extent = shape.leading[place];
    if (place == 0) {
      leading[names[place]] = rest;
    } else if (extent.name.empty()) {
      leading[names[place]] = b.remainder(rest, extent.fixed);
      rest = b.divide(rest, extent.fixed);
    } else {
      Value size = b.toIndex(sizes[extent.name]);
      leading[names[place]] = arith::RemUIOp::create(b, rest, size);
      rest = arith::DivUIOp::create(b, rest, size);
    }
  }
}

void GpuKernel::findVisible() {
  const AttentionShape &attention = shape.attention;
  if (!attention.visible)
    return;
  const auto [low, high] = *attention.visible;
  if (attention.visibleShift.isConstant(0)) {
    if (low > -attention.queries)
      lowVisible = b.i32(std::min<int64_t>(low, attention.keys));
    if (high < attention.keys)
      highVisible = b.i32(std::max<int64_t>(high, -attention.queries - 1));
    return;
  }
  Value shift = baseOf(attention.visibleShift);
  auto bound = [&](int64_t end) -> Value {
    Value value = b.sub(b.i64(end), shift);
    value = b.minimum(b.maximum(value, b.i64(-attention.queries - 1)), b.i64(attention.keys));
    return arith::TruncIOp::create(b, b.getI32Type(), value);
  };
  if (low != std::numeric_limits<int64_t>::min())
    lowVisible = bound(low);
  if (high != std::numeric_limits<int64_t>::max())
    highVisible = bound(high);
}

std::pair<Value, Value> GpuKernel::liveTiles() {
  const AttentionShape &attention = shape.attention;
  int64_t tiles = (attention.keys + tile.keys - 1) / tile.keys;
  Value low = b.i32(0), high = b.i32(tiles);
  // The keys that some query of the block sees.
  if (lowVisible)
    low = b.divide(b.maximum(b.add(blockRow, lowVisible), b.i32(0)), tile.keys);
  if (highVisible) {
    Value lastRow = b.minimum(b.add(blockRow, tile.rows - 1), b.i32(attention.queries - 1));
    Value end = b.add(b.add(lastRow, highVisible), 1);
    end = b.divide(b.add(b.maximum(end, b.i32(0)), tile.keys - 1), tile.keys);
    high = b.minimum(high, end);
  }
  return {low, high};
}

static SmallVector<Value> numbersOf(const RowState &state) {
  SmallVector<Value> flat{state.maximum[0], state.maximum[1], state.sum[0], state.sum[1]};
  flat.append(flattened(state.output));
  return flat;
}
static RowState stateOf(ValueRange flat) {
  return {{flat[0], flat[1]}, {flat[2], flat[3]}, gathered(flat.drop_front(4)), {}};
}

RowState GpuKernel::step(Value tileIndex, const RowState &before) {
  // This tile's copies are done, for all threads, and nobody reads the one before it any more, whose place is filled.
  b.waitForCopies(tile.pending());
  b.barrier();
  Value copy = copyOf(tileIndex), next = b.add(tileIndex, tile.stages - 1);
  loadKeys(next, copyOf(next));
  if (tile.isSingleBuffered() && !lines.empty())
    b.barrier();
  Value firstKey = b.mul(tileIndex, tile.keys);
  Value crossed = crossedByMask(firstKey);
  SmallVector<Value> bits = seenBits(firstKey);
  auto computed = [&] {
    std::vector<Accumulator> weights = scores(copy, firstKey, crossed, bits);
    // Where a mask may hide keys, a number of all of a tile must not meet hidden scores: it might be none.
    std::array<Value, 2> ofTile;
    if (!crossed)
      ofTile = logitsOfTile(firstKey);
    RowState state = softmax(weights, ofTile, before);
    accumulate(weights, copy, firstKey, crossed, state);
    return state;
  };
  // Warps that see no key of the tile leave it out: other documents, keys behind a length. Where all warps of the block
  // meet at a barrier on the way, none does.
  if (bits.empty() || tile.isSingleBuffered() || !keyBands.empty())
    return computed();
  Value some = bits.front();
  for (Value word : ArrayRef<Value>(bits).drop_front())
    some = arith::OrIOp::create(b, some, word);
  SmallVector<Value> flat = numbersOf(before);
  return stateOf(b.choose(
      b.anyLane(b.notEqual(some, b.i32(0))), TypeRange(ValueRange(flat)), [&] { return numbersOf(computed()); },
      [&] { return flat; }));
}

bool GpuKernel::emit(mlir::gpu::GPUModuleOp gpuModule) {
  OpBuilder::InsertionGuard guard(b);
  module = gpuModule;
  b.setInsertionPointToEnd(module.getBody());
  auto sharedPointer = LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace);
  function = createKernel(b, b.getLoc(), module, shape.signature, shape.kernel, tile.threads());
  // Numbers below 2^-126 count as 0, weights among them: ex2.approx.ftz, which needs two instructions less too.
  function.setDenormalFpMathF32("preserve-sign");
  Block *entry = &function.getBody().front();
  b.setInsertionPointToStart(entry);
  b.shared = LLVM::AddressOfOp::create(b, sharedPointer, sharedMemory(module));
  KernelArguments arguments = argumentsOf(function, shape.signature);
  inputs = arguments.inputs;
  outputs = arguments.outputs;
  sizes = arguments.sizes;
  origins = arguments.origins;
  auto pointerTo = [&](const GpuPlace &where) {
    if (where.output)
      return arguments.outputs[*where.output];
    Value bytes = b.i64(where.place.offset);
    for (const std::string &factor : shape.workspace.factors)
      bytes = where.place.scaled ? b.mul(bytes, sizes.at(factor)) : bytes;
    return b.globalAt(arguments.workspace, b.add(bytes, where.place.scaled ? shape.workspace.fixed : 0), b.getI8Type());
  };
  for (const GpuPlace &where : shape.furtherInputs)
    inputs.push_back(pointerTo(where));
  for (const GpuPlace &where : shape.furtherOutputs)
    outputs.push_back(pointerTo(where));

  readPlace();
  findVisible();
  plan();
  const AttentionShape &attention = shape.attention;
  if (!shape.elements.empty() || !shape.gatedLines.empty() || !shape.lookups.empty() || !shape.valueElements.empty() ||
      !attention.masks.empty())
    for (unsigned row : {0u, 1u}) {
      Value query = b.minimum(b.add(threadRow, 8 * int64_t(row)), b.i32(attention.queries - 1));
      queryAxes[row] = axesOf(query, attention.space.query, attention.queryAxes);
    }

  prepareGates();
  for (const QueryPlan &part : queries)
    loadRows(part.tile, part.source, blockRow, attention.queries);
  auto [low, high] = liveTiles();
  if (!lookups.empty()) {
    b.commitCopies();
    for (const LookupPlan &part : lookups) // each begins with a wait and a barrier of its own
      prepareLookup(part);
    b.barrier(); // where their rows stood tiles of keys come now
  }
  for (int64_t ahead = 0; ahead + 1 < tile.stages; ++ahead)
    loadKeys(b.add(low, ahead), copyOf(b.add(low, ahead)));
  if (!queries.empty() && lookups.empty()) {
    if (tile.isSingleBuffered())
      b.commitCopies();
    b.waitForCopies(tile.pending());
    b.barrier();
  }
  if (tile.keepQueries)
    for (QueryPlan &part : queries) {
      std::vector<RowFragment> fragments;
      for (int64_t step = 0; step < part.tile.steps(); ++step)
        fragments.push_back(rowFragment(warpRowsOf(part), b.i32(2 * step)));
      part.fragments = std::move(fragments);
    }

  RowState state;
  Value zero = b.f32(0), least = b.f32(-std::numeric_limits<double>::infinity());
  state.maximum = {least, least};
  state.sum = {zero, zero};
  state.output.assign(size_t(values.width / 8), {zero, zero, zero, zero});
  SmallVector<Value> last = b.loop(low, high, 1, numbersOf(state), [&](Value tileIndex, ValueRange before) {
    return numbersOf(step(tileIndex, stateOf(before)));
  });
  b.waitForCopies(0); // of the tiles behind the last one
  write(stateOf(last));
  LLVM::ReturnOp::create(b, ValueRange());
  return failure.empty();
}
