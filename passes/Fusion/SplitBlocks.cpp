// attn-split-blocks. For blocks of a map that see their surroundings (HaloNet, arXiv:2103.12731, as a mask over whole
// maps): the number of a query's block becomes a leading axis, and the keys become those of the block and its halo.
//
// Keys of a halo that lie outside the map are masked. They are read through views that have 0 there, so that tables by
// key - query stay the same at the borders. If blocks do not divide the map, queries of 0 fill the last blocks, and a
// view behind the attention cuts their results off.
#include "dialect/IR/Term.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/MaskBlocks.h"
#include "passes/Fusion/SplitAttention.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
struct Block {
  BlockAxis axis;
  std::string leading; // the name of the block number's axis
};

class BlockSplitting {
public:
  explicit BlockSplitting(AttentionOp attention)
      : attention(attention), before(attn::viewOf(attention)), space(before->space), elements(space.elements) {}

  bool rewrite() {
    if (attention->hasAttr(kAxisExtents) || !before->mask || attention.getScheduleAttr() || space.key.size() < 2 ||
        before->hasFunctions() || !findBlocks(*before->mask))
      return false;
    rename(*before->mask);
    return writeTerms() && finish();
  }

private:
  bool findBlocks(const Expr &mask) {
    Domain domain = domainOf(space.sizes);
    domain.insert(elements.begin(), elements.end());
    for (BlockAxis &axis : blocksOf(simplify(mask, domain), space))
      blocks.push_back({std::move(axis), {}});
    return !blocks.empty();
  }

  /// Sets the new axes, the expressions for the old axes, and the mask.
  void rename(const Expr &mask) {
    std::vector<std::string> taken = before->namesTaken();
    sizes = space.sizes;
    std::map<std::string, const Block *> ofAxis;
    for (Block &block : blocks) {
      const BlockAxis &axis = block.axis;
      block.leading = nextLeadingName(taken);
      taken.push_back(block.leading);
      ofAxis[axis.query] = &block;
      sizes.erase(axis.query);
      sizes[block.leading] = axis.count;
      sizes[axis.key] = axis.keys;
      Expr number = Expr::symbol(block.leading);
      Expr at = Expr(axis.step) * number + Expr::symbol(axis.key) + Expr(axis.first);
      names[axis.query] = {block.leading};
      moved[axis.query] = number;
      moved[axis.key] = at;
      inside = logicalAnd(inside, logicalAnd(lessEqual(Expr(0), at), less(at, Expr(space.sizes.at(axis.key)))));
    }
    std::vector<std::string> left;
    for (const std::string &axis : space.query)
      if (!ofAxis.count(axis) || ofAxis[axis]->axis.countsQueries())
        left.push_back(axis);
    for (auto [axis, name] : llvm::zip(left, axisNames(kQueryAxis, left.size()))) {
      const Block *block = ofAxis.count(axis) ? ofAxis[axis] : nullptr;
      queryAxes.push_back(name);
      querySizes[name] = block ? block->axis.rows : space.sizes.at(axis);
      sizes.erase(axis);
      names[axis].push_back(name);
      Expr within = Expr::symbol(name);
      moved[axis] = block ? Expr(block->axis.rows) * Expr::symbol(block->leading) + within : within;
      if (block)
        there[axis] = less(moved[axis], Expr(space.sizes.at(axis)));
    }
    sizes.insert(querySizes.begin(), querySizes.end());
    domain = domainOf(sizes);
    domain.insert(elements.begin(), elements.end());
    inside = simplify(inside, domain);
    this->mask = simplify(logicalAnd(substitute(mask, moved), inside), domain);
  }

