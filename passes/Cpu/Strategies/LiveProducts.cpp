// The strategy "live_products": q_i · k_j that counts only where a guard holds, for example within a window. The guard
// is known at compile time. Only tiles in which it holds somewhere are multiplied, with panels of keys like those of
// the content.
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/GuardTiles.h"
#include "passes/Analysis/LaneFit.h"
#include "passes/Cpu/Strategies/Others.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;
using namespace skewer::subscript;

namespace {
struct Factors {
  Walk query, key;
};

/// Returns the walk of an operand over the positions of `axes`; nothing if it is not read by whole axes at even
/// strides.
std::optional<Walk> walkOf(const OtherTerm &term, unsigned place, const std::vector<std::string> &axes,
                           const AttentionShape &shape) {
  // Rows are packed for all positions, so positions at which the guard fails must be inside the operand, too.
  for (const Dimension &dimension : term.term->einsum.spec.operands[place])
    if (dimension.axes.empty())
      return std::nullopt;
  Domain domain = domainOf(term.term->einsum.sizes);
  Substitution leading, others;
  for (const std::string &symbol : symbolsOf(term.offsets[place]))
    (llvm::is_contained(shape.space.leading, symbol) ? leading : others)[symbol] = Expr(0);
  auto moving = asAffine(substitute(term.offsets[place], leading), domain);
  if (!moving || !readsOf(term.offsets[place]).empty())
    return std::nullopt;
  auto stepOf = [&](const std::string &axis) {
    auto found = moving->coefficients.find(axis);
    return found == moving->coefficients.end() ? 0 : found->second;
  };
  Walk walk;
  walk.argument = term.arguments[place];
  walk.base = simplify(substitute(term.offsets[place], others), domain);
  walk.depth = stepOf(term.contracted.front().first);
  int64_t stride = stepOf(axes.back()), inner = 1;
  for (const std::string &axis : llvm::reverse(axes)) {
    if (stepOf(axis) != stride * inner)
      return std::nullopt;
    inner *= shape.space.sizes.at(axis);
  }
  (axes == shape.space.query ? walk.query : walk.key) = stride;
  return walk;
}

std::optional<Factors> factorsOf(const OtherTerm &term, const AttentionShape &shape) {
  for (unsigned first : {0u, 1u}) {
    if (usesAny(term.offsets[first], shape.space.key) || usesAny(term.offsets[1 - first], shape.space.query))
      continue;
    auto query = walkOf(term, first, shape.space.query, shape), key = walkOf(term, 1 - first, shape.space.key, shape);
    if (query && key)
      return Factors{*query, *key};
  }
  return std::nullopt;
}

class LiveProducts : public CpuStrategy {
public:
  LiveProducts(CpuKernel &kernel, const OtherTerm &term)
      : CpuStrategy(kernel), term(term), factors(*factorsOf(term, shape)), termDepth(term.contracted.front().second),
        tiles(tilesOfGuard(*term.guard, shape)), tables(groupTablesOf(*tiles, lanes, tileRows, tileVectors)) {
    needsTiles = true;
  }
  double variance() const override { return term.scale * term.scale * double(termDepth); }
  PackedKeys packedKeys() const override { return {&factors.key, termDepth}; }

  void plan(Layout &layout) override {
    layout.reserve(keys, llvm::alignTo(keyVectors, tileVectors) * stride(), Layout::Zone::Windows);
    layout.reserve(queries, rowBlock * termDepth, Layout::Zone::Windows);
  }
  void open() override {
    keysMemory = view(memory.local, keys);
    queriesMemory = view(memory.local, queries);
  }
  void packKeys() override {
    kernel.packer.packKeyPanels(engine, factors.key, termDepth, 1, {keysMemory, b.index(0), stride()});
  }
  void packQueries(const RowBlock &block) override {
    kernel.packer.packQueryRows(engine, factors.query, termDepth, term.scale, block, queriesMemory, termDepth);
  }

