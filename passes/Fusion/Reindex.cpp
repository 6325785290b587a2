// Rewrites an attention by other axes.
#include "passes/Fusion/Reindex.h"
#include "dialect/IR/Texts.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Analysis/AxisProducts.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

std::string Reindexing::addLeading(const AttentionView &view, int64_t size) {
  std::vector<std::string> taken = view.namesTaken();
  llvm::append_range(taken, space.leading);
  std::string name = nextLeadingName(taken);
  space.leading.push_back(name);
  space.sizes[name] = size;
  return name;
}

static bool readsElements(const Expr &e) { return !readNodes(e).empty(); }

Value skewer::createView(OpBuilder &builder, Location location, Value operand, ArrayRef<Expr> subscripts,
                         const ViewAxes &axes, const std::optional<Expr> &guard, Dimensions &result) {
  if (llvm::any_of(subscripts, readsElements) ||
      !staysInside(operand, subscripts, subscript::domainOf(axes.sizes), guard))
    return {};
  Einsum spec;
  Dimensions &read = spec.operands.emplace_back();
  for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand)))
    read.push_back(dimensionFor(subscript, axes.sizes, extent));
  SmallVector<int64_t> shape;
  auto add = [&](const std::vector<std::string> &product) { addProduct(product, axes.sizes, result, shape); };
  for (const std::string &axis : axes.leading)
    if (usesAny(subscripts, {axis}))
      add({axis});
  add(axes.positions);
  for (const std::string &axis : axes.rest)
    add({axis});
  spec.result = result;
  auto text = builder.getStringAttr(print(spec)), where = guard ? builder.getStringAttr(print(*guard)) : StringAttr();
  DictionaryAttr sizes = sizesTo(builder.getContext(), knownSizes(result, axes.sizes));
  if (!resolve(text.getValue(), operand, sizes, guard ? std::optional(where.getValue()) : std::nullopt))
    return {};
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(operand));
  return EinsumOp::create(builder, location, type, text, sizes, where, operand);
}

Value skewer::moveToEnd(OpBuilder &builder, Location location, Value tensor, std::optional<size_t> dimension) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Dimensions dimensions;
  for (int64_t d = 0; d < type.getRank(); ++d)
    dimensions.push_back({{"d" + std::to_string(d)}, {}});
  Einsum spec{{dimensions}, dimensions};
  SmallVector<int64_t> shape(type.getShape());
  if (dimension) {
    std::rotate(spec.result->begin() + *dimension, spec.result->begin() + *dimension + 1, spec.result->end());
    std::rotate(shape.begin() + *dimension, shape.begin() + *dimension + 1, shape.end());
  }
  return RearrangeOp::create(builder, location, type.clone(shape), builder.getStringAttr(print(spec)), DictionaryAttr(),
                             tensor);
}

Dimensions skewer::replaceAxes(Dimensions dimensions,
                               const std::map<std::string, std::vector<std::string>> &replacements) {
  for (Dimension &dimension : dimensions) {
    std::vector<std::string> axes;
    for (const std::string &axis : dimension.axes)
      if (auto found = replacements.find(axis); found != replacements.end())
        llvm::append_range(axes, found->second);
      else
        axes.push_back(axis);
    dimension.axes = std::move(axes);
  }
  return dimensions;
}

namespace {
class Reindexer {
public:
  Reindexer(AttentionOp attention, const Reindexing &change)
      : attention(attention), change(change), now(change.space), before(attn::viewOf(attention)), old(before->space),
        domain(domainOf(now)), builder(attention) {
    for (const std::string &axis : old.key)
      if (change.keyExists && change.moved.count(axis))
        uncertainKeys.push_back(axis);
    for (const auto &[axis, longer] : change.longer)
      longerAxes.push_back(axis);
  }

  bool rewrite() {
    if (change.mask.isConstant(0) || !before->value || before->sharesValues || !before->value->spec.result)
      return false;
    if (!readTerms() || !read(*before->value, attention.getValue(), old.value, std::nullopt, values)) {
      for (Value view : views)
        view.getDefiningOp()->erase();
      return false;
    }
    for (const auto &[term, operands] : terms)
      write(*term, operands);
    writeAttention();
    writeResults();
    return true;
  }

private:
  /// The operands of a term, or the values, with their subscripts after the change.
  struct Operands {
    Einsum spec;
    SmallVector<Value> inputs;
  };

