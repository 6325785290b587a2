// Tiles in shared memory: where they stand, and how rows of an operand get there.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/LoweringGpu/GpuKernel.h"
#include "llvm/Support/MathExtras.h"

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
  Type type = inputs[argument].getType(); // pointers are opaque; the element's type is in the plan
  (void)type;
  const TensorArgument &input = shape.plan.inputs[shape.inputs[argument]];
  bool same = (input.type == ElementType::F16 && shape.element.isF16()) ||
              (input.type == ElementType::BF16 && shape.element.isBF16());
  int64_t rowStride = ofQuery ? walk.query : walk.key;
  return same && depth % 8 == 0 && (walk.depth == 1 || depth == 1) && rowStride % 8 == 0 && isMultiple(walk.base, 8);
}

SharedTile GpuKernel::place(int64_t rows, int64_t depth, int64_t copies) {
  SharedTile result;
  result.offset = plannedBytes;
  result.rows = rows;
  result.depth = depth;
  result.width = int64_t(llvm::alignTo(depth, 16));
  result.copies = copies;
  plannedBytes += copies * result.bytes();
  return result;
}

void GpuKernel::plan() {
  for (const ContentTerm &term : shape.attention.content) {
    ContentPlan part;
    part.queries = place(tile.rows, term.depth, 1);
    part.keys = place(tile.keys, term.depth, 2);
    part.scale = term.scale;
    content.push_back(std::move(part));
  }
  values = place(tile.keys, shape.attention.width, 2);
  // Fragments of more than 128 elements a row would take half of a thread's registers.
  queriesInRegisters = content.size() == 1 && content.front().queries.width <= 128;
}

Value GpuKernel::offsetIn(const SharedTile &where, Value copy, Value row, Value chunk) {
  Value offset = b.add(b.mul(row, where.rowBytes()), b.shiftLeft(chunk, 4));
  if (copy)
    offset = b.add(offset, b.mul(copy, where.bytes()));
  return b.add(offset, where.offset);
}

RowSource GpuKernel::sourceOf(const Walk &walk, bool ofQuery, int64_t depth) {
  RowSource source;
  unsigned input = shape.inputs[walk.argument];
  source.pointer = inputs[input];
  source.base = baseOf(walk.base);
  ElementType type = shape.plan.inputs[input].type;
  source.element = type == ElementType::F16    ? Type(b.getF16Type())
                   : type == ElementType::BF16 ? Type(b.getBF16Type())
                                               : Type(b.getF32Type());
  source.rowStride = ofQuery ? walk.query : walk.key;
  source.depthStride = walk.depth;
  source.depth = depth;
  source.aligned = isAligned(walk, ofQuery, depth, walk.argument);
  return source;
}

void GpuKernel::loadTile(const SharedTile &to, const RowSource &from, Value first, int64_t end, Value copy) {
  int64_t threads = tile.threads();
  auto rowOf = [&](Value row) -> std::pair<Value, Value> { // the source's, and whether it is there
    Value source = b.add(first, row);
    Value there = b.less(source, b.i32(end));
    return {b.add(b.mul(b.toI64(b.minimum(source, b.i32(end - 1))), from.rowStride), from.base), there};
  };
  if (from.aligned) {
    // A thread copies 16 bytes at a time; neighbours copy neighbours.
    int64_t chunks = to.width / 8, total = to.rows * chunks;
    for (int64_t begin = 0; begin < total; begin += threads) {
      auto copyOne = [&] {
        Value number = b.add(thread, begin);
        Value row = b.divide(number, chunks), chunk = b.remainder(number, chunks);
        auto [offset, there] = rowOf(row);
        Value inside = there, column = b.shiftLeft(chunk, 3);
        if (to.depth < to.width) {
          inside = b.both(inside, b.less(column, b.i32(to.depth)));
          column = b.minimum(column, b.i32(to.depth - 8));
        }
        Value place = b.add(offset, b.toI64(column));
        b.copyAsync(b.sharedAt(offsetIn(to, copy, row, chunk)), b.globalAt(from.pointer, place, from.element), inside);
      };
      if (begin + threads <= total)
        copyOne();
      else
        b.when(b.less(thread, b.i32(total - begin)), copyOne);
    }
    return;
  }
  // Element by element: rows of any length and stride, widened or narrowed on the way. A thread makes two neighbours.
  int64_t pairs = to.width / 2, total = to.rows * pairs;
  b.loop(thread, b.i32(total), threads, {}, [&](Value number, ValueRange) {
    Value row = b.divide(number, pairs), column = b.shiftLeft(b.remainder(number, pairs), 1);
    auto [offset, there] = rowOf(row);
    std::array<Value, 2> numbers;
    for (int64_t k : {0, 1}) {
      Value at = b.add(column, k);
      Value inside = b.both(there, b.less(at, b.i32(to.depth)));
      Value place = b.add(offset, b.mul(b.toI64(b.minimum(at, b.i32(to.depth - 1))), from.depthStride));
      Value element = b.widen(b.load(b.globalAt(from.pointer, place, from.element), from.element));
      numbers[size_t(k)] = b.select(inside, element, b.f32(0));
    }
    Value offsetInTile = b.add(offsetIn(to, copy, row, b.i32(0)), b.shiftLeft(column, 1));
    b.store(b.pack(numbers[0], numbers[1], shape.element), b.sharedAt(offsetInTile));
    return SmallVector<Value>();
  });
}

void GpuKernel::loadKeys(Value tileIndex, Value copy) {
  Value first = b.mul(tileIndex, tile.keys);
  for (const ContentPlan &part : content)
    loadTile(part.keys, part.keySource, first, shape.attention.keys, copy);
  loadTile(values, valueSource, first, shape.attention.keys, copy);
  b.commitCopies();
}
