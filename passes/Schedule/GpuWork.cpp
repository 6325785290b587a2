// Counting a step's instructions and bytes. Counts of instructions are those of the kernel's main loop as ptxas makes
// it (SASS for sm_80, CUDA 13.0; `skewer explain` prints them beside what is counted here); none is fitted to a time.
#include "passes/Schedule/GpuWork.h"
#include "passes/Analysis/GpuLayout.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace skewer;
using namespace skewer::gpu;

// Bytes that a thread takes in one instruction: of ldmatrix and cp.async; of ld.shared, which f32 values need.
static constexpr double kFragmentBytes = 16, kNumberBytes = 4;
// Integer instructions of a thread: for the address of a fragment, and of a copy (plain attention, 64 and 128 wide).
static constexpr double kIntegersOfFragment = 0.65, kIntegersOfCopy = 4.5;
// Of an operand's register of f32, which is divided into what tf32 takes and what it leaves (plain attention, f32).
static constexpr double kFloatsOfRest = 1, kIntegersOfRest = 2.5;
// Of each row in each of its four lanes: its maximum and sum over the lanes, the shrinking of what is there.
static constexpr double kFloatsOfRow = 7, kShufflesOfRow = 2, kLanesOfRow = 4;
// Of a thread in a step, whatever its size: the barrier, groups of copies, the loop.
static constexpr double kIssuedOfStep = 8;
// Of a score: the skew of a band (a shuffle too), of one on the side of keys; a logit that is looked up; a line's
// number; a mask that is tested; an index expression that is evaluated, and each operand of its contraction.
static constexpr double kFloatsOfSkew = 1, kIntegersOfSkew = 3;
static constexpr double kIntegersOfKeySkew = 6;
static constexpr double kIntegersOfLookup = 5, kIntegersOfLine = 2;
static constexpr double kIntegersOfMask = 10, kIntegersOfElement = 20, kIntegersOfContracted = 10;

GpuPipes &GpuPipes::operator+=(const GpuPipes &other) {
  matrixFlops += other.matrixFlops;
  specials += other.specials;
  floats += other.floats;
  integers += other.integers;
  issued += other.issued;
  sharedTraffic += other.sharedTraffic;
  l2Traffic += other.l2Traffic;
  return *this;
}

GpuPipes GpuStepWork::all() const {
  GpuPipes sum = products;
  sum += scores;
  return sum;
}

namespace {

class Counter {
public:
  Counter(const GpuShape &shape, const GpuTile &tile)
      : shape(shape), tile(tile), layout(layoutOf(shape, tile)), isF32(shape.element.isF32()), bytes(isF32 ? 4 : 2),
        rows(double(tile.rows)), keys(double(tile.keys)), scores(rows * keys) {}

  GpuStepWork count() {
    work.operands = double(shape.attention.content.size() + shape.bands.size() + 1 + shape.valueRows.size() +
                           shape.valueBands.size());
    for (const SharedTile &part : layout.content) {
      multiplyQueries(keys, double(part.width), double(tile.rowTiles()));
      copy(keys, double(part.width));
    }
    for (auto [term, part] : llvm::zip_equal(shape.bands, layout.bands))
      term.ofKey ? addKeyBand(part) : addBand(part);
    addSoftmax();
    addScoreTerms();
    addValues();
    work.scores.issued += kIssuedOfStep * double(tile.threads());
    return work;
  }

private:
  /// Rows from global to shared memory.
  void copy(double count, double width) {
    double moved = count * width * bytes;
    work.scores.l2Traffic += moved;
    work.scores.addShared(moved, kFragmentBytes);
    work.scores.addIntegers(kIntegersOfCopy * moved / kFragmentBytes);
  }

  /// Registers with operands of products: of f32 each is divided in two.
  void divide(double registers) {
    if (!isF32)
      return;
    work.products.addFloats(kFloatsOfRest * registers);
    work.products.addIntegers(kIntegersOfRest * registers);
  }

  /// Elements of a tile in shared memory on their way into fragments.
  void loadFragments(double elements, double ofInstruction = kFragmentBytes) {
    work.products.addShared(elements * bytes, ofInstruction);
    work.products.addIntegers(kIntegersOfFragment * elements * bytes / kFragmentBytes);
    divide(elements * bytes / 4);
  }

  /// mma.sync: 16×8×16 an instruction, of f32 three products of 16×8×8 at half the rate.
  void multiply(double productRows, double columns, double width) {
    double products = productRows * columns * width * (isF32 ? 6 : 1);
    work.products.matrixFlops += 2 * products;
    work.products.issued += products / (16 * 8 * 16) * 32;
  }

  /// The block's rows of the queries with `columns` rows of a tile, whose fragments each meet `together` tiles of 16
  /// rows.
  void multiplyQueries(double columns, double width, double together) {
    multiply(rows, columns, width);
    loadFragments(rows / 16 / together * columns * width);
    if (!tile.keepQueries)
      loadFragments(rows * width);
    // Sums of f32 begin anew at every 16th element of a row (passes/Gpu/MmaSync.h, kStepsOfChain).
    if (isF32)
      work.products.addFloats(rows * columns * std::max(0.0, width / 16 - 1));
  }

