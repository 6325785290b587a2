// Counts the instructions and bytes of a step. The constants are instruction counts of the kernel's main loop as ptxas
// compiles it (SASS for sm_80, CUDA 13.0; `skewer explain` prints them next to the counts here). None is fitted to a
// time.
#include "passes/Gpu/Schedule/GpuWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "passes/Gpu/Schedule/GpuEngine.h"
#include "passes/Gpu/Shape/GpuLayout.h"
#include "passes/Stages/NarrowRows.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

// For a copy by cp.async: bytes of an instruction, and integer instructions of a thread for its addresses (plain
// attention, 64 and 128 wide).
static constexpr double kCopyBytes = 16, kIntegersOfCopy = 4.5;
// For each number of 8 bits that becomes f16, bf16 or f32: integer instructions, and those of f16 and f32; without and
// with a scale (64 queries, 64 keys a step, heads of 64; products of f16).
struct OfConversion {
  double integers, floats, scaledFloats;
};
static constexpr OfConversion kE4M3ByInstruction{0.4, 0.5, 3.1}, kE4M3{4, 0.5, 2.7}, kI8{2.1, 1.5, 2.5};
// For each row, in each of its four lanes: its maximum and sum over the lanes, and the rescaling of earlier results.
static constexpr double kFloatsOfRow = 7, kShufflesOfRow = 2, kLanesOfRow = 4;
// For each thread in a step of any size: the barrier, groups of copies, the loop.
static constexpr double kIssuedOfStep = 8;
// For each score: the skew of a band (also a shuffle), the skew of a band of keys; a looked-up logit; a number of a
// line; a tested mask; an evaluated index expression, and each operand of its contraction.
static constexpr double kFloatsOfSkew = 1, kIntegersOfSkew = 3;
static constexpr double kIntegersOfKeySkew = 6;
static constexpr double kIntegersOfLookup = 5, kIntegersOfLine = 2;
static constexpr double kIntegersOfMask = 10, kIntegersOfElement = 20, kIntegersOfContracted = 10;
// For functions in f32, whose polynomials and divisions have full accuracy.
static constexpr double kFloatsOfExp = 6, kFloatsOfQuotient = 9, kFloatsOfFunction = 26;

