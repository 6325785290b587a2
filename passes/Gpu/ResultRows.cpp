// Result and log-sum-exp, or sum of direct weights, of a thread's rows.
#include "passes/Gpu/ResultRows.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Emit/PhaseFunction.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

class Writer {
public:
  Writer(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place)
      : b(b), shape(shape), operands(operands), place(place) {
    element = typeOf(shape.plan.outputs[shape.resultOutput].type, b.getContext());
    base = place.baseOf(shape.attention.result.base);
    zero = b.f32(0);
  }

  void writeRow(const RowState &state, size_t row, std::optional<double> lateScale) {
    Value sum = place.scores.acrossRow(state.sum[row], [&](Value x, Value y) { return b.addf(x, y); });
    bool direct = shape.attention.direct;
    // A row without visible keys is 0, whatever the values held.
    Value none = direct ? Value() : b.equalf(sum, zero);
    Value inverse = direct ? Value() : LLVM::FDivOp::create(b, b.f32(1), sum);
    auto resultOf = [&](Value x) { return direct ? x : b.select(none, zero, b.mulf(x, inverse)); };
    Value query = place.query(row);
    b.when(b.less(query, place.queries()), [&] {
      if (shape.rowOutput)
        writeOfRow(row, direct ? sum : logSum(state.maximum[row], sum, lateScale));
      Value rowBase = b.add(b.mul(b.toI64(query), shape.attention.result.query), base);
      if (place.firstColumn)
        rowBase = b.add(rowBase, b.toI64(place.firstColumn));
      size_t columnTiles = state.output.tiles.size() / size_t(place.scores.rowTiles());
      for (const HeldNumber &held : place.scores.across(int64_t(8 * columnTiles)).numbersOfRow(row))
        writeColumn(held.column, rowBase, [&] { return resultOf(state.output.tiles[held.tile][held.part]); });
    });
  }

private:
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
      b.store(b.narrow(rounded, element), b.globalAt(operands.output(shape.resultOutput), at, element));
    };
    if (here)
      b.when(here, store);
    else
      store();
  }

  Value logSum(Value maximum, Value sum, std::optional<double> lateScale) {
    // ln Σ exp(score) = ln 2 × (maximum in base 2 + log2 of the sum); of a row without keys log2(0) and so -infinity.
    constexpr double kLn2 = 0.6931471805599453;
    if (lateScale)
      maximum = b.mulf(maximum, b.f32(*lateScale));
    return b.mulf(b.addf(maximum, b.log2(sum)), b.f32(kLn2));
  }

  void writeOfRow(size_t row, Value number) {
    Value flat = b.i64(0);
    const std::vector<std::string> &names = shape.attention.space.leading;
    for (auto [name, extent] : llvm::zip_equal(names, shape.leading))
      flat = b.add(b.mul(flat, operands.sizeOf(extent)), b.toI64(place.leading.at(name)));
    Value at = b.add(b.mul(flat, b.toI64(place.queries())), b.toI64(place.query(row)));
    // Several lanes have the row, and maybe several blocks; one of them writes.
    Value writes = place.scores.isFirstOfRow();
    if (place.firstColumn)
      writes = b.both(writes, b.compare(arith::CmpIPredicate::eq, place.firstColumn, b.i32(0)));
    b.when(writes, [&] { b.store(number, b.globalAt(operands.output(*shape.rowOutput), at, b.getF32Type())); });
  }

  GpuBuilder &b;
  const GpuAttention &shape;
  Operands &operands;
  const BlockPlace &place;
  Type element;
  Value base, zero;
};

} // namespace

void skewer::gpu::writeRows(GpuBuilder &b, const GpuAttention &shape, Operands &operands, const BlockPlace &place,
                            std::optional<double> lateScale, const RowState &state) {
  Writer writer(b, shape, operands, place);
  for (size_t row = 0; row < place.scores.rows(); ++row)
    writer.writeRow(state, row, lateScale);
}
