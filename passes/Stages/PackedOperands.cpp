// Decides by the reads of an operand, and by the cost of the operations that compute it.
#include "passes/Stages/PackedOperands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Analysis/ByteRows.h"
#include "passes/Stages/AttentionShapes.h"

using namespace mlir;
using namespace skewer;

// The most additions and multiplications for each element; with more, a loop of its own is as good. A rotation has
// three.
static constexpr int kMostOperations = 12;

/// Returns the number of operations per element, for `elements` elements; more than kMostOperations if one of them is
/// not of the arith dialect. Arithmetic with fewer elements, which maps repeat, is in memory and costs nothing.
static int costOf(Value tensor, int64_t elements) {
  Operation *op = tensor.getDefiningOp();
  if (!op || isa<arith::ConstantOp, tensor::SplatOp>(op))
    return 0;
  auto sum = [&](int cost) {
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) && cost <= kMostOperations)
        cost += costOf(operand, elements);
    return cost;
  };
  if (isa<attn::IndexMapOpInterface>(op) || isProduct(op)) {
    return sum(op->getNumOperands() > 1);
  }
  if (op->hasTrait<OpTrait::Elementwise>() && countElements(tensor) < elements)
    return 0;
  if (isWidening(op) || isa<arith::TruncFOp>(op))
    return sum(0);
  if (op->hasTrait<OpTrait::Elementwise>())
    return isa<arith::ArithDialect>(op->getDialect()) ? sum(1) : kMostOperations + 1;
  return 0; // a stage of its own
}

bool skewer::isCheapByRows(Value tensor) { return costOf(tensor, countElements(tensor)) <= kMostOperations; }

bool skewer::isPackedOperand(attn::AttentionOp attention, Value operand, AttentionShapes &shapes) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (!type.getElementType().isF32() || type.getRank() == 0 || type.isDynamicDim(type.getRank() - 1) ||
      costOf(operand, countElements(operand)) > kMostOperations)
    return false;
  const OrRefusal<AttentionShape> &shape = shapes.fused(attention);
  if (!shape)
    return false;
  // A concatenation must leave rows whole, so that each row is from one part. A cache must be read too seldom to be
  // worth a copy.
  if (auto concat = widenedFrom(operand).getDefiningOp<attn::ConcatOp>();
      concat && (concat.getDimension() == 0 || concat.getDimension() + 1 == uint64_t(type.getRank()) ||
                 shape->queries >= kFewQueries))
    return false;
  SmallVector<Value> operands = operandsOf(attention);
  auto number = static_cast<unsigned>(llvm::find(operands, operand) - operands.begin());
  int64_t row = type.getShape().back();
  bool packed = false, fits = true;
  auto read = [&](const Walk &walk, int64_t depth, bool key) {
    if (walk.argument != number)
      return;
    packed = true;
    fits &= readsWholeRows(walk, depth, operand, shape->space);
    if (key && shape->queries < kFewQueries) {
      int64_t rows = shape->keys;
      for (const std::string &axis : shape->space.leading)
        rows *= std::max<int64_t>(1, shape->space.sizes.at(axis));
      fits &= rows * row <= countElements(operand);
    }
  };
  read(shape->value, shape->width, true);
  for (const ContentTerm &term : shape->content) {
    read(term.query, term.depth, false);
    read(term.key, term.depth, true);
  }
  for (const RowTerm &term : shape->rows) {
    read(term.vector, term.depth, term.keySide);
    if (term.table == number) { // packed once, with the strides that it has in memory
      packed = true;
      fits &= isWidenedArgument(operand);
    }
  }
  for (const OtherTerm &term : shape->others)
    fits &= !llvm::is_contained(term.arguments, number);
  for (const ValueTerm &term : shape->valueTerms)
    fits &= term.argument != number;
  return packed && fits;
}
