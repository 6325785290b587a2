// A row of the table for each key - query, key side. The products of rows and keys have the keys in their lanes, so
// that `lanes` queries × `lanes` keys stand on diagonals of 2*lanes - 1 rows. Nothing is transposed: log2(lanes) stages
// of selects, each by one bit of the lane, bring every lane to its own row. A row is addressed through the function of
// the offset, so that clamped and logarithmic rows cost nothing more.
#include "passes/Cpu/CpuKernel.h"

using namespace mlir;
using namespace skewer;

void CpuKernel::keyDiagonals(unsigned number, Value firstRow, Value rows, Value lowKey, Value vector, int64_t vectors) {
  const RowTerm &term = shape.rows[number];
  const RowPlan &plan = rowPlans[number];
  // The packed row of each offset that a block of rows and a tile of keys may ask for, beside what exists too.
  int64_t lowest = 1 - shape.queries - rowBlock - 3 * lanes, highest = (keyVectors + tileVectors) * lanes + lanes;
  std::vector<int32_t> rowOf;
  for (int64_t offset = lowest; offset <= highest; ++offset)
    rowOf.push_back(plan.byOffset ? std::clamp(offset, term.offsets.low, term.offsets.high()) - term.offsets.low
                                  : term.offsets.at(offset));
  Value table = b.integerTable(rowOf);
  auto rowAt = [&](Value offset) { return b.tableElement(table, b.add(offset, -lowest)); };

  Value key = b.mul(vector, lanes);
  // Groups of `lanes` queries may go beyond the last one.
  Value lastRow = b.add(b.add(firstRow, b.mul(b.divide(b.add(rows, lanes - 1), lanes), lanes)), -1);
  Value atLow = rowAt(b.sub(key, lastRow)), atHigh = rowAt(b.add(b.sub(key, firstRow), vectors * lanes - 1));
  Value first = b.minimum(atLow, atHigh), end = b.add(b.maximum(atLow, atHigh), 1);
  keyProducts(number, first, end, vector, vectors);

  auto bit = VectorType::get({lanes}, b.builder.getI1Type());
  Value origin = b.mul(first, plan.productStride);
  b.loop(b.index(0), rows, lanes, [&](Value row) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value offset = b.add(b.sub(key, b.add(firstRow, row)), v * lanes - lanes + 1);
      SmallVector<Value> diagonal;
      for (int64_t m = 0; m < 2 * lanes - 1; ++m) {
        Value product = b.sub(b.mul(rowAt(b.add(offset, m)), plan.productStride), origin);
        diagonal.push_back(b.load(plan.productsBuffer, b.add(product, v * lanes)));
      }
      for (int64_t step = lanes / 2; step > 0; step /= 2) {
        SmallVector<bool> bits;
        for (int64_t lane = 0; lane < lanes; ++lane)
          bits.push_back(lane & step);
        Value mask = arith::ConstantOp::create(b.builder, DenseElementsAttr::get(bit, ArrayRef<bool>(bits)));
        for (size_t m = 0; m + step < diagonal.size(); ++m)
          diagonal[m] = b.select(mask, diagonal[m + step], diagonal[m]);
        diagonal.resize(diagonal.size() - step);
      }
      // diagonal[m] is now that of the query lanes - 1 - m.
      Value line = b.add(b.add(b.mul(row, lineStride), lineMargin), b.add(b.sub(key, lowKey), v * lanes));
      for (int64_t query = 0; query < lanes; ++query)
        addToLine(diagonal[lanes - 1 - query], b.add(line, query * lineStride));
    }
  });
}