  /// Reads an operand through a view of the blocks' keys, or queries, that is 0 outside the map, where `guard` does not
  /// hold. Returns null if the operand cannot be read so.
  Value viewOf(Value operand, ArrayRef<Expr> subscripts, const std::vector<std::string> &positions, const Expr &guard,
               const std::vector<std::string> &rest, const AxisSizes &all, Dimensions &dimensions) {
    Einsum spec;
    Dimensions read;
    std::set<std::string> used;
    Domain within = domainOf(all);
    for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand))) {
      Expr at = simplify(substitute(subscript, moved), within, guard);
      used.merge(symbolsOf(at));
      read.push_back(dimensionFor(at, all, extent));
    }
    SmallVector<int64_t> shape;
    auto add = [&](const std::vector<std::string> &axes) { addProduct(axes, all, dimensions, shape); };
    std::vector<std::string> leading = leadingAxes();
    for (const std::string &axis : leading)
      if (used.count(axis))
        add({axis});
    add(positions);
    for (const std::string &axis : rest)
      add({axis});
    spec.operands = {read};
    spec.result = dimensions;
    OpBuilder builder(attention);
    StringAttr text = builder.getStringAttr(print(spec)), where = builder.getStringAttr(print(guard));
    DictionaryAttr sizesAttr = sizesTo(builder.getContext(), knownSizes(dimensions, all));
    std::optional<Expr> condition = guard;
    if (!resolve(text.getValue(), operand, sizesAttr, where.getValue()))
      return {};
    for (auto [dimension, extent] : llvm::zip(read, shapeOf(operand)))
      if (extent != kRuntime && !dimension.isProduct() &&
          proveWithin(dimension.index, {0, extent - 1}, within, condition).outcome != Proof::Proven)
        return {};
    auto type = RankedTensorType::get(shape, cast<RankedTensorType>(operand.getType()).getElementType());
    auto view = EinsumOp::create(builder, attention.getLoc(), type, text, sizesAttr, where, operand);
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
    for (const Block &block : blocks)
      keys.push_back(block.axis.key);
    return keys;
  }
  std::vector<std::string> leadingAxes() const {
    std::vector<std::string> leading = space.leading;
    for (const Block &block : blocks)
      leading.push_back(block.leading);
    return leading;
  }

  /// Returns the old query axes whose last block is filled up.
  std::vector<std::string> axesFilledUp() const {
    std::vector<std::string> axes;
    for (const auto &[axis, condition] : there)
      axes.push_back(axis);
    return axes;
  }
  /// Returns whether the operand is read inside its bounds even for queries that only fill up a block.
  bool isWithin(ArrayRef<Expr> subscripts, Value operand, const AxisSizes &all) const {
    Domain within = domainOf(all);
    return llvm::all_of(llvm::zip(subscripts, shapeOf(operand)), [&](const auto &pair) {
      const auto &[subscript, extent] = pair;
      return extent == kRuntime || proveWithin(simplify(substitute(subscript, moved), within), {0, extent - 1}, within)
                                           .outcome == Proof::Proven;
    });
  }

  /// Writes how one operand is read from now on; returns false if it would be read out of bounds.
  bool writeOperand(const ResolvedEinsum &resolved, unsigned number, Value operand,
                    const std::vector<std::string> &rest, const AxisSizes &all, const std::optional<Expr> &guard,
                    Einsum &spec, Value &read) {
    ArrayRef<Expr> subscripts = resolved.subscripts[number];
    bool movedKeys = usesAny(subscripts, keysMoved());
    if (llvm::any_of(subscripts, [](const Expr &e) { return !readNodes(e).empty(); }))
      return false;
    bool filledUp = usesAny(subscripts, axesFilledUp()), ofKeys = movedKeys && !usesAny(subscripts, space.query);
    read = operand;
    Dimensions dimensions;
    if (ofKeys || (filledUp && !usesAny(subscripts, space.key) && !isWithin(subscripts, operand, all))) {
      std::vector<std::string> own, positions;
      for (const std::string &axis : rest)
        if (usesAny(subscripts, {axis}))
          own.push_back(axis);
      Expr guard = inside;
      if (!ofKeys) {
        guard = 1;
        for (const auto &[axis, condition] : there)
          if (usesAny(subscripts, {axis}))
            guard = logicalAnd(guard, condition);
        for (const std::string &axis : space.query)
          if (const std::vector<std::string> &now = names.at(axis);
              usesAny(subscripts, {axis}) && llvm::is_contained(queryAxes, now.back()))
            positions.push_back(now.back());
      }
      read = viewOf(operand, subscripts, ofKeys ? space.key : positions, simplify(guard, domain), own, all, dimensions);
      spec.operands.push_back(std::move(dimensions));
      return static_cast<bool>(read);
    }
    Domain within = domainOf(all);
    std::optional<Expr> condition = guard ? logicalAnd(mask, *guard) : mask;
    for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand))) {
      Expr at = simplify(substitute(subscript, moved), within);
      if ((movedKeys || filledUp) && extent != kRuntime &&
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

  /// Writes the new terms. Changes nothing but views, which are removed again if a step fails.
  bool writeTerms() {
    for (const std::vector<Term> *side : {&before->score, &before->values})
      for (const Term &term : *side)
        if (!writeTerm(term))
          return giveUp();
    if (!before->value || before->sharesValues || !before->value->spec.result)
      return giveUp();
    const ResolvedEinsum &values = *before->value;
    if (!writeOperand(values, 0, attention.getValue(), space.value, with(values.sizes), std::nullopt, valueSpec, value))
      return giveUp();
    valueSpec.result = values.spec.result;
    ofResult = *valueSpec.result;
    valueSizes = values.sizes;
    for (Dimension &dimension : *valueSpec.result)
      rename(dimension);
    return true;
  }
  bool writeTerm(const Term &term) {
    const ResolvedEinsum &resolved = term.einsum;
    AxisSizes all = with(resolved.sizes);
    for (const std::optional<Expr> &e : {resolved.guard, term.factor})
      if (e && !readNodes(*e).empty())
        return false;
    std::optional<Expr> guard;
    if (resolved.guard)
      guard = substitute(*resolved.guard, moved);
    Written written{&term, {}, {}};
    std::vector<std::string> rest = resolved.contracted;
    if (term.isOfValues)
      rest.insert(rest.end(), space.value.begin(), space.value.end());
    for (auto [number, operand] : llvm::enumerate(TermOp(term.op).getInputs()))
      if (!writeOperand(resolved, number, operand, rest, all, guard, written.spec, written.inputs.emplace_back()))
        return false;
    terms.push_back(std::move(written));
    return true;
  }
  bool giveUp() {
    for (EinsumOp view : views)
      view.erase();
    return false;
  }
  void rename(Dimension &dimension) const {
    std::vector<std::string> axes;
    for (const std::string &axis : dimension.axes)
      if (auto name = names.find(axis); name != names.end())
        axes.insert(axes.end(), name->second.begin(), name->second.end());
      else
        axes.push_back(axis);
    dimension.axes = std::move(axes);
  }

  bool finish() {
    Dimensions dimensions;
    SmallVector<int64_t> rows;
    AxisSizes given;
    auto add = [&](const std::vector<std::string> &axes) { addProduct(axes, sizes, dimensions, rows); };
    std::vector<std::string> leading = leadingAxes();
    for (const std::string &axis : leading)
      add({axis});
    add(queryAxes);
    for (const std::vector<std::string> *axes : {&std::as_const(queryAxes), &space.key})
      for (const std::string &axis : *axes)
        given[axis] = sizes.at(axis);
    for (const Block &block : blocks)
      given[block.leading] = sizes.at(block.leading);
    Dimensions ofRows = dimensions;
    Dimension keys;
    keys.axes = space.key;
    dimensions.push_back(keys);
    auto type = cast<RankedTensorType>(attention.getResult().getType());
    AttentionOp result = replaceByDivided(
        attention, {dimensions, rows, given, mask, valueSpec, value, shapeFilledUp(ofResult, type)},
        [&](OpBuilder &builder, Type, Value whole) { return cutOff(builder, ofResult, type, whole); },
        [&](OpBuilder &builder, Type type, Value numbers) { return together(builder, ofRows, type, numbers); });
    auto written = [&](const Expr &e) {
      return StringAttr::get(result.getContext(), print(simplify(substitute(e, moved), domain)));
    };
    for (Written &rewritten : terms) {
      TermOp term = rewritten.term->op;
      term.setSubscripts(print(rewritten.spec));
      term.getInputsMutable().assign(rewritten.inputs);
      if (rewritten.term->einsum.guard)
        term.setGuardAttr(written(*rewritten.term->einsum.guard));
      if (rewritten.term->factor)
        term.setValueAttr(written(*rewritten.term->factor));
      bindIndices(term);
    }
    bindIndices(result);
    return true;
  }

  /// Rearranges the row numbers into the order of the queries.
  Value together(OpBuilder &builder, const Dimensions &ofRows, Type type, Value rows) {
    Einsum spec;
    spec.operands = {ofRows};
    Dimensions dimensions(ofRows.begin(), ofRows.begin() + space.leading.size());
    Dimension positions;
    positions.axes = space.query;
    rename(positions);
    dimensions.push_back(positions);
    spec.result = dimensions;
    dimensions.back().axes = space.query;
    auto whole = cast<RankedTensorType>(type);
    Value all = RearrangeOp::create(
        builder, rows.getLoc(), shapeFilledUp(dimensions, whole), builder.getStringAttr(print(spec)),
        querySizes.size() > 1 ? sizesTo(builder.getContext(), querySizes) : DictionaryAttr(), rows);
    return cutOff(builder, dimensions, whole, all);
  }

  /// Returns the type with rows for the queries that fill up blocks too.
  RankedTensorType shapeFilledUp(const Dimensions &dimensions, RankedTensorType type) const {
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dimension, extent] : llvm::zip(dimensions, shape))
      for (const Block &block : blocks)
        if (llvm::is_contained(dimension.axes, block.axis.query))
          extent = extent / space.sizes.at(block.axis.query) * block.axis.padded();
    return type.clone(shape);
  }

  /// Cuts off the rows of queries that only fill up blocks. `dimensions` are those of the result, by the old axes.
  Value cutOff(OpBuilder &builder, const Dimensions &dimensions, RankedTensorType type, Value all) const {
    if (there.empty())
      return all;
    AxisSizes before = valueSizes;
    for (const auto &[axis, size] : space.sizes)
      before[axis] = size;
    AxisSizes wide = before;
    for (const Block &block : blocks)
      wide[block.axis.query] = block.axis.padded();
    Einsum spec;
    Dimensions &read = spec.operands.emplace_back();
    for (const Dimension &dimension : dimensions) {
      bool isCut = llvm::any_of(dimension.axes, [&](const std::string &axis) { return there.count(axis) > 0; });
      read.push_back(isCut ? Dimension() : dimension);
      if (isCut)
        read.back().index = simplify(flatIndex(dimension, wide));
    }
    spec.result = dimensions;
    return EinsumOp::create(builder, all.getLoc(), type, builder.getStringAttr(print(spec)),
                            sizesTo(builder.getContext(), knownSizes(dimensions, before)), StringAttr(), all);
  }

  struct Written {
    const Term *term; // before the rewrite
    Einsum spec;
    SmallVector<Value> inputs;
  };

  AttentionOp attention;
  std::shared_ptr<const AttentionView> before;
  const ScoreSpace &space;
  const Domain &elements;
  Domain domain; // of the new axes
  std::vector<Block> blocks;
  AxisSizes sizes, querySizes;
  std::vector<std::string> queryAxes;
  std::map<std::string, std::vector<std::string>> names; // of the old query axes
  std::map<std::string, Expr> there; // for axes that are filled up: which queries exist
  Dimensions ofResult;               // by the old axes
  AxisSizes valueSizes;
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
      if (!attention.getWeights()) // stored weights are of all queries and keys, in their order
        BlockSplitting(attention).rewrite();
  }
};
} // namespace

std::unique_ptr<Pass> skewer::createSplitBlocks() { return std::make_unique<SplitBlocks>(); }
