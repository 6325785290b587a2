// A key meets rows of a table by key - query. The strategy multiplies 16 keys with the rows that all queries of the
// block reach, and skews the logits on their way through shared memory.
#include "passes/Gpu/Strategies/BandWindow.h"
#include "passes/Gpu/Strategies/Strategies.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

class KeyBand : public Strategy {
public:
  KeyBand(const KernelContext &in, const BandTerm &term, const GpuLayout::Band &places)
      : Strategy(in), term(term), places(places), window(in, term, places.window) {}

  void locate() override {
    window.locate();
    if (!places.sharedWith)
      keys = in.place.keysOf(term.query, term.depth);
  }
  void fill(Value firstKey, Value copy) override {
    if (!places.sharedWith)
      in.pipeline.fillRows(places.keys, keys, firstKey, in.place.keys(), copy);
    window.fill(firstKey, copy);
  }
  bool meetsInSteps() const override { return true; }

  void addToScores(const Step &step, Tiles &scores) override {
    in.pipeline.bring([&] { fill(step.firstKey, step.copy); });
    // Window row c is for key - query = c - (rows - 1), counted in the tile. So the 16 keys from 16 × m on meet rows 16
    // × m … 16 × m + rows + 15. Column c of key j (both counted from 16 × m) is for query j - c + rows - 1.
    Value scale = b.f32(term.scale);
    if (!in.stepsBeginTogether)
      in.pipeline.meet(); // the logits of the step before have been read
    b.loop(in.at.warp, b.i32(in.tile.keys / 16), in.tile.warps(), {}, [&](Value number, ValueRange) {
      storeLogits(b.shiftLeft(number, 4), step.copy, scale);
      return SmallVector<Value>();
    });
    in.pipeline.meet();
    const ScoreLayout &layout = in.place.scores;
    for (const HeldNumber &number : layout.numbers()) {
      Value key = layout.column(number.column), query = layout.rowInBlock(number.row);
      Value column = b.sub(b.add(b.bitAnd(key, 15), in.tile.rows - 1), query);
      Value &score = scores[number.tile][number.part];
      score = b.addf(score, load(b, logitAt(key, column), b.getF32Type()));
    }
  }

private:
  Value logitAt(Value key, Value column) {
    Value place = b.add(b.mul(key, places.logits.stride), column);
    return in.shared.numberAt(place, places.logits.offset);
  }

  /// Stores the logits of 16 keys, which are the rows of the product.
  void storeLogits(Value firstKey, Value copy, Value scale) {
    ScoreLayout layout = in.place.scores.oneRowTile().across(16);
    for (int64_t pair = 0; pair < (in.tile.rows + 16) / 16; ++pair) {
      Tiles sums = in.engine.products(layout.zeros(), {{places.keys, copy, firstKey}, 1, {}},
                                           {places.window, copy, b.add(firstKey, 16 * pair)}, stepsTogether());
      for (const HeldNumber &number : layout.numbers()) {
        Value key = layout.rowFrom(layout.firstRow(firstKey), number.row);
        Value column = layout.column(16 * pair + number.column);
        Value place = logitAt(key, column);
        store(b, b.mulf(sums[number.tile][number.part], scale), place);
      }
    }
  }

  const BandTerm &term;
  const GpuLayout::Band &places;
  BandWindow window;
  RowSource keys; // not set if a content term has the same keys
};

} // namespace

namespace skewer::gpu {
void addKeyBands(const KernelContext &in, Strategies &all) {
  for (auto [term, places] : llvm::zip_equal(in.shape.bands, in.layout.bands))
    if (term.ofKey)
      all.push_back(std::make_unique<KeyBand>(in, term, places));
}
} // namespace skewer::gpu
