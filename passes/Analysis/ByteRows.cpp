// Follows an operand back to integers of 8 bits by the arithmetic that widens and scales them.
#include "passes/Analysis/ByteRows.h"
#include "dialect/Subscript/Analysis.h"
#include "dialect/Subscript/Einsum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Analysis/Elementwise.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::subscript;

// With fewer queries, a key is read too seldom for packing to pay.
static constexpr int64_t kFewQueries = 32;

namespace {
using Chain = llvm::SmallPtrSet<Operation *, 4>;

bool namesAny(const Dimension &dimension, const Dimensions &others) {
  auto symbols = [](const Dimension &of) {
    return of.axes.empty() ? symbolsOf(of.index) : std::set<std::string>(of.axes.begin(), of.axes.end());
  };
  std::set<std::string> own = symbols(dimension);
  return llvm::any_of(others, [&](const Dimension &other) {
    return llvm::any_of(symbols(other), [&](const std::string &axis) { return own.count(axis) > 0; });
  });
}

/// Returns whether all elements of a row, along the last dimension, are equal.
bool isConstantAlongRow(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa_and_nonnull<tensor::SplatOp>(op))
    return true;
  if (auto move = dyn_cast_or_null<attn::RearrangeOp>(op)) {
    auto spec = parseEinsum(std::string_view(move.getSpec()));
    return spec && spec->result && !spec->result->empty() && !namesAny(spec->result->back(), spec->operands[0]);
  }
  if (auto einsum = dyn_cast_or_null<attn::EinsumOp>(op)) {
    if (!einsum.getIndices().empty())
      return false;
    attn::ResolvedEinsum resolved = resolve(einsum);
    const Dimensions &result = *resolved.spec.result;
    return !resolved.guard && !result.empty() && llvm::none_of(resolved.spec.operands, [&](const Dimensions &operand) {
      return namesAny(result.back(), operand);
    });
  }
  return op && isElementwise(op) && op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), isConstantAlongRow);
}

/// Returns whether the rows of the tensor are rows of bytes, each times a number. Adds the operations to the chain.
bool isOfBytes(Value tensor, Chain &chain) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return false;
  chain.insert(op);
  if (auto widening = dyn_cast<arith::SIToFPOp>(op))
    return isa<BlockArgument>(widening.getIn()) && getElementTypeOrSelf(widening.getIn()).isInteger(8);
  if (isa<arith::MulFOp>(op)) {
    for (unsigned side : {0u, 1u})
      if (isConstantAlongRow(op->getOperand(1 - side)))
        return isOfBytes(op->getOperand(side), chain);
    return false;
  }
  auto einsum = dyn_cast<attn::EinsumOp>(op);
  if (!einsum || !einsum.getIndices().empty())
    return false;
  attn::ResolvedEinsum resolved = resolve(einsum);
  if (!resolved.contracted.empty() || resolved.guard || resolved.spec.result->empty())
    return false;
  // One operand is the rows, at their places; no other one has an index of the last dimension.
  Value rows;
  for (auto [operand, dimensions] : llvm::zip(einsum.getInputs(), resolved.spec.operands)) {
    if (!namesAny(resolved.spec.result->back(), dimensions))
      continue;
    if (rows || print(dimensions) != print(*resolved.spec.result))
      return false;
    rows = operand;
  }
  return rows &&
         cast<RankedTensorType>(rows.getType()).getShape() == cast<RankedTensorType>(tensor.getType()).getShape() &&
         isOfBytes(rows, chain);
}
} // namespace

/// Arithmetic that is read both as it is and through an index map has a buffer (passes/Stages).
bool skewer::hasByteRows(attn::AttentionOp attention, Value operand) {
  Chain chain;
  auto isRead = [&](Operation *user) { return chain.contains(user) || attention->isAncestor(user); };
  return isOfBytes(operand, chain) && llvm::all_of(chain, [&](Operation *op) {
           SmallVector<Operation *> readers;
           for (Operation *user : op->getResult(0).getUsers())
             if (!isa<tensor::DimOp>(user))
               readers.push_back(user);
           return llvm::all_of(readers, isRead) && (llvm::none_of(readers, llvm::IsaPred<attn::EinsumOp>) ||
                                                    llvm::all_of(readers, llvm::IsaPred<attn::EinsumOp>));
         });
}

bool skewer::readsWholeRows(const Walk &walk, int64_t depth, Value operand, const attn::ScoreSpace &space) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
  if (shape.empty())
    return false;
  int64_t row = shape.back();
  return walk.depth == 1 && depth == row && walk.query % row == 0 && walk.key % row == 0 &&
         simplify(mod(walk.base, Expr(row)), domainOf(space.sizes)).isConstant(0);
}

bool skewer::mayMultiplyBytes(const AttentionShape &shape) {
  return shape.content.size() == 1 && shape.content[0].areBytes && shape.queries >= kFewQueries;
}
