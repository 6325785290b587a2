// attn-split-blocks. Blocks of a map that see what lies around them (HaloNet, arXiv:2103.12731, as a mask over whole
// maps): which block a query is in becomes a leading axis, and the keys are those of the block and its halo.
//
// Keys of a halo that are outside the map are masked; they are read through views that have 0 there, so that tables by
// key - query stay what they are at the borders.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/SplitAttention.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// Blocks see at most this share of the map. On an EPYC core with AVX-512, 8 heads of depth 32, blocks took of the time
// of tiles that a mask leaves out: 64x64 in blocks of 8 with a halo of 3 0.63, 24x24 0.84, 21x21 in blocks of 7 (0.38
// of the map) 0.87.
static constexpr double kMostShare = 0.4;

namespace {
/// An axis of the queries that is the number of a block along a key's axis: block n sees keys only from step*n + first
/// on, `keys` of them.
struct BlockAxis {
  std::string query, key;
  int64_t step, first, keys;
  std::string leading; // what the query's axis is called from now on
};

/// The keys that each block sees by the conjuncts of the two axes alone; nothing where one sees none.
std::vector<subscript::Range> keysOfBlocks(ArrayRef<Expr> conjuncts, const std::string &query, const std::string &key,
                                           const AxisSizes &sizes) {
  std::vector<Expr> own;
  for (const Expr &conjunct : conjuncts)
    if (symbolsOf(conjunct) == std::set<std::string>{query, key} && readNodes(conjunct).empty())
      own.push_back(conjunct);
  std::vector<subscript::Range> seen;
  for (int64_t n = 0; n < sizes.at(query) && !own.empty(); ++n) {
    subscript::Range range{sizes.at(key), -1};
    for (int64_t j = 0; j < sizes.at(key); ++j)
      if (llvm::all_of(own, [&](const Expr &e) { return evaluate(e, {{query, n}, {key, j}}).value_or(1) != 0; }))
        range = {std::min(range.low, j), j};
    if (range.low > range.high)
      return {};
    seen.push_back(range);
  }
  return seen;
}

/// The fewest keys that move evenly with the blocks and hold what each of them sees.
std::optional<BlockAxis> narrowest(ArrayRef<subscript::Range> seen, BlockAxis axis) {
  std::optional<BlockAxis> best;
  for (size_t n = 0; n + 1 < seen.size(); ++n) {
    axis.step = seen[n + 1].low - seen[n].low;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (auto [number, range] : llvm::enumerate(seen)) {
      low = std::min(low, range.low - axis.step * static_cast<int64_t>(number));
      high = std::max(high, range.high - axis.step * static_cast<int64_t>(number));
    }
    axis.first = low;
    axis.keys = high - low + 1;
    // At borders blocks see less, and move by less: of two that hold as many keys the longer one is the blocks' own.
    bool better = !best || axis.keys < best->keys || (axis.keys == best->keys && axis.step > best->step);
    if (axis.step > 0 && better)
      best = axis;
  }
  return best;
}

class BlockSplitting {
public:
  explicit BlockSplitting(AttentionOp attention) : attention(attention), space(scoreSpace(attention)) {
    elements.insert(space.elements.begin(), space.elements.end());
  }

  bool rewrite() {
    if (attention->hasAttr(kAxisExtents) || !attention.getMask() || attention.getScheduleAttr() ||
        space.key.size() < 2 || space.query.size() <= space.key.size() ||
        llvm::any_of(termsOf(attention), [](TermOp term) { return bool(term.getFunction()); }))
      return false;
    auto mask = parse(std::string_view(*attention.getMask()));
    if (!mask || !findBlocks(*mask))
      return false;
    rename(*mask);
    return writeTerms() && finish();
  }

private:
  bool findBlocks(const Expr &mask) {
    Domain domain = domainOf(space.sizes);
    domain.insert(elements.begin(), elements.end());
    std::vector<Expr> conjuncts = conjunctsOf(simplify(mask, domain));
    for (const std::string &key : space.key)
      for (const std::string &query : space.query) {
        auto axis = narrowest(keysOfBlocks(conjuncts, query, key, space.sizes), {query, key, 0, 0, 0, ""});
        bool taken = llvm::any_of(blocks, [&](const BlockAxis &b) { return b.key == key || b.query == query; });
        if (axis && !taken && axis->keys < space.sizes.at(key))
          blocks.push_back(*axis);
      }
    double share = 1;
    for (const BlockAxis &block : blocks)
      share *= double(block.keys) / double(space.sizes.at(block.key));
    return !blocks.empty() && blocks.size() < space.query.size() && share <= kMostShare;
  }