  /// Weights with `columns` rows of values. Nothing is added to their sums of f32: a multiply-add takes the place of
  /// the result's rescaling.
  void multiplyWeights(double columns, double width, double together) {
    multiply(rows, columns, width);
    loadFragments(rows / 16 / together * columns * width, isF32 ? kNumberBytes : kFragmentBytes);
    divide(rows * columns);
  }

  void shuffle(double count) { work.scores.addShared(4 * count, 4); }

  void skew() {
    shuffle(scores);
    work.scores.addFloats(kFloatsOfSkew * scores);
    work.scores.addIntegers(kIntegersOfSkew * scores);
  }

  /// Each tile of 16 rows has a band of its own.
  void addBand(const GpuLayout::Band &part) {
    auto width = double(part.window.width);
    copy(rows + keys, width);
    multiplyQueries(keys + 16, width, 1);
    skew();
  }

  /// 16 keys at a time meet the rows that all queries of the block reach; logits go through shared memory.
  void addKeyBand(const GpuLayout::Band &part) {
    auto width = double(part.window.width);
    copy(rows + keys, width);
    if (!part.sharedWith)
      copy(keys, width);
    multiply(keys, rows + 16, width);
    loadFragments(2 * keys / 16 * (rows + 16) * width);
    work.scores.addShared(4 * (keys * (rows + 16) + scores), 4);
    work.scores.addFloats(scores);
    work.scores.addIntegers(kIntegersOfKeySkew * scores);
  }

  void addSoftmax() {
    work.scores.addIntegers(scores);   // maximum
    work.scores.addFloats(2 * scores); // its subtraction, the sum
    work.scores.addSpecials(scores);
    if (!isF32)
      work.scores.addIntegers(scores / 2); // two weights to a register
    double lanes = rows * kLanesOfRow;
    work.scores.addSpecials(lanes);
    shuffle(kShufflesOfRow * lanes);
    work.scores.addFloats(kFloatsOfRow / 2 * lanes);
    work.scores.addIntegers(kFloatsOfRow / 2 * lanes);
    work.scores.addFloats(rows * double(layout.values.width)); // the result's rescaling
  }

  /// A plugin's function, so often.
  void apply(const ElementTerm &term, double times) {
    if (term.application)
      work.scores.addFloats(times * term.application->function->flops());
  }

  void addScoreTerms() {
    if (shape.attention.content.size() + shape.bands.size() > 1)
      work.scores.addFloats(scores);
    for (const LookupTerm &term : shape.lookups) // what a tile has for each query costs next to nothing
      if (lookupUse(term, shape.attention, tile.keys) == LookupUse::EachScore) {
        work.scores.addShared(4 * scores, 4);
        work.scores.addFloats(scores);
        work.scores.addIntegers(kIntegersOfLookup * scores);
      }
    double lines = double(layout.lines.size());
    work.scores.addShared(4 * scores * lines, 8); // two neighbouring keys at once
    work.scores.addFloats(scores * lines);
    work.scores.addIntegers(kIntegersOfLine * scores * lines);
    for (const ElementTerm &term : shape.lines)
      apply(term, rows + keys);
    for (const GatedLine &term : shape.gatedLines)
      apply(term.line, rows + keys);
    work.scores.addIntegers(kIntegersOfMask * scores * double(shape.attention.masks.size()));
    for (const ElementTerm &term : shape.elements) {
      work.scores.addFloats(2 * scores);
      work.scores.addIntegers(kIntegersOfElement * scores);
      for (const auto &[axis, size] : term.contracted) {
        work.scores.addFloats(scores * double(size));
        work.scores.addIntegers(kIntegersOfContracted * scores * double(size));
      }
      apply(term, scores);
    }
  }

  void addValues() {
    auto width = double(layout.values.width), together = double(tile.rowTiles());
    multiplyWeights(keys, width, together);
    copy(keys, width);
    for (size_t term = 0; term < shape.valueRows.size(); ++term) {
      multiplyWeights(keys, width, together);
      copy(keys, width);
    }
    // After a shuffle for each weight, of the rows that the tile's offsets reach.
    for (size_t term = 0; term < shape.valueBands.size(); ++term) {
      multiplyWeights(keys + 16, width, 1);
      copy(rows + keys, width);
      skew();
    }
    // Any other row of the values is read and added for each score.
    double added = scores * double(tile.columnsOf(shape.attention.width)) * double(shape.valueElements.size());
    work.scores.addFloats(added);
    work.scores.addIntegers(added);
  }

  const GpuShape &shape;
  const GpuTile &tile;
  GpuLayout layout;
  bool isF32;
  double bytes, rows, keys, scores; // bytes: of what is multiplied
  GpuStepWork work;
};

} // namespace

GpuStepWork skewer::gpu::stepWorkOf(const GpuShape &shape, const GpuTile &tile) { return Counter(shape, tile).count(); }
