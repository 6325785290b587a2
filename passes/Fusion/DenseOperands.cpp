// attn-dense-operands: reads values, keys and queries with uneven strides through a view that has a row for each
// position.
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/Strides.h"
#include "passes/Fusion/Reindex.h"
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
    Value view = createView(builder, attention.getLoc(), value, resolved.subscripts[0],
                            {space.leading, space.key, space.value, sizes}, std::nullopt, dimensions);
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
      bool query = usesAny(subscripts, space.query), key = usesAny(subscripts, space.key);
      const std::vector<std::string> &axes = query ? space.query : space.key;
      if (query == key || !usesAny(subscripts, resolved.contracted) ||
          isEven(term.getInputs()[number], subscripts, axes, sizes))
        continue;
      // A table over one axis of a map is not a tensor of keys: it has few rows.
      if (!llvm::all_of(axes,
                        [&](const std::string &axis) { return sizes.at(axis) == 1 || usesAny(subscripts, {axis}); }))
        continue;
      Dimensions dimensions;
      Value view = createView(builder, term.getLoc(), term.getInputs()[number], subscripts,
                              {space.leading, axes, resolved.contracted, sizes}, std::nullopt, dimensions);
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
