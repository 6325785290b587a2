// attn-dense-operands: reads values, keys and queries with uneven strides through a view that has a row for each
// position.
#include "dialect/IR/Term.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/Strides.h"
#include "passes/Fusion/Summands.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNDENSEOPERANDS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {

/// Returns whether the flat offset of an operand moves by one stride from position to position of `axes`, row by row.
bool isEven(Value operand, const std::vector<Expr> &subscripts, const std::vector<std::string> &axes,
            const AxisSizes &sizes) {
  std::vector<int64_t> shape = shapeOf(operand);
  std::replace(shape.begin(), shape.end(), kRuntime, int64_t(1)); // of leading axes, which do not matter here
  Expr flat = rowMajor(subscripts, shape);
  Substitution others;
  for (const std::string &symbol : symbolsOf(flat))
    if (!llvm::is_contained(axes, symbol))
      others[symbol] = Expr(0);
  auto affine = asAffine(substitute(flat, others), domainOf(sizes));
  return affine && evenStride(affine->coefficients, axes, sizes);
}

/// Creates a view of the operand: its leading axes, the positions of `axes` as one dimension, then `rest`. Returns null
/// if the operand is not provably read inside its bounds at every position.
Value denseView(OpBuilder &builder, Location location, Value operand, const std::vector<Expr> &subscripts,
                const std::vector<std::string> &leading, const std::vector<std::string> &axes,
                const std::vector<std::string> &rest, const AxisSizes &sizes, Dimensions &result) {
  Domain domain = domainOf(sizes);
  std::set<std::string> used;
  Einsum spec;
  Dimensions read;
  for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand))) {
    used.merge(symbolsOf(subscript));
    if (!readsOf(subscript).empty() ||
        (extent != kRuntime && proveWithin(subscript, {0, extent - 1}, domain).outcome != Proof::Proven))
      return {};
    read.push_back(dimensionFor(subscript, sizes, extent));
  }
  SmallVector<int64_t> shape;
  auto add = [&](const std::vector<std::string> &names) { addProduct(names, sizes, result, shape); };
  for (const std::string &axis : leading)
    if (used.count(axis))
      add({axis});
  add(axes);
  for (const std::string &axis : rest)
    add({axis});
  spec.operands = {read};
  spec.result = result;
  auto text = builder.getStringAttr(print(spec));
  DictionaryAttr sizesAttr = sizesTo(builder.getContext(), knownSizes(result, sizes));
  if (!resolve(text.getValue(), operand, sizesAttr, std::nullopt))
    return {};
  auto type = RankedTensorType::get(shape, cast<RankedTensorType>(operand.getType()).getElementType());
  return EinsumOp::create(builder, location, type, text, sizesAttr, StringAttr(), operand);
}

bool uses(const std::vector<Expr> &subscripts, const std::vector<std::string> &axes) {
  return llvm::any_of(subscripts, [&](const Expr &subscript) {
    std::set<std::string> symbols = symbolsOf(subscript);
    return llvm::any_of(axes, [&](const std::string &axis) { return symbols.count(axis) > 0; });
  });
}

struct DenseOperands : skewer::impl::AttnDenseOperandsBase<DenseOperands> {
  void runOnOperation() override {
    getOperation().walk([&](AttentionOp attention) {
      OpBuilder builder(attention);
      densify(attention, builder);
      auto view = viewOf(attention);
      for (const Term &term : view->score)
        densify(term, builder);
    });
  }

  static void densify(AttentionOp attention, OpBuilder &builder) {
    auto before = viewOf(attention);
    const ScoreSpace &space = before->space;
    Value value = attention.getValue();
    if (!before->value || before->sharesValues || space.value.size() != 1)
      return;
    const ResolvedEinsum &resolved = *before->value;
    AxisSizes sizes = resolved.sizes;
    sizes.insert(space.sizes.begin(), space.sizes.end());
    Dimensions dimensions;
    if (isEven(value, resolved.subscripts[0], space.key, sizes))
      return;
    Value view = denseView(builder, attention.getLoc(), value, resolved.subscripts[0], space.leading, space.key,
                           space.value, sizes, dimensions);
    if (!view)
      return;
    Einsum spec = resolved.spec;
    spec.operands = {dimensions};
    attention.setValueSpec(print(spec));
    attention.getValueMutable().set(view);
  }

  static void densify(const Term &said, OpBuilder &builder) {
    TermOp term = said.op;
    const ScoreSpace &space = *said.space;
    ResolvedEinsum resolved = said.einsum;
    if (said.size() != 2 || resolved.contracted.size() != 1 || said.factor || term.getFunction())
      return;
    AxisSizes sizes = resolved.sizes;
    sizes.insert(space.sizes.begin(), space.sizes.end());
    bool changed = false;
    for (unsigned number : {0u, 1u}) {
      const std::vector<Expr> &subscripts = resolved.subscripts[number];
      bool query = uses(subscripts, space.query), key = uses(subscripts, space.key);
      const std::vector<std::string> &axes = query ? space.query : space.key;
      if (query == key || !uses(subscripts, resolved.contracted) ||
          isEven(term.getInputs()[number], subscripts, axes, sizes))
        continue;
      // A table over one axis of a map is not a tensor of keys: it has few rows.
      if (!llvm::all_of(axes, [&](const std::string &axis) { return sizes.at(axis) == 1 || uses(subscripts, {axis}); }))
        continue;
      Dimensions dimensions;
      Value view = denseView(builder, term.getLoc(), term.getInputs()[number], subscripts, space.leading, axes,
                             resolved.contracted, sizes, dimensions);
      if (!view)
        continue;
      resolved.spec.operands[number] = dimensions;
      term.getInputsMutable()[number].set(view);
      changed = true;
    }
    if (changed)
      term.setSubscripts(print(resolved.spec));
  }
};
} // namespace