GpuPipes &GpuPipes::operator+=(const GpuPipes &other) {
  matrixFlops += other.matrixFlops;
  warpFlops += other.warpFlops;
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
  Counter(const GpuShape &shape, const GpuTile &tile, const GpuEngine &engine)
      : shape(shape), tile(tile), engine(engine), layout(layoutOf(shape, tile)), isF32(shape.element.isF32()),
        bytes(isF32 ? 4 : 2), rows(double(tile.rows)), keys(double(tile.keys)), scores(rows * keys) {}

  GpuStepWork count() {
    work.operands = double(shape.attention.content.size() + shape.bands.size() + 1 + shape.valueRows.size() +
                           shape.valueBands.size());
    for (auto [term, part] : llvm::zip_equal(shape.attention.content, layout.content)) {
      multiplyQueries(keys, double(part.width), double(tile.rowTiles()));
      copyKeys(term.key, part);
    }
    for (auto [term, part] : llvm::zip_equal(shape.bands, layout.bands))
      term.ofKey ? addKeyBand(part) : addBand(part);
    addFunction();
    addSoftmax();
    addScoreTerms();
    addValues();
    work.scores.issued += kIssuedOfStep * double(tile.threads());
    return work;
  }

private:
  /// Counts the copy of rows from global to shared memory.
  void copy(double count, double width) {
    double moved = count * width * bytes;
    work.scores.l2Traffic += moved;
    work.scores.addShared(moved, kCopyBytes);
    work.scores.addIntegers(kIntegersOfCopy * moved / kCopyBytes);
  }

  /// Counts the same for rows of an operand, which threads convert if they are of 8 bits.
  void copyRows(const Walk &walk, double count, double width) {
    Type type = shape.operandTypes[walk.argument];
    if (!isOfBytes(type))
      return copy(count, width);
    double moved = count * width * bytes;
    work.scores.l2Traffic += count * width;
    work.scores.addShared(moved, kCopyBytes);
    work.scores.issued += moved / kCopyBytes; // loads
    const OfConversion &each = type.isInteger(8) ? kI8 : convertsE4M3(shape.target) ? kE4M3ByInstruction : kE4M3;
    work.scores.addIntegers(kIntegersOfCopy * moved / kCopyBytes + each.integers * count * width);
    work.scores.addFloats((shape.areScaled[walk.argument] ? each.scaledFloats : each.floats) * count * width);
  }

  /// Returns whether TMA fills the tile.
  bool isBoxed(const SharedTile &where) const {
    return llvm::any_of(layout.boxes, [&](const TensorBox &box) { return box.tile == where.offset; });
  }

  /// Counts the copy of a tile by TMA: one thread issues an instruction for each panel.
  void copyBoxes(double count, double width) {
    work.scores.l2Traffic += count * width * bytes;
    work.scores.sharedTraffic += count * width * bytes;
  }

  /// Counts the copy of the rows of a table that a tile reaches.
  void copyWindow(const SharedTile &window) {
    double count = rows + keys;
    auto width = double(window.width);
    isBoxed(window) ? copyBoxes(count, width) : copy(count, width);
  }

  /// Counts the copy of keys. If keys pick rows, each copy computes the place of its row, unless the tile is in one
  /// page.
  void copyKeys(const Walk &walk, const SharedTile &where) {
    auto width = double(where.width);
    if (isBoxed(where))
      return copyBoxes(keys, width);
    copyRows(walk, keys, width);
    if (walk.picked && walk.run % tile.keys)
      work.scores.addIntegers(kIntegersOfElement * keys * width * bytes / kCopyBytes);
  }

  /// Counts the product of the block's queries with `columns` rows of a tile. Each fragment of these is multiplied with
  /// `rowTiles` tiles of 16 rows.
  void multiplyQueries(double columns, double width, double rowTiles, bool ofWarps = false) {
    engine.countProducts({rows, columns, width, rowTiles, tile.keepQueries, isF32, ofWarps}, work.products);
  }

  /// Counts the product of the weights with `columns` rows of values.
  void multiplyWeights(double columns, double width, double rowTiles, bool ofWarps = false) {
    engine.countWeighted({rows, columns, width, rowTiles, true, isF32, ofWarps}, work.products);
  }

  void shuffle(double count) { work.scores.addShared(4 * count, 4); }

  void skew() {
    shuffle(scores);
    work.scores.addFloats(kFloatsOfSkew * scores);
    work.scores.addIntegers(kIntegersOfSkew * scores);
  }

  /// Counts a band. Each tile of 16 rows has its own band.
  void addBand(const GpuLayout::Band &part) {
    auto width = double(part.window.width);
    copyWindow(part.window);
    multiplyQueries(keys + 16, width, 1, /*ofWarps=*/true);
    skew();
  }

  /// Counts a band of keys: 16 keys at a time are multiplied with the rows that all queries of the block reach, and the
  /// logits pass through shared memory.
  void addKeyBand(const GpuLayout::Band &part) {
    auto width = double(part.window.width);
    copyWindow(part.window);
    if (!part.sharedWith)
      copy(keys, width);
    // Both operands are read for each tile of 16 × 16.
    engine.countProducts({keys, rows + 16, width, 0.5, true, isF32, /*ofWarps=*/true}, work.products);
    work.scores.addShared(4 * (keys * (rows + 16) + scores), 4);
    work.scores.addFloats(scores);
    work.scores.addIntegers(kIntegersOfKeySkew * scores);
  }

  void addFunctionOf(double specials, double floats) {
    work.scores.addSpecials(specials * scores);
    work.scores.addFloats(floats * scores);
  }

  /// Counts an operation on each score; for a narrow type, in the form that ShortMath.cpp emits.
  void addOperation(Operation &op) {
    if (op.hasTrait<OpTrait::ConstantLike>() || op.hasTrait<OpTrait::IsTerminator>())
      return;
    llvm::TypeSwitch<Operation *>(&op)
        .Case<arith::CmpFOp, arith::SelectOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(
            [&](auto) { work.scores.addIntegers(scores); })
        .Case([&](math::ExpOp) { addFunctionOf(1, isF32 ? kFloatsOfExp : 1); })
        .Case([&](math::TanhOp) { isF32 ? addFunctionOf(0, kFloatsOfFunction) : addFunctionOf(2, 3); })
        .Case([&](arith::DivFOp quotient) {
          bool byKnown = matchPattern(quotient.getRhs(), m_Constant());
          bool isShort = !isF32 && (byKnown || matchPattern(quotient.getLhs(), m_Constant()));
          isShort ? addFunctionOf(byKnown ? 0 : 1, 1) : addFunctionOf(1, kFloatsOfQuotient);
        })
        .Case<math::AbsFOp, math::FmaOp>([&](auto) { addFunctionOf(0, 1); })
        .Default([&](Operation *other) {
          addFunctionOf(0, isa_and_present<math::MathDialect>(other->getDialect()) ? kFloatsOfFunction : 1);
        });
  }

  void addFunction() {
    const AttentionShape &attention = shape.attention;
    if (attention.isPlainSoftmax())
      return;
    if (attention.direct)
      work.scores.addFloats(scores); // -0 is kept for hidden keys
    if (attention.through)
      for (Operation &op : attention.through->front())
        addOperation(op);
  }

  void addSoftmax() {
    if (shape.attention.direct) {
      work.scores.addFloats(scores); // the sum
      if (!isF32)
        work.scores.addIntegers(scores / 2); // two weights to a register
      return;
    }
    work.scores.addIntegers(scores);   // maximum
    work.scores.addFloats(2 * scores); // subtraction of the maximum, sum
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

  /// Counts a plugin's function, `times` times.
  void apply(const ElementTerm &term, double times) {
    if (term.application)
      work.scores.addFloats(times * term.application->function->flops());
  }

  void addScoreTerms() {
    if (shape.attention.content.size() + shape.bands.size() > 1)
      work.scores.addFloats(scores);
    for (const LookupTerm &term : shape.lookups) // a logit per tile for each query costs almost nothing
      if (lookupUse(term, shape.attention, tile.keys) == LookupUse::EachScore) {
        double near = term.far ? term.far->nearShare(tile.rows, shape.attention.keys, tile.keys) : 1;
        work.scores.addShared(4 * scores * near, 4);
        work.scores.addFloats(scores * near);
        work.scores.addIntegers(kIntegersOfLookup * scores * near);
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
    copyKeys(shape.attention.value, layout.values);
    for (auto [term, part] : llvm::zip_equal(shape.valueRows, layout.valueRows)) {
      multiplyWeights(keys, width, together);
      copyKeys(term.table, part);
    }
    // Each weight is shuffled, then multiplied with the rows that the offsets of the tile reach.
    for (size_t term = 0; term < shape.valueBands.size(); ++term) {
      multiplyWeights(keys + 16, width, 1, /*ofWarps=*/true);
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
  const GpuEngine &engine;
  GpuLayout layout;
  bool isF32;
  double bytes, rows, keys, scores; // `bytes`: bytes of an element of the products
  GpuStepWork work;
};

} // namespace

GpuStepWork skewer::gpu::stepWorkOf(const GpuShape &shape, const GpuTile &tile) {
  const GpuEngine *engine = findGpuEngine(tile.engine);
  assert(engine && "a tile's engine is known");
  return Counter(shape, tile, *engine).count();
}