  Expr moved(const Expr &e, const Domain &within, const std::optional<Expr> &guard = std::nullopt) const {
    return simplify(substitute(e, change.moved), within, guard);
  }
  bool addsPositions() const { return change.keyExists || !change.longer.empty(); }

  bool readTerms() {
    for (const std::vector<Term> *side : {&before->score, &before->values})
      for (const Term &term : *side) {
        for (const std::optional<Expr> &e : {term.einsum.guard, term.factor})
          if (e && addsPositions() && readsElements(*e))
            return false;
        std::vector<std::string> rest = term.einsum.contracted;
        if (term.isOfValues)
          llvm::append_range(rest, old.value);
        terms.push_back({&term, {}});
        if (!read(term.einsum, TermOp(term.op).getInputs(), rest, term.einsum.guard, terms.back().second))
          return false;
      }
    return true;
  }

  /// Finds how the operands are read. `rest` are the axes that are not axes of the space. Returns false if a new
  /// position may be read out of bounds.
  bool read(const ResolvedEinsum &resolved, ValueRange operands, const std::vector<std::string> &rest,
            const std::optional<Expr> &guard, Operands &result) {
    AxisSizes sizes = resolved.sizes;
    for (const auto &[axis, expression] : change.moved)
      sizes.erase(axis);
    for (const auto &[axis, size] : now.sizes)
      sizes[axis] = size;
    const Domain known = domainOf(sizes, now);
    Domain within = known;
    for (const std::string &axis : now.value)
      within.erase(axis); // an axis of one element would become the constant 0, and be in the result alone
    Expr seen = guard ? logicalAnd(change.mask, substitute(*guard, change.moved)) : change.mask;
    for (auto [operand, dimensions, before] : llvm::zip(operands, resolved.spec.operands, resolved.subscripts)) {
      Dimensions own = dimensions;
      std::vector<Expr> subscripts = before;
      Value &input = result.inputs.emplace_back(joined(operand, own, subscripts));
      Dimensions &written = result.spec.operands.emplace_back();
      if (addsPositions() && llvm::any_of(subscripts, readsElements))
        return false;
      SmallVector<Expr> at;
      for (const Expr &subscript : subscripts)
        at.push_back(moved(subscript, within));
      bool ofKeys = usesAny(subscripts, uncertainKeys), ofQueries = usesAny(subscripts, longerAxes);
      bool ofPairs = usesAny(subscripts, old.query) && usesAny(subscripts, old.key);
      if (!ofPairs && (ofKeys || (ofQueries && !staysInside(input, at, known, std::nullopt)))) {
        input = viewOf(input, subscripts, ofKeys, rest, sizes, written);
        if (!input)
          return false;
        continue;
      }
      if ((ofKeys || ofQueries) && !staysInside(input, at, known, seen))
        return false;
      for (auto [d, extent] : llvm::enumerate(shapeOf(input))) {
        bool stays = own[d].axes.size() < 2 && substitute(subscripts[d], change.moved) == subscripts[d];
        if (change.merged.empty() || (at[d].isSymbol() && !stays))
          written.push_back(dimensionFor(at[d], sizes, extent));
        else
          written.push_back(stays ? own[d] : Dimension{{}, at[d]});
      }
    }
    return true;
  }

