// Terms that depend on key - query alone, or times a number of the query: a number for each offset of the tile, which
// an offset's thread computes while the tile before is worked on.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuKernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

void GpuKernel::planLines() {
  auto add = [&](LinePlan part) {
    part.offset = layout.lines[lines.size()];
    lines.push_back(std::move(part));
  };
  if (!shape.lines.empty()) {
    LinePlan part;
    for (const ElementTerm &term : shape.lines)
      part.terms.push_back(&term);
    add(std::move(part));
  }
  for (const GatedLine &gated : shape.gatedLines)
    add({{&gated.line}, &gated.gate, 0, {}});
}

void GpuKernel::prepareGates() {
  for (LinePlan &part : lines)
    for (size_t row = 0; part.gate && row < 2; ++row) {
      std::map<std::string, Value> at = leading;
      at.insert(queryAxes[row].begin(), queryAxes[row].end());
      part.gates[row] = operandProduct(*part.gate, at, {});
    }
}

void GpuKernel::makeLine(const LinePlan &part, Value firstKey, Value copy) {
  const AttentionShape &attention = shape.attention;
  int64_t length = tile.rows + tile.keys;
  b.loop(thread, b.i32(length), tile.threads(), {}, [&](Value number, ValueRange) {
    // Any pair of positions with this difference will do; beyond the corners nobody looks.
    Value offset = b.add(b.add(b.sub(firstKey, blockRow), number), 1 - tile.rows);
    offset = b.minimum(b.maximum(offset, b.i32(1 - attention.queries)), b.i32(attention.keys - 1));
    Value key = b.maximum(offset, b.i32(0));
    std::map<std::string, Value> at = leading;
    at[attention.space.key.front()] = b.toIndex(key);
    at[attention.space.query.front()] = b.toIndex(b.sub(key, offset));
    Value sum;
    for (const ElementTerm *term : part.terms) {
      Value value = elementTerm(*term, at);
      sum = sum ? b.addf(sum, value) : value;
    }
    Value place = b.add(number, b.mul(copy, length));
    b.store(sum, b.sharedAt(b.add(b.shiftLeft(place, 2), part.offset)));
    return SmallVector<Value>();
  });
}

void GpuKernel::beginWithLines(Value copy, std::vector<Accumulator> &scores) {
  bool first = true;
  for (const LinePlan &part : lines) {
    for (size_t column = 0; column < scores.size(); ++column)
      for (size_t k = 0; k < 4; ++k) {
        // Eight rows and four pairs of keys read 14 neighbouring words.
        Value key = b.add(b.shiftLeft(inGroup, 1), int64_t(8 * column + k % 2) + tile.rows - 1);
        Value query = b.add(b.add(b.shiftLeft(warp, 4), group), int64_t(8 * (k / 2)));
        Value place = b.add(b.sub(key, query), b.mul(copy, tile.rows + tile.keys));
        Value number = b.load(b.sharedAt(b.add(b.shiftLeft(place, 2), part.offset)), b.getF32Type());
        Value &score = scores[column][k];
        if (part.gate)
          score = first ? b.mulf(number, part.gates[k / 2]) : b.fma(number, part.gates[k / 2], score);
        else
          score = first ? number : b.addf(score, number);
      }
    first = false;
  }
}
