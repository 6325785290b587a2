// attn-raise-running-sums: finds running sums in code without a cumulative sum, which multiplies with a triangle of
// ones instead. Examples: positions that are sums of gates (CoPE, arXiv:2405.18719), decays that are sums of steps
// (Mamba-2's dual form, arXiv:2405.21060).
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNRAISERUNNINGSUMS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// The place of the ones in a square matrix: row <= column + by, or column <= row + by; all other elements are zeros.
struct Triangle {
  bool isUpper; // the first form
  int64_t by;   // 0, or -1 if the diagonal is 0 too
  Expr condition(const Expr &row, const Expr &column) const {
    const Expr &low = isUpper ? row : column, &high = isUpper ? column : row;
    return by ? less(low, high) : lessEqual(low, high);
  }
};

std::optional<Triangle> triangleOf(Value tensor) {
  DenseElementsAttr elements;
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!matchPattern(tensor, m_Constant(&elements)) || !isa<FloatType>(type.getElementType()) || type.getRank() != 2 ||
      elements.isSplat() || type.getDimSize(0) != type.getDimSize(1))
    return std::nullopt;
  int64_t size = type.getDimSize(0);
  SmallVector<bool> ones;
  for (const APFloat &element : elements.getValues<APFloat>()) {
    if (!element.isZero() && !element.isExactlyValue(1.0))
      return std::nullopt;
    ones.push_back(!element.isZero());
  }
  // The corner tells the form, and the first element whether the diagonal is one.
  Triangle triangle{ones[size - 1], ones[0] ? 0 : -1};
  for (int64_t row = 0; row < size; ++row)
    for (int64_t column = 0; column < size; ++column) {
      int64_t distance = triangle.isUpper ? column - row : row - column;
      if (ones[row * size + column] != (distance + triangle.by >= 0))
        return std::nullopt;
    }
  return triangle;
}

/// Removes a triangle operand and adds its condition. One axis of the triangle is summed over; the other is an axis of
/// the result that no other operand has.
bool raise(EinsumOp op) {
  ResolvedEinsum resolved = resolve(op);
  if (op.getInputs().size() < 2 || !resolved.spec.result || resolved.contracted.size() != 1 || resolved.guard ||
      !op.getIndices().empty())
    return false;
  const std::string &before = resolved.contracted.front();
  for (auto [number, dimensions] : llvm::enumerate(resolved.spec.operands)) {
    if (dimensions.size() != 2 || !dimensions[0].isAxis() || !dimensions[1].isAxis())
      continue;
    std::string row = dimensions[0].axes.front(), column = dimensions[1].axes.front();
    std::string along = column == before ? row : column;
    Einsum rest = resolved.spec;
    rest.operands.erase(rest.operands.begin() + static_cast<ptrdiff_t>(number));
    std::set<std::string> known;
    for (const Dimensions &others : rest.operands)
      known.merge(skewer::subscript::axesOf(others));
    if (row == column || (row != before && column != before) || known.count(along) || !known.count(before) ||
        !skewer::subscript::axesOf(*rest.result).count(along))
      continue;
    auto triangle = triangleOf(op.getInputs()[number]);
    if (!triangle)
      continue;
    SmallVector<Value> inputs(op.getInputs());
    inputs.erase(inputs.begin() + static_cast<ptrdiff_t>(number));
    AxisSizes sizes = sizesFrom(op.getSizesAttr());
    sizes[along] = resolved.sizes.at(along);
    OpBuilder builder(op);
    auto condition = builder.getStringAttr(print(triangle->condition(Expr::symbol(row), Expr::symbol(column))));
    auto sum = EinsumOp::create(builder, op.getLoc(), op.getType(), builder.getStringAttr(print(rest)),
                                sizesTo(op.getContext(), sizes), condition, inputs);
    op.getResult().replaceAllUsesWith(sum.getResult());
    op.erase();
    return true;
  }
  return false;
}

struct RaiseRunningSums : skewer::impl::AttnRaiseRunningSumsBase<RaiseRunningSums> {
  void runOnOperation() override {
    SmallVector<EinsumOp> einsums(getOperation().getOps<EinsumOp>());
    for (EinsumOp op : einsums)
      raise(op);
  }
};
} // namespace