  /// If an operand has axes that become one axis as separate dimensions, returns a view that has them as one dimension.
  /// `dimensions` and `subscripts`, of the operand by the old axes, become those of the view.
  Value joined(Value operand, Dimensions &dimensions, std::vector<Expr> &subscripts) {
    auto type = cast<RankedTensorType>(operand.getType());
    Einsum spec{{{}}, Dimensions()};
    Dimensions before = std::exchange(dimensions, {});
    std::vector<Expr> at = std::exchange(subscripts, {});
    SmallVector<int64_t> shape;
    AxisSizes sizes;
    for (size_t d = 0; d < before.size();) {
      std::string name = "d" + std::to_string(d);
      auto axes = llvm::find_if(change.merged, [&](const auto &merged) {
        return startsWith(ArrayRef(before).drop_front(d), type.getShape().drop_front(d), merged.second);
      });
      if (axes == change.merged.end()) {
        spec.operands[0].push_back({{name}, {}});
        spec.result->push_back({{name}, {}});
        dimensions.push_back(before[d]);
        subscripts.push_back(at[d]);
        shape.push_back(type.getDimSize(d++));
        continue;
      }
      for (const std::string &axis : axes->second)
        spec.operands[0].push_back({{}, change.moved.at(axis)});
      sizes[axes->first] = now.sizes.at(axes->first);
      spec.result->push_back({{axes->first}, {}});
      dimensions.push_back({axes->second, {}});
      subscripts.push_back(flatIndex(dimensions.back(), old.sizes));
      shape.push_back(sizes.at(axes->first));
      d += axes->second.size();
    }
    if (sizes.empty())
      return operand;
    views.push_back(EinsumOp::create(builder, operand.getLoc(), type.clone(shape), builder.getStringAttr(print(spec)),
                                     sizesTo(builder.getContext(), sizes), StringAttr(), operand));
    return views.back();
  }

  /// Returns whether the first dimensions are exactly these axes, each of them whole.
  bool startsWith(ArrayRef<Dimension> dimensions, ArrayRef<int64_t> shape, ArrayRef<std::string> axes) const {
    for (auto [d, axis] : llvm::enumerate(axes))
      if (d >= dimensions.size() || dimensions[d].axes != std::vector{axis} || shape[d] != old.sizes.at(axis))
        return false;
    return true;
  }

  /// Returns a view of the operand with a row for each new key, or for each new query. It is 0 where the position does
  /// not exist. Returns null if the operand cannot be read so.
  Value viewOf(Value operand, ArrayRef<Expr> subscripts, bool ofKeys, const std::vector<std::string> &rest,
               const AxisSizes &sizes, Dimensions &dimensions) {
    std::vector<std::string> own, positions;
    llvm::copy_if(rest, std::back_inserter(own), [&](const auto &axis) { return usesAny(subscripts, {axis}); });
    Expr exists = 1;
    if (ofKeys) {
      positions = now.key;
      exists = *change.keyExists;
    } else {
      Dimension read;
      llvm::copy_if(old.query, std::back_inserter(read.axes), [&](auto &axis) { return usesAny(subscripts, {axis}); });
      llvm::copy_if(replaceAxes({read}, change.names).front().axes, std::back_inserter(positions),
                    [&](auto &axis) { return llvm::is_contained(now.query, axis); });
      for (const auto &[axis, longer] : change.longer)
        if (usesAny(subscripts, {axis}))
          exists = logicalAnd(exists, longer.exists);
    }
    exists = simplify(exists, domain);
    SmallVector<Expr> at;
    for (const Expr &subscript : subscripts)
      at.push_back(moved(subscript, subscript::domainOf(sizes), exists));
    Value view =
        createView(builder, attention.getLoc(), operand, at, {now.leading, positions, own, sizes}, exists, dimensions);
    if (view)
      views.push_back(view);
    return view;
  }

  void write(const Term &term, const Operands &operands) {
    TermOp op = term.op;
    rewriteTexts(op, {[](Dimensions same) { return same; }, [&](const Expr &e) { return moved(e, domain); }});
    op.setSubscripts(print(operands.spec));
    op.getInputsMutable().assign(operands.inputs);
    bindIndices(op);
  }

  void writeAttention() {
    AxisSizes given;
    for (const std::string &axis : now.leading) {
      addProduct({axis}, now.sizes, ofRows, rowShape);
      if (!llvm::is_contained(old.leading, axis))
        given[axis] = now.sizes.at(axis);
    }
    addProduct(now.query, now.sizes, ofRows, rowShape);
    for (const std::vector<std::string> *axes : {&now.query, &now.key})
      for (const std::string &axis : *axes)
        given[axis] = now.sizes.at(axis);
    Dimensions dimensions = ofRows;
    dimensions.emplace_back().axes = now.key;
    values.spec.result = replaceAxes(*before->value->spec.result, change.names);
    attention.setSpace(print(dimensions));
    attention.setSizesAttr(sizesTo(builder.getContext(), given));
    attention.setMaskAttr(change.mask.isConstant(1) ? StringAttr() : builder.getStringAttr(print(change.mask)));
    attention.setValueSpec(print(values.spec));
    attention.getValueMutable().assign(values.inputs.front());
    bindIndices(attention);
  }

