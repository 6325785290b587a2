// attn-raise-skew: merges each chain of index maps (pad, reshape, slice, gather) into one einsum of one operand, whose
// text is the composed map. The fusion pipeline runs it, so that the passes behind it see what a score reads.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Provenance.h"
#include "passes/Fusion/SharedSums.h"
#include "passes/Fusion/Views.h"
#include "passes/Import/FitTable.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNRAISESKEW
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Lets the map read the operand through an index expression, if the gather's indices are the values of one.
void recogniseIndices(GatherOp gather, attn::IndexMap &map) {
  auto indices = cast<ShapedType>(gather.getIndices().getType());
  std::vector<int64_t> values, shape(indices.getShape().begin(), indices.getShape().end());
  for (const APInt &value : gather.getIndices().getValues<APInt>())
    values.push_back(value.getSExtValue());
  std::vector<std::string> symbols;
  for (size_t n = 0; n < shape.size(); ++n)
    symbols.push_back("d" + std::to_string(gather.getDimension() + n));
  if (auto fitted = fitTable(values, shape, symbols))
    map.subscripts[gather.getDimension()] = *fitted;
}

/// Returns whether the expression has at most 2^12 operations, like all expressions of the language. Composed maps may
/// double from one to the next.
bool isShort(const Expr &e) { return sizeOf(e) <= 1 << 12; }