  /// The axes as they will be, what stands for those that there were, and the mask.
  void rename(const Expr &mask) {
    std::vector<std::string> taken = space.leading;
    for (TermOp term : termsOf(attention))
      for (const std::string &axis : resolve(term).spec.axes())
        taken.push_back(axis);
    taken.insert(taken.end(), space.value.begin(), space.value.end());
    sizes = space.sizes;
    for (BlockAxis &block : blocks) {
      block.leading = nextLeadingName(taken);
      taken.push_back(block.leading);
      sizes.erase(block.query);
      sizes[block.leading] = space.sizes.at(block.query);
      sizes[block.key] = block.keys;
      names[block.query] = block.leading;
      Expr number = Expr::symbol(block.leading);
      Expr at = Expr(block.step) * number + Expr::symbol(block.key) + Expr(block.first);
      moved[block.query] = number;
      moved[block.key] = at;
      inside = logicalAnd(inside, logicalAnd(lessEqual(Expr(0), at), less(at, Expr(space.sizes.at(block.key)))));
    }
    std::vector<std::string> left;
    for (const std::string &axis : space.query)
      if (!names.count(axis))
        left.push_back(axis);
    for (auto [axis, name] : llvm::zip(left, axisNames(kQueryAxis, left.size()))) {
      int64_t size = sizes.at(axis);
      sizes.erase(axis);
      queryAxes.push_back(name);
      querySizes[name] = size;
      names[axis] = name;
      moved[axis] = Expr::symbol(name);
    }
    sizes.insert(querySizes.begin(), querySizes.end());
    domain = domainOf(sizes);
    domain.insert(elements.begin(), elements.end());
    inside = simplify(inside, domain);
    this->mask = simplify(logicalAnd(substitute(mask, moved), inside), domain);
  }

