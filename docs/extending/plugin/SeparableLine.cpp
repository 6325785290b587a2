// A strategy for the plugin's own class. cos(w·(i - j)) = cos(w·i)·cos(w·j) + sin(w·i)·sin(w·j): two lines over the
// keys, made once a head, and two numbers for each query of a block; a tile adds their products to its scores.
//
// Without it the term is a line over i - j, as every function of the offset is. Both are right: which is faster is what
// `skewer bench` says of the sizes at hand, with and without this file.
#include "Periodic.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Cpu/Strategy.h"

using namespace skewer;
using mlir::Value;

namespace {

/// Emits the term. The kernel calls the functions below at the points that their names say.
class SeparableLine : public CpuStrategy {
public:
  SeparableLine(CpuKernel &kernel, const OtherTerm &term) : CpuStrategy(kernel), term(term) {}

  void plan(Layout &layout) override {
    for (Buffer *line : {&cosines, &sines})
      layout.reserve(*line, keyVectors * lanes, Layout::Zone::Prepared);
    for (Buffer *gate : {&cosineOfRow, &sineOfRow})
      layout.reserve(*gate, rowBlock, Layout::Zone::Prepared);
  }

  void prepareHead() override {
    Value cosineLine = view(memory.local, cosines), sineLine = view(memory.local, sines);
    b.loop(b.index(0), b.index(keyVectors * lanes), 1, [&](Value key) {
      auto [cosine, sine] = cosineAndSine(key);
      b.storeScalar(b.narrow(cosine), cosineLine, key);
      b.storeScalar(b.narrow(sine), sineLine, key);
    });
  }

  /// Once a block of rows: what multiplies the lines, with the term's scale.
  void computeRows(const RowBlock &block) override {
    Value rowCosines = view(memory.local, cosineOfRow), rowSines = view(memory.local, sineOfRow);
    b.loop(b.index(0), b.mul(block.groups, tileRows), 1, [&](Value row) {
      auto [cosine, sine] = cosineAndSine(b.add(block.firstRow, row));
      Value factor = number(term.scale);
      for (unsigned place = 0; place < term.arguments.size(); ++place)
        if (!term.isArgument(place))
          factor = b.mulf(factor, elementOf(place));
      b.storeScalar(b.narrow(b.mulf(factor, cosine)), rowCosines, row);
      b.storeScalar(b.narrow(b.mulf(factor, sine)), rowSines, row);
    });
  }

  void addToScores(ScoreTile &tile) override {
    Value cosineLine = view(memory.local, cosines), sineLine = view(memory.local, sines);
    Value rowCosines = view(memory.local, cosineOfRow), rowSines = view(memory.local, sineOfRow);
    for (int64_t r = 0; r < tile.rows(); ++r) {
      Value cosine = b.loadBroadcast(rowCosines, b.add(tile.row, r));
      Value sine = b.loadBroadcast(rowSines, b.add(tile.row, r));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value at = b.add(tile.key, v * lanes), &sum = tile.sums[r * tile.vectors + v];
        sum = b.fma(cosine, b.load(cosineLine, at), sum);
        sum = b.fma(sine, b.load(sineLine, at), sum);
      }
    }
  }

private:
  Value number(double x) {
    return mlir::arith::ConstantOp::create(b.builder, b.builder.getF64FloatAttr(x)).getResult();
  }
  /// An operand's element at the current head, in double precision.
  Value elementOf(unsigned place) {
    return b.widen(b.scalar(memory.arguments[term.arguments[place]], positions.baseOf(term.offsets[place])));
  }
  /// Returns both of frequency × position, in double precision, since positions may be large.
  std::pair<Value, Value> cosineAndSine(Value position) {
    Value angle = b.mulf(elementOf(term.application->arguments[0].operand), b.widen(b.number(position)));
    return {mlir::math::CosOp::create(b.builder, angle).getResult(),
            mlir::math::SinOp::create(b.builder, angle).getResult()};
  }

  const OtherTerm &term;
  Buffer cosines, sines, cosineOfRow, sineOfRow;
};

/// Answers the questions of the analysis and of the cost model, and makes the object that emits the code.
class SeparableLines : public TermStrategy {
public:
  llvm::StringRef name() const override { return "separable_line"; }

  /// Fits the class's terms whose operands are one number a head, and that hide no pairs.
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    if (!form.as<OtherTerm>())
      return false;
    const OtherTerm &term = *form.as<OtherTerm>();
    if (!term.application || term.factor || term.guard || !term.contracted.empty() || shape.space.query.size() != 1 ||
        shape.space.key.size() != 1)
      return false;
    for (const subscript::Expr &offset : term.offsets)
      for (const std::string &axis : symbolsOf(offset))
        if (axis == shape.space.query[0] || axis == shape.space.key[0])
          return false;
    return term.application->arguments[0].operand >= 0 &&
           isPeriodicOfOffset(*term.application, shape.space.query[0], shape.space.key[0]);
  }

  /// Two FMAs and two loads a vector of scores; some 60 cycles for the angles of a key, and of a query.
  TermWork work(const TermForm &, const AttentionShape &shape, const TileSizes &tile, const Target &) const override {
    double pairs = double(shape.queries) * double(shape.keys);
    return {4 * pairs, 2 * pairs / double(tile.lanes) + 60 * double(shape.queries + shape.keys)};
  }

  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<SeparableLine>(kernel, *form.as<OtherTerm>());
  }
};

} // namespace

std::unique_ptr<TermStrategy> makeSeparableLines() { return std::make_unique<SeparableLines>(); }