struct RaiseSkew : skewer::impl::AttnRaiseSkewBase<RaiseSkew> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    for (Operation *op : scoreOperations(function))
      if (auto map = dyn_cast<IndexMapOpInterface>(op))
        raise(map);
    for (GatherOp table : tablesOfWeights(function))
      raise(table);
    eraseDead(function);
  }

  /// Returns the gathers whose rows are multiplied with the weights of a softmax: no score is made from them.
  static llvm::SetVector<GatherOp> tablesOfWeights(func::FuncOp function) {
    llvm::SetVector<GatherOp> tables;
    auto isOfWeights = [](Value value) {
      while (auto map = value.getDefiningOp<IndexMapOpInterface>())
        value = map.getMappedOperand();
      return static_cast<bool>(value.getDefiningOp<SoftmaxOp>());
    };
    function.walk([&](EinsumOp einsum) {
      if (llvm::any_of(einsum.getInputs(), isOfWeights))
        for (Value operand : einsum.getInputs())
          if (auto gather = operand.getDefiningOp<GatherOp>(); gather && !isOfWeights(operand))
            tables.insert(gather);
    });
    return tables;
  }

  /// Builds an einsum whose text is `map`, composed with the maps of the einsums below it.
  static Value raiseOnto(OpBuilder &builder, Operation *mover, Value source, attn::IndexMap map,
                         RankedTensorType type) {
    std::vector<std::string> names = dimensionNames(type.getRank());
    Substitution named;
    Domain domain;
    for (auto [k, size] : llvm::enumerate(shapeOf(type))) {
      named["d" + std::to_string(k)] = Expr::symbol(names[k]);
      if (size != kRuntime)
        domain[names[k]] = {0, size - 1};
    }
    Summand summand(mover->getLoc());
    SmallVector<Operation *> passed;
    std::vector<Expr> subscripts;
    for (const Expr &subscript : map.subscripts)
      subscripts.push_back(substitute(subscript, named));
    summand.guard = simplify(substitute(map.inside, named), domain);
    while (auto below = source.getDefiningOp<EinsumOp>()) {
      auto next = mapOf(below);
      if (!next)
        break;
      IndexMap composed = mapAt(*next, subscripts);
      if (!llvm::all_of(composed.subscripts, isShort))
        break;
      subscripts = std::move(composed.subscripts);
      summand.guard = logicalAnd(summand.guard, composed.inside);
      passed.push_back(below);
      source = below.getInputs()[0];
    }
    Expansion expansion(domain, std::nullopt);
    summand.guard = expansion.predicate(summand.guard);
    for (Expr &subscript : subscripts)
      subscript = expansion.simplified(subscript, summand.guard);
    summand.factors.push_back({source, std::move(subscripts)});
    for (Operation *below : llvm::reverse(passed))
      summand.location = withComposed(summand.location, below);
    summand.location = withComposed(summand.location, mover);
    return buildEinsum(builder, summand, names, type);
  }

  static void raise(IndexMapOpInterface op) {
    attn::IndexMap map = op.getIndexMap();
    if (auto gather = dyn_cast<GatherOp>(op.getOperation()))
      recogniseIndices(gather, map);
    if (map.padding != 0 && !map.inside.isConstant(1))
      return;
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (Value raised = sink(builder, op, op.getMappedOperand(), map, type)) {
      op->getResult(0).replaceAllUsesWith(raised);
      op->erase();
    }
  }

  /// Returns whether an einsum that sums is below a tensor.
  static bool holdsProduct(Value tensor, llvm::SmallPtrSetImpl<Operation *> &seen) {
    Operation *op = tensor.getDefiningOp();
    if (!op || !seen.insert(op).second)
      return false;
    auto einsum = dyn_cast<EinsumOp>(op);
    return (einsum && !isView(einsum)) ||
           llvm::any_of(op->getOperands(), [&](Value operand) { return holdsProduct(operand, seen); });
  }

  /// Returns whether an operation is computed as a whole, so that the map does not move below it. A sum that contains
  /// no product, such as (mask - 1) * 1e9 or x - mean(x), is computed before it meets scores: otherwise it would leave
  /// nothing of the scores. It is also computed before the map that repeats it, because it is smaller there. The same
  /// holds for a multiple by a number that cannot be a term's scale.
  static bool isBracket(Operation *sum) {
    auto isMultiple = [&](unsigned side) {
      Operation *other = sum->getOperand(1 - side).getDefiningOp();
      auto number = splatValue(sum->getOperand(side));
      return number && (!isScale(*number) || (other && isBracket(other)));
    };
    if (isa<arith::MulFOp>(sum))
      return isMultiple(0) || isMultiple(1);
    if (isa<arith::DivFOp>(sum))
      return isMultiple(1);
    if (!isa<arith::AddFOp, arith::SubFOp>(sum))
      return false;
    llvm::SmallPtrSet<Operation *, 16> seen;
    return !holdsProduct(sum->getOperand(0), seen) && !holdsProduct(sum->getOperand(1), seen);
  }

  /// Moves the map below sums and multiples, where it meets einsums. The map does not move below a sum with many
  /// readers, which would be written out for each of them.
  static Value sink(OpBuilder &builder, Operation *mover, Value source, const attn::IndexMap &map,
                    RankedTensorType type) {
    Operation *below = source.getDefiningOp();
    bool padded = !map.inside.isConstant(1);
    bool sinks = below && !isBracket(below) &&
                 (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp>(below) ||
                  (isa<arith::DivFOp>(below) && !padded && splatValue(below->getOperand(1))));
    if (!sinks || splatValue(source) || isCopiedTooOften(source))
      return raiseOnto(builder, mover, source, map, type);
    SmallVector<Value> operands;
    for (Value operand : below->getOperands()) {
      auto number = splatValue(operand);
      if (number && type.hasStaticShape()) {
        FloatAttr element = builder.getFloatAttr(type.getElementType(), *number);
        // A padded sum is 0 in its border; a multiple is 0 there, whatever the number is.
        if (padded && !isa<arith::MulFOp>(below))
          return raiseOnto(builder, mover, source, map, type);
        operands.push_back(arith::ConstantOp::create(builder, mover->getLoc(), DenseElementsAttr::get(type, element)));
        continue;
      }
      Value moved = sink(builder, mover, operand, map, type);
      if (!moved)
        return {};
      operands.push_back(moved);
    }
    Operation *copy = builder.clone(*below);
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }
};
} // namespace