  /// A key's operand through a view of the blocks' keys, 0 outside the map; null where it cannot be read so.
  Value viewOf(Value operand, ArrayRef<Expr> subscripts, const std::vector<std::string> &rest, const AxisSizes &all,
               Dimensions &dimensions) {
    Einsum spec;
    Dimensions read;
    std::set<std::string> used;
    Domain within = domainOf(all);
    for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand))) {
      Expr at = simplify(substitute(subscript, moved), within, inside);
      used.merge(symbolsOf(at));
      read.push_back(dimensionFor(at, all, extent));
    }
    AxisSizes given;
    SmallVector<int64_t> shape;
    auto add = [&](const std::vector<std::string> &axes) {
      Dimension dimension;
      dimension.axes = axes;
      int64_t size = 1;
      for (const std::string &axis : axes) {
        size = all.at(axis) == kRuntime ? ShapedType::kDynamic : size * all.at(axis);
        if (all.at(axis) != kRuntime)
          given[axis] = all.at(axis);
      }
      shape.push_back(size);
      dimensions.push_back(std::move(dimension));
    };
    std::vector<std::string> leading = leadingAxes();
    for (const std::string &axis : leading)
      if (used.count(axis))
        add({axis});
    add(space.key);
    for (const std::string &axis : rest)
      add({axis});
    spec.operands = {read};
    spec.result = dimensions;
    OpBuilder builder(attention);
    StringAttr text = builder.getStringAttr(print(spec)), guard = builder.getStringAttr(print(inside));
    DictionaryAttr sizesAttr = sizesTo(builder.getContext(), given);
    std::optional<Expr> condition = inside;
    if (!resolve(text.getValue(), operand, sizesAttr, guard.getValue()))
      return {};
    for (auto [dimension, extent] : llvm::zip(read, shapeOf(operand)))
      if (extent != kRuntime && !dimension.isProduct() &&
          proveWithin(dimension.index, {0, extent - 1}, within, condition).outcome != Proof::Proven)
        return {};
    auto type = RankedTensorType::get(shape, cast<RankedTensorType>(operand.getType()).getElementType());
    auto view = EinsumOp::create(builder, attention.getLoc(), type, text, sizesAttr, guard, operand);
    views.push_back(view);
    return view;
  }

  bool usesAny(ArrayRef<Expr> subscripts, const std::vector<std::string> &axes) const {
    return llvm::any_of(subscripts, [&](const Expr &subscript) {
      std::set<std::string> symbols = symbolsOf(subscript);
      return llvm::any_of(axes, [&](const std::string &axis) { return symbols.count(axis) > 0; });
    });
  }
  std::vector<std::string> keysMoved() const {
    std::vector<std::string> keys;
    for (const BlockAxis &block : blocks)
      keys.push_back(block.key);
    return keys;
  }
  std::vector<std::string> leadingAxes() const {
    std::vector<std::string> leading = space.leading;
    for (const BlockAxis &block : blocks)
      leading.push_back(block.leading);
    return leading;
  }

  /// Where one operand is read from now on. False where it would be read outside.
  bool writeOperand(const ResolvedEinsum &resolved, unsigned number, Value operand,
                    const std::vector<std::string> &rest, const AxisSizes &all, const std::optional<Expr> &guard,
                    Einsum &spec, Value &read) {
    ArrayRef<Expr> subscripts = resolved.subscripts[number];
    bool movedKeys = usesAny(subscripts, keysMoved());
    if (llvm::any_of(subscripts, [](const Expr &e) { return !readNodes(e).empty(); }))
      return false;
    read = operand;
    if (movedKeys && !usesAny(subscripts, space.query)) {
      Dimensions dimensions;
      std::vector<std::string> own;
      for (const std::string &axis : rest)
        if (usesAny(subscripts, {axis}))
          own.push_back(axis);
      read = viewOf(operand, subscripts, own, all, dimensions);
      spec.operands.push_back(std::move(dimensions));
      return static_cast<bool>(read);
    }
    Dimensions dimensions;
    Domain within = domainOf(all);
    std::optional<Expr> condition = guard ? logicalAnd(mask, *guard) : mask;
    for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand))) {
      Expr at = simplify(substitute(subscript, moved), within);
      if (movedKeys && extent != kRuntime &&
          proveWithin(at, {0, extent - 1}, within, condition).outcome != Proof::Proven)
        return false;
      dimensions.push_back(dimensionFor(at, all, extent));
    }
    spec.operands.push_back(std::move(dimensions));
    return true;
  }

  AxisSizes with(const AxisSizes &own) const {
    AxisSizes all = own;
    for (const auto &[axis, name] : names)
      all.erase(axis);
    for (const auto &[axis, size] : sizes)
      all[axis] = size;
    return all;
  }

  /// What each term becomes; nothing is changed but for views, which are taken back where something fails.
  bool writeTerms() {
    for (TermOp term : termsOf(attention)) {
      ResolvedEinsum resolved = resolve(term);
      AxisSizes all = with(resolved.sizes);
      std::optional<Expr> guard;
      for (std::optional<StringRef> text : {term.getGuard(), term.getValue()})
        if (auto e = text ? parse(std::string_view(*text)) : std::nullopt; e && !readNodes(*e).empty())
          return giveUp();
      if (resolved.guard)
        guard = substitute(*resolved.guard, moved);
      Written written{term, {}, {}};
      std::vector<std::string> rest = resolved.contracted;
      if (term->getParentRegion() == &attention.getValues())
        rest.insert(rest.end(), space.value.begin(), space.value.end());
      for (auto [number, operand] : llvm::enumerate(term.getInputs()))
        if (!writeOperand(resolved, number, operand, rest, all, guard, written.spec, written.inputs.emplace_back()))
          return giveUp();
      terms.push_back(std::move(written));
    }
    AxisSizes known;
    for (const auto &[axis, size] : space.sizes)
      if (size != kRuntime)
        known[axis] = size;
    auto values = resolve(attention.getValueSpec(), attention.getValue(), sizesTo(attention.getContext(), known),
                          std::nullopt, nullptr, kernelIndices(attention));
    if (!values || !values->spec.result ||
        !writeOperand(*values, 0, attention.getValue(), space.value, with(values->sizes), std::nullopt, valueSpec,
                      value))
      return giveUp();
    valueSpec.result = values->spec.result;
    for (Dimension &dimension : *valueSpec.result)
      rename(dimension);
    return true;
  }
  bool giveUp() {
    for (EinsumOp view : views)
      view.erase();
    return false;
  }
  void rename(Dimension &dimension) const {
    for (std::string &axis : dimension.axes)
      if (auto name = names.find(axis); name != names.end())
        axis = name->second;
  }

  bool finish() {
    Dimensions dimensions;
    SmallVector<int64_t> rows;
    AxisSizes given;
    auto add = [&](const std::vector<std::string> &axes) {
      Dimension dimension;
      dimension.axes = axes;
      int64_t size = 1;
      for (const std::string &axis : axes)
        size = sizes.at(axis) == kRuntime ? ShapedType::kDynamic : size * sizes.at(axis);
      dimensions.push_back(std::move(dimension));
      rows.push_back(size);
    };
    std::vector<std::string> leading = leadingAxes();
    for (const std::string &axis : leading)
      add({axis});
    add(queryAxes);
    for (const std::vector<std::string> *axes : {&std::as_const(queryAxes), &space.key})
      for (const std::string &axis : *axes)
        given[axis] = sizes.at(axis);
    for (const BlockAxis &block : blocks)
      given[block.leading] = sizes.at(block.leading);
    Dimensions ofRows = dimensions;
    Dimension keys;
    keys.axes = space.key;
    dimensions.push_back(keys);
    AttentionOp result = replaceByDivided(attention, {dimensions, rows, given, mask, valueSpec, value},
                                          [&](OpBuilder &builder, Type type, Value numbers) {
                                            return together(builder, ofRows, type, numbers);
                                          });
    auto there = [&](std::optional<StringRef> e) {
      return StringAttr::get(result.getContext(),
                             print(simplify(substitute(*parse(std::string_view(*e)), moved), domain)));
    };
    for (Written &written : terms) {
      TermOp term = written.term;
      term.setSubscripts(print(written.spec));
      term.getInputsMutable().assign(written.inputs);
      if (term.getGuard())
        term.setGuardAttr(there(term.getGuard()));
      if (term.getValue())
        term.setValueAttr(there(term.getValue()));
      bindIndices(term);
    }
    bindIndices(result);
    return true;
  }

  /// The numbers of rows in the order of queries.
  Value together(OpBuilder &builder, const Dimensions &ofRows, Type type, Value rows) {
    Einsum spec;
    spec.operands = {ofRows};
    Dimensions dimensions(ofRows.begin(), ofRows.begin() + space.leading.size());
    Dimension positions;
    positions.axes = space.query;
    rename(positions);
    dimensions.push_back(positions);
    spec.result = dimensions;
    return RearrangeOp::create(builder, rows.getLoc(), type, builder.getStringAttr(print(spec)),
                               querySizes.size() > 1 ? sizesTo(builder.getContext(), querySizes) : DictionaryAttr(),
                               rows);
  }

  struct Written {
    TermOp term;
    Einsum spec;
    SmallVector<Value> inputs;
  };

  AttentionOp attention;
  const ScoreSpace space;
  Domain elements, domain; // of the axes as they will be
  std::vector<BlockAxis> blocks;
  AxisSizes sizes, querySizes;
  std::vector<std::string> queryAxes;
  std::map<std::string, std::string> names; // of the query's axes
  Substitution moved;
  Expr inside = 1, mask = 1;
  std::vector<Written> terms;
  Einsum valueSpec;
  Value value;
  std::vector<EinsumOp> views;
};

struct SplitBlocks : PassWrapper<SplitBlocks, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitBlocks)
  StringRef getArgument() const override { return "attn-split-blocks"; }
  StringRef getDescription() const override {
    return "blocks of a map become leading axes, and keys those of a block and of what lies around it";
  }
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions(getOperation().getOps<AttentionOp>());
    for (AttentionOp attention : attentions)
      if (!attention.getWeights()) // else of all queries and keys, in their order
        BlockSplitting(attention).rewrite();
  }
};
} // namespace

std::unique_ptr<Pass> skewer::createSplitBlocks() { return std::make_unique<SplitBlocks>(); }
