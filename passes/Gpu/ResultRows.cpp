// Writes the result of a thread's rows, and their log-sum-exp or their sum of direct weights.
#include "passes/Gpu/ResultRows.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Emit/PhaseFunction.h"
#include "passes/Gpu/KeyParts.h"
#include "passes/Gpu/Memory.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

class Writer {
public:
  Writer(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place)
      : b(b), shape(shape), operands(operands), place(place), record(shape) {
    if (place.keyPart) {
      element = b.getF32Type();
      target = *shape.parts;
      base = b.mul(b.add(b.mul(place.leadingIndex(), record.parts), b.toI64(place.keyPart)), record.numbers());
      rowStride = record.width;
    } else {
      element = typeOf(shape.plan.outputs[shape.resultOutput].type, b.getContext());
      target = shape.resultOutput;
      base = place.baseOf(shape.attention.result.base);
      rowStride = shape.attention.result.query;
      storesPairs = !element.isF32() && !place.firstOwn && rowStride % 2 == 0 &&
                    isMultiple(shape.attention.result.base, 2);
    }
    zero = b.f32(0);
  }

  void writeRow(const RowState &state, size_t row, const Powers &powers) {
    Value sum = place.scores.acrossRow(state.sum[row], [&](Value x, Value y) { return b.addf(x, y); });
    bool direct = shape.attention.direct || place.keyPart;
    // A row without visible keys is 0, whatever the values are.
    Value none = direct ? Value() : b.equalf(sum, zero);
    Value inverse = direct ? Value() : LLVM::FDivOp::create(b, b.f32(1), sum);
    auto resultOf = [&](Value x) { return direct ? x : b.select(none, zero, b.mulf(x, inverse)); };
    Value query = place.query(row);
    b.when(b.less(query, place.queries()), [&] {
      if (place.keyPart)
        leaveOfRow(row, state.maximum[row], sum);
      else if (shape.rowOutput)
        writeOfRow(row, direct ? sum : powers.logOfSum(state.maximum[row], sum));
      Value rowBase = b.add(b.mul(b.toI64(query), rowStride), base);
      if (place.firstColumn)
        rowBase = b.add(rowBase, b.toI64(place.firstColumn));
      size_t columnTiles = state.output.tiles.size() / size_t(place.scores.rowTiles());
      for (const HeldNumber &held : place.scores.across(int64_t(8 * columnTiles)).numbersOfRow(row)) {
        const Accumulator &tile = state.output.tiles[held.tile];
        if (!isPaired(held.column))
          writeColumn(held.column, rowBase, [&] { return resultOf(tile[held.part]); });
        else if (held.part % 2 == 0)
          writePair(held.column, rowBase, resultOf(tile[held.part]), resultOf(tile[held.part + 1]));
      }
    });
  }

private:
  /// Returns whether a column and its right neighbour, which the same thread holds, are stored as one number of 32 bits.
  bool isPaired(int64_t number) const {
    return storesPairs && number / 8 * 8 + 8 <= place.columns;
  }
  void writePair(int64_t number, Value rowBase, Value left, Value right) {
    Value at = b.add(rowBase, b.toI64(place.scores.column(number)));
    store(b, pack(b, left, right, element), globalAt(b, operands.output(target), at, element));
  }

  void writeColumn(int64_t number, Value rowBase, llvm::function_ref<Value()> result) {
    if (number >= place.columns)
      return;
    Value column = place.scores.column(number), here;
    if (number / 8 * 8 + 8 > place.columns)
      here = b.less(column, b.i32(place.columns));
    if (place.firstOwn)
      here = here ? b.both(here, b.lessEqual(place.firstOwn, column)) : b.lessEqual(place.firstOwn, column);
    auto store = [&] {
      Value rounded = result(), at = b.add(rowBase, b.toI64(column));
      storeAt(b, narrow(b, rounded, element), operands.output(target), at);
    };
    if (here)
      b.when(here, store);
    else
      store();
  }

  /// Returns whether this thread writes the numbers of a row: several lanes have the row, and maybe several blocks.
  Value writesOfRow() {
    Value writes = place.scores.isFirstOfRow();
    if (place.firstColumn)
      writes = b.both(writes, b.equal(place.firstColumn, b.i32(0)));
    return writes;
  }

  void writeOfRow(size_t row, Value number) {
    Value at = b.add(b.mul(place.leadingIndex(), b.toI64(place.queries())), b.toI64(place.query(row)));
    b.when(writesOfRow(), [&] { storeAt(b, number, operands.output(*shape.rowOutput), at); });
  }

  void leaveOfRow(size_t row, Value maximum, Value sum) {
    Value at = b.add(base, b.toI64(place.query(row)));
    b.when(writesOfRow(), [&] {
      auto store = [&](Value number, int64_t where) {
        storeAt(b, number, operands.output(target), b.add(at, where));
      };
      store(maximum, record.maxima());
      store(sum, record.sums());
    });
  }

  GpuBuilder &b;
  const GpuAttention &shape;
  Operands &operands;
  const BlockPlace &place;
  PartRecord record;
  unsigned target;   // the output that rows are written to: the result, or records of parts
  Type element;      // its element type
  int64_t rowStride; // from query to query
  bool storesPairs = false;
  Value base, zero;  // where the rows of the leading index begin, i64; f32
};

} // namespace

void skewer::gpu::writeRows(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place,
                            const Powers &powers, const RowState &state) {
  Writer writer(b, shape, operands, place);
  for (size_t row = 0; row < place.scores.rows(); ++row)
    writer.writeRow(state, row, powers);
}