  void addToScores(ScoreTile &tile) override {
    Value group = b.add(b.mul(positions.copyOf(tiles->axes()), tables.rowBlocks), b.divide(tile.position, tileRows));
    Value ends = integerTable(b, tables.firstRun), run = tableElement(b, ends, group);
    Value some = b.less(run, tableElement(b, ends, b.add(group, 1)));
    // If there is no run, the numbers of the next run are read, but not used.
    Value at = b.mul(b.minimum(run, b.index(int64_t(tables.runs.size()) / 3 - 1)), 3);
    Value runs = integerTable(b, tables.runs), first = tableElement(b, runs, at);
    Value inside =
        arith::AndIOp::create(b.builder, b.less(tile.vector, tableElement(b, runs, b.add(at, 1))),
                              arith::CmpIOp::create(b.builder, arith::CmpIPredicate::sle, first, tile.vector));
    inside = arith::AndIOp::create(b.builder, some, inside);
    replaceIf(tile, inside, [&](SmallVector<Value> sums) {
      Value panel = b.add(b.divide(b.sub(tile.vector, first), tileVectors), 2);
      Value state =
          tableElement(b, integerTable(b, tables.descriptions), b.add(tableElement(b, runs, b.add(at, 2)), panel));
      tile.sums.assign(sums.begin(), sums.end());
      replaceIf(tile, b.less(b.index(TileTables::kHole), state), [&](SmallVector<Value> before) {
        SmallVector<Value> products = productsOf(tile);
        for (auto [sum, product] : llvm::zip(before, counted(tile, state, products)))
          sum = b.addf(sum, product);
        return before;
      });
      return SmallVector<Value>(tile.sums.begin(), tile.sums.end());
    });
  }

private:
  int64_t stride() const { return CpuEngine::panelStride(termDepth, lanes); }

  /// Replaces the sums of the tile by what `body` returns for them, if the condition holds.
  void replaceIf(ScoreTile &tile, Value condition, const std::function<SmallVector<Value>(SmallVector<Value>)> &body) {
    SmallVector<Value> before(tile.sums.begin(), tile.sums.end());
    auto sums = choose(
        b, condition, ValueRange(before).getTypes(), [&] { return body(before); }, [&] { return before; });
    tile.sums.assign(sums.begin(), sums.end());
  }

  SmallVector<Value> productsOf(const ScoreTile &tile) {
    SmallVector<Value> places;
    Value held = b.add(b.mul(tile.row, scoreStride), b.sub(tile.key, tile.lowKey));
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v)
        places.push_back(b.add(held, r * scoreStride + v * lanes));
    bool large = shape.scoreFactor * std::abs(term.scale) * std::sqrt(double(termDepth)) > kLargeScores;
    Summation summation = context.isHuge(term.scale, termDepth) ? kCompensated : Summation{large ? kChunk : termDepth};
    return engine.multiply(b,
                           {{0, tileRows, 0, tile.vectors},
                            termDepth,
                            summation,
                            {queriesMemory, b.mul(tile.row, termDepth), termDepth},
                            {keysMemory, b.mul(tile.vector, stride()), stride()}},
                           {memory.scores, places, scoreStride});
  }

  /// Returns the products, with 0 for pairs for which the guard does not hold: their operands may be infinite.
  SmallVector<Value> counted(const ScoreTile &tile, Value state, const SmallVector<Value> &products) {
    auto seen = [&] {
      Value none = b.constant(0);
      SmallVector<Value> kept;
      for (int64_t r = 0; r < tileRows; ++r)
        for (int64_t v = 0; v < tile.vectors; ++v)
          kept.push_back(b.select(lanesOfPattern(b, *this, tables, state, r, v), products[r * tile.vectors + v], none));
      return kept;
    };
    return choose(b, b.less(b.index(TileTables::kFull), state), ValueRange(products).getTypes(), seen,
                  [&] { return products; });
  }

  const OtherTerm &term;
  Factors factors;
  int64_t termDepth;
  std::shared_ptr<const LiveTiles> tiles;
  TileTables tables;
  Buffer keys, queries;
  Value keysMemory, queriesMemory;
};

// The most pairs of positions whose guard is surveyed at compile time: a survey takes time for each pair at an edge.
constexpr int64_t kMostPairs = int64_t(1) << 26;

class LiveProductsStrategy : public TermStrategy {
public:
  StringRef name() const override { return "live_products"; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    const OtherTerm *term = form.as<OtherTerm>();
    return term && term->guard && !term->factor && !term->application && term->offsets.size() == 2 &&
           term->contracted.size() == 1 && term->contracted.front().second != kRuntime &&
           isKnownPairByPair(*term->guard, shape) && shape.queries <= kMostPairs / shape.keys &&
           factorsOf(*term, shape) && tilesOfGuard(*term->guard, shape);
  }
  void addSizes(const TermForm &form, const AttentionShape &, AttentionSizes &sizes) const override {
    const OtherTerm &term = *form.as<OtherTerm>();
    sizes.extraPerRow += term.contracted.front().second;
  }
  /// Counts the tiles in which the guard holds somewhere.
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &target) const override {
    const OtherTerm &term = *form.as<OtherTerm>();
    auto tiles = tilesOfGuard(*term.guard, shape);
    auto depth = double(term.contracted.front().second);
    double flops = 2 * depth * double(shape.queries) * double(shape.keys) *
                   tiles->liveShare(tile.tileRows, tile.tileVectors * tile.lanes);
    return {flops, productCycles(flops, tile, target) + kPackCycles * double(shape.queries + shape.keys) * depth};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<LiveProducts>(kernel, *form.as<OtherTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeLiveProducts() { return std::make_unique<LiveProductsStrategy>(); }
