// Terms that depend on key - query alone, or on it times a number of the query (the gate). Each offset of the tile has
// a number. Threads compute them once for all tiles, or, of long lines, those of a tile while the tile before is worked
// on. Scores read these numbers skewed from shared memory.
#include "passes/Gpu/Strategies/Strategies.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

class Line : public Strategy {
public:
  /// Sums the terms; `gate` may be null.
  Line(const KernelContext &in, std::vector<const ElementTerm *> terms, const ElementTerm *gate, int64_t offset)
      : Strategy(in), terms(std::move(terms)), gate(gate), offset(offset) {}

  void readQueries() override {
    for (size_t row = 0; gate && row < in.place.scores.rows(); ++row)
      gates.push_back(operandProduct(b, in.operands, *gate, in.place.axesOfQuery(row), {}));
  }

  bool computesNumbers() const override { return !in.layout.hasWholeLines; }
  void computeNumbers(Value firstKey, Value copy) override {
    if (computesNumbers())
      compute(firstKey, in.tile.window(), copy);
  }
  void computeBlockNumbers() override {
    if (in.layout.hasWholeLines)
      compute(b.i32(0), int64_t(llvm::alignTo(in.shape.attention.keys, in.tile.keys)) + in.tile.rows, {});
  }

  void beginScores(const Step &step, ScoreSums &sums) override {
    const ScoreLayout &layout = in.place.scores;
    for (const HeldNumber &held : layout.numbers()) {
      // Eight rows and four pairs of keys read 14 neighbouring words.
      Value key = layout.column(held.column + in.tile.rows - 1), query = layout.rowInBlock(held.row);
      Value place = b.sub(key, query);
      if (in.layout.hasWholeLines)
        place = b.add(place, step.firstKey);
      Value number = load(b, numberAt(place, in.layout.hasWholeLines ? Value() : step.copy), b.getF32Type());
      Value &score = sums.tiles[held.tile][held.part];
      if (gate)
        score = sums.begun ? b.fma(number, gates[held.row], score) : b.mulf(number, gates[held.row]);
      else
        score = sums.begun ? b.addf(score, number) : number;
    }
    sums.begun = true;
  }

private:
  /// Returns number k of the line that begins with key - query = firstKey - the block's last query.
  Value valueOf(Value firstKey, Value number) {
    // Any pair of positions with this difference will do; no score reads a number beyond the corners.
    const AttentionShape &attention = in.shape.attention;
    Value difference = b.add(b.add(b.sub(firstKey, in.place.row), number), 1 - in.tile.rows);
    difference = b.minimum(b.maximum(difference, b.sub(b.i32(1), in.place.queries())), b.add(in.place.keys(), -1));
    Value key = b.maximum(difference, b.i32(0));
    Axes at = in.place.leading;
    at[attention.space.key.front()] = b.toIndex(key);
    at[attention.space.query.front()] = b.toIndex(b.sub(key, difference));
    Value sum;
    for (const ElementTerm *term : terms) {
      Value value = termAt(b, in.operands, *term, at);
      sum = sum ? b.addf(sum, value) : value;
    }
    return sum;
  }

  /// Computes `count` numbers of the line; see valueOf.
  void compute(Value firstKey, int64_t count, Value copy) {
    int64_t threads = in.filler.threads;
    constexpr int64_t kTogether = 4; // numbers of a thread whose loads do not wait for each other
    if (count <= kTogether * threads) {
      std::vector<std::pair<Value, Value>> numbers;
      for (int64_t begin = 0; begin < count; begin += threads)
        numbers.emplace_back(b.add(in.filler.thread, begin), Value());
      for (auto &[number, value] : numbers)
        value = valueOf(firstKey, number);
      for (auto [number, value] : numbers)
        b.when(b.less(number, b.i32(count)), [&, number = number, value = value] {
          store(b, value, numberAt(number, copy));
        });
      return;
    }
    b.loop(in.filler.thread, b.i32(count), threads, {}, [&](Value number, ValueRange) {
      store(b, valueOf(firstKey, number), numberAt(number, copy));
      return SmallVector<Value>();
    });
  }

  Value numberAt(Value number, Value copy) {
    Value place = copy ? b.add(number, b.mul(copy, in.tile.window())) : number;
    return in.shared.numberAt(place, offset);
  }

  std::vector<const ElementTerm *> terms;
  const ElementTerm *gate;
  int64_t offset;           // bytes
  std::vector<Value> gates; // of the thread's rows
};

} // namespace

namespace skewer::gpu {
void addLines(const KernelContext &in, Strategies &all) {
  const GpuShape &shape = in.shape;
  size_t number = 0;
  if (!shape.lines.empty()) {
    std::vector<const ElementTerm *> terms;
    for (const ElementTerm &term : shape.lines)
      terms.push_back(&term);
    all.push_back(std::make_unique<Line>(in, std::move(terms), nullptr, in.layout.lines[number++]));
  }
  for (const GatedLine &gated : shape.gatedLines)
    all.push_back(std::make_unique<Line>(in, std::vector<const ElementTerm *>{&gated.line}, &gated.gate,
                                         in.layout.lines[number++]));
}
} // namespace skewer::gpu