  /// Sets the types of the results, and turns each result into the original tensor for its readers.
  void writeResults() {
    builder.setInsertionPointAfter(attention);
    Dimensions written = *before->value->spec.result;
    auto type = cast<RankedTensorType>(attention.getResult().getType());
    replace(attention.getResult(), lengthened(written, type),
            [&] { return cutOff(written, type, attention.getResult()); });
    Value numbers = attention.getTotal() ? attention.getTotal() : attention.getLse();
    if (numbers && now.leading != old.leading) {
      auto type = cast<RankedTensorType>(numbers.getType());
      replace(numbers, type.clone(rowShape), [&] { return inOrder(numbers, type); });
    }
  }

  static void replace(Value result, Type type, llvm::function_ref<Value()> create) {
    SmallVector<OpOperand *> uses = llvm::map_to_vector(result.getUses(), [](OpOperand &use) { return &use; });
    result.setType(type);
    Value original = create();
    for (OpOperand *use : uses)
      use->set(original);
  }

  /// Rearranges numbers of rows into the order of the old queries.
  Value inOrder(Value numbers, RankedTensorType type) {
    Dimensions dimensions(ofRows.begin(), ofRows.begin() + static_cast<std::ptrdiff_t>(old.leading.size()));
    dimensions.emplace_back().axes = old.query;
    Einsum spec{{ofRows}, replaceAxes(dimensions, change.names)};
    AxisSizes sizes;
    for (const std::string &axis : now.query)
      sizes[axis] = now.sizes.at(axis);
    Value all =
        RearrangeOp::create(builder, numbers.getLoc(), lengthened(dimensions, type), builder.getStringAttr(print(spec)),
                            sizes.size() > 1 ? sizesTo(builder.getContext(), sizes) : DictionaryAttr(), numbers);
    return cutOff(dimensions, type, all);
  }

  bool isLonger(const Dimension &dimension) const {
    return llvm::any_of(dimension.axes, [&](const std::string &axis) { return change.longer.count(axis) > 0; });
  }

  /// Returns the type with rows for the additional queries. `dimensions` are those of the tensor, by the old axes.
  RankedTensorType lengthened(const Dimensions &dimensions, RankedTensorType type) const {
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dimension, extent] : llvm::zip(dimensions, shape))
      for (const std::string &axis : dimension.axes)
        if (auto longer = change.longer.find(axis); longer != change.longer.end())
          extent = extent / old.sizes.at(axis) * longer->second.size;
    return type.clone(shape);
  }

  /// Cuts off the rows of additional queries. `dimensions` are those of the result, by the old axes.
  Value cutOff(const Dimensions &dimensions, RankedTensorType type, Value all) {
    if (change.longer.empty())
      return all;
    AxisSizes sizes = before->value->sizes;
    for (const auto &[axis, size] : old.sizes)
      sizes[axis] = size;
    AxisSizes wide = sizes;
    for (const auto &[axis, longer] : change.longer)
      wide[axis] = longer.size;
    Einsum spec{{dimensions}, dimensions};
    for (auto [dimension, extent] : llvm::zip(spec.operands[0], shapeOf(all)))
      if (isLonger(dimension))
        dimension = dimensionFor(simplify(flatIndex(dimension, wide)), sizes, extent);
    return EinsumOp::create(builder, all.getLoc(), type, builder.getStringAttr(print(spec)),
                            sizesTo(builder.getContext(), knownSizes(dimensions, sizes)), StringAttr(), all);
  }

  AttentionOp attention;
  const Reindexing &change;
  const ScoreSpace &now;
  std::shared_ptr<const AttentionView> before;
  const ScoreSpace &old;
  Domain domain; // of the new axes
  OpBuilder builder;
  std::vector<std::string> uncertainKeys, longerAxes; // old axes with new positions
  std::vector<std::pair<const Term *, Operands>> terms;
  Operands values;
  Dimensions ofRows; // leading axes and queries, after the change
  SmallVector<int64_t> rowShape;
  std::vector<Value> views;
};
} // namespace

bool skewer::reindex(AttentionOp attention, const Reindexing &change) { return Reindexer(attention, change).rewrite(); }
