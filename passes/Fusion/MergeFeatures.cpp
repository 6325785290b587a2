// attn-merge-features: merges the feature dimensions of vectors into one, because tiles support one feature axis only.
#include "dialect/IR/Term.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNMERGEFEATURES
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// The place of the axes in a tensor: consecutive dimensions that hold exactly these axes in this order.
struct Run {
  size_t first = 0, count = 0; // of dimensions
};

std::optional<Run> runOf(const Dimensions &dimensions, const std::vector<std::string> &axes) {
  Run run;
  std::vector<std::string> found;
  for (auto [number, dimension] : llvm::enumerate(dimensions)) {
    bool some = llvm::any_of(dimension.axes, [&](const std::string &axis) { return llvm::is_contained(axes, axis); });
    std::set<std::string> indexed = dimension.isProduct() ? std::set<std::string>() : symbolsOf(dimension.index);
    if (llvm::any_of(axes, [&](const std::string &axis) { return indexed.count(axis) > 0; }))
      return std::nullopt;
    if (!some)
      continue;
    if (run.count == 0)
      run.first = number;
    else if (run.first + run.count != number)
      return std::nullopt;
    ++run.count;
    found.insert(found.end(), dimension.axes.begin(), dimension.axes.end());
  }
  return run.count && found == axes ? std::optional<Run>(run) : std::nullopt;
}

SmallVector<int64_t> mergedShape(ArrayRef<int64_t> shape, const Run &run) {
  SmallVector<int64_t> merged(shape.take_front(run.first));
  int64_t size = 1;
  for (int64_t one : shape.slice(run.first, run.count))
    size *= one;
  merged.push_back(size);
  merged.append(shape.begin() + run.first + run.count, shape.end());
  return merged;
}

void merge(Dimensions &dimensions, const Run &run, const std::string &name) {
  dimensions.erase(dimensions.begin() + run.first, dimensions.begin() + run.first + run.count);
  dimensions.insert(dimensions.begin() + run.first, Dimension{{name}, {}});
}

/// Returns whether the run has no dimension of run-time size; only leading dimensions have one.
bool isKnown(Value tensor, const Run &run) {
  auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
  return llvm::none_of(shape.slice(run.first, run.count), ShapedType::isDynamic);
}

/// Returns the tensor with one dimension in place of the run, at the tensor's location.
Value reshaped(OpBuilder &builder, Value tensor, const Run &run) {
  if (run.count == 1)
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  return ReshapeOp::create(builder, tensor.getLoc(),
                           RankedTensorType::get(mergedShape(type.getShape(), run), type.getElementType()), tensor);
}

/// Returns the sizes without those of the merged axes, which operands tell now.
DictionaryAttr without(DictionaryAttr given, const std::vector<std::string> &axes) {
  AxisSizes sizes = sizesFrom(given);
  for (const std::string &axis : axes)
    sizes.erase(axis);
  return given && !sizes.empty() ? sizesTo(given.getContext(), sizes) : DictionaryAttr();
}

/// Merges the axes that a term contracts.
void mergeContracted(TermOp term, OpBuilder &builder) {
  auto said = termOf(term);
  ResolvedEinsum resolved = said->einsum;
  if (resolved.contracted.size() < 2 || term.getInputs().size() != 2 || term.getFunction())
    return;
  std::vector<std::string> axes;
  for (const std::string &axis : resolved.spec.axes())
    if (llvm::is_contained(resolved.contracted, axis))
      axes.push_back(axis);
  for (const std::optional<Expr> &e : {resolved.guard, said->factor})
    if (e)
      for (const std::string &axis : axes)
        if (symbolsOf(*e).count(axis))
          return;
  std::vector<Run> runs;
  for (auto [dimensions, input] : llvm::zip(resolved.spec.operands, term.getInputs())) {
    auto run = runOf(dimensions, axes);
    if (!run || !isKnown(input, *run))
      return;
    runs.push_back(*run);
  }
  SmallVector<Value> inputs;
  for (auto [number, input] : llvm::enumerate(term.getInputs())) {
    inputs.push_back(reshaped(builder, input, runs[number]));
    merge(resolved.spec.operands[number], runs[number], axes.front());
  }
  term.getInputsMutable().assign(inputs);
  term.setSubscripts(print(resolved.spec));
  term.setSizesAttr(without(term.getSizesAttr(), axes));
}

/// Merges the values' own axes. Their names are those of the result without leading axes and queries.
void mergeValues(AttentionOp attention, const ScoreSpace &space, OpBuilder &builder) {
  if (space.value.size() < 2 || !attention.getValues().getOps<TermOp>().empty())
    return;
  auto spec = parseEinsum(std::string_view(attention.getValueSpec()));
  if (!spec || !spec->result)
    return;
  std::vector<std::string> axes;
  for (const std::string &axis : spec->axes())
    if (llvm::is_contained(space.value, axis))
      axes.push_back(axis);
  auto read = runOf(spec->operands[0], axes), written = runOf(*spec->result, axes);
  if (!read || !written || !isKnown(attention.getValue(), *read) || !isKnown(attention.getResult(), *written))
    return;
  Value value = reshaped(builder, attention.getValue(), *read);
  merge(spec->operands[0], *read, axes.front());
  merge(*spec->result, *written, axes.front());
  attention.getValueMutable().assign(value);
  attention.setValueSpec(print(*spec));
  auto type = cast<RankedTensorType>(attention.getResult().getType());
  auto merged = RankedTensorType::get(mergedShape(type.getShape(), *written), type.getElementType());
  attention.setSizesAttr(without(attention.getSizesAttr(), axes));
  if (merged == type)
    return;
  attention.getResult().setType(merged);
  builder.setInsertionPointAfter(attention);
  auto back = ReshapeOp::create(builder, attention.getLoc(), type, attention.getResult());
  attention.getResult().replaceAllUsesExcept(back.getResult(), back);
}

struct MergeFeatures : skewer::impl::AttnMergeFeaturesBase<MergeFeatures> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions(getOperation().getOps<AttentionOp>());
    for (AttentionOp attention : attentions) {
      OpBuilder builder(attention);
      for (TermOp term : attention.getScore().getOps<TermOp>())
        mergeContracted(term, builder);
      mergeValues(attention, scoreSpace(attention), builder);
    }
  }
};
} // namespace
