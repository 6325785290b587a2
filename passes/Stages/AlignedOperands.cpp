// Finds the small operands of sums that are worth a transposition, and transposes them.
#include "passes/Stages/AlignedOperands.h"
#include "dialect/Subscript/Analysis.h"
#include "passes/Analysis/Strides.h"
#include "passes/Fusion/Reindex.h"
#include "passes/Stages/Matmul.h"
#include "passes/Stages/Stages.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::subscript;

// If each element is read at least kManyReads times, transposing the operand saves more than it costs. A sum must have
// at least kFewSteps steps: two vectors of the generic path.
static constexpr int64_t kManyReads = 8, kFewSteps = 16;

/// Returns whether vectors can already go along the axis.
static bool isAligned(const attn::ResolvedEinsum &resolved, const std::string &axis) {
  bool moves = false;
  for (const std::vector<Expr> &subscripts : resolved.subscripts) {
    auto step = stepAlong(subscripts, axis);
    if (!step)
      return false;
    moves |= *step != 0;
  }
  return moves;
}

/// Returns whether the tensor is computed from the weights of a softmax. Each read of a weight must check whether the
/// mask hides it.
static bool isWeights(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (attn::rowReductionOf(op))
      return true;
    if (!isMap(op))
      break;
    tensor = op->getOperand(0);
  }
  return false;
}

static void align(attn::EinsumOp op) {
  attn::ResolvedEinsum resolved = resolve(op);
  if (resolved.contracted.empty() || !resolved.spec.result || op.getInputs().size() < 2 || matmulOf(op))
    return;
  const std::string &axis = resolved.contracted.back();
  int64_t products = resolved.sizes.at(axis);
  if (products < kFewSteps || (resolved.guard && symbolsOf(*resolved.guard).count(axis)))
    return;
  for (size_t d = 0; d + 1 < resolved.contracted.size(); ++d)
    products *= std::max<int64_t>(1, resolved.sizes.at(resolved.contracted[d]));
  std::string last;
  for (const Dimension &dimension : *resolved.spec.result)
    for (const std::string &name : dimension.axes) {
      products *= std::max<int64_t>(1, resolved.sizes.at(name));
      last = name;
    }
  if (!last.empty() && resolved.sizes.at(last) >= kFewSteps && isAligned(resolved, last))
    return;
  SmallVector<std::pair<unsigned, size_t>> turns; // operands, and the dimension of each to transpose
  bool any = false;
  for (auto [number, operand] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(operand.getType());
    auto step = stepAlong(resolved.subscripts[number], axis);
    any |= step && *step == 1;
    if (step)
      continue;
    const Dimensions &dimensions = resolved.spec.operands[number];
    auto isAxis = [&](const Dimension &d) { return d.isAxis() && d.axes.front() == axis; };
    auto whole = llvm::find_if(dimensions, isAxis);
    bool once =
        llvm::count_if(resolved.subscripts[number], [&](const Expr &e) { return symbolsOf(e).count(axis); }) == 1;
    if (whole == dimensions.end() || !once || !type.hasStaticShape() || type.getNumElements() > products / kManyReads ||
        isWeights(operand))
      return;
    turns.push_back({unsigned(number), size_t(whole - dimensions.begin())});
  }
  if (!any || turns.empty())
    return;
  OpBuilder builder(op);
  for (auto [number, dimension] : turns) {
    op.getInputsMutable()[number].set(moveToEnd(builder, op.getLoc(), op.getInputs()[number], dimension));
    Dimensions &dimensions = resolved.spec.operands[number];
    std::rotate(dimensions.begin() + dimension, dimensions.begin() + dimension + 1, dimensions.end());
  }
  op.setSpec(print(resolved.spec));
}

void skewer::alignOperands(func::FuncOp function) {
  SmallVector<attn::EinsumOp> sums(function.getOps<attn::EinsumOp>());
  llvm::for_each(sums, align);
}
