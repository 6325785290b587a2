// attn-round-products. A tensor that a product or arithmetic computes and that products only multiply is rounded to
// bf16 where the target multiplies bf16 faster than f32. The tolerance of a kernel whose results are bf16 allows it, as
// it allows rounded weights (docs/accuracy.md).
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/Analysis/ByteRows.h"
#include "passes/Passes.h"
#include "passes/Schedule/CpuEngine.h"
#include "passes/Schedule/Machine.h"
#include "passes/Stages/AttentionShapes.h"
#include "passes/Stages/Matmul.h"
#include "passes/Stages/PackedOperands.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

namespace skewer {
#define GEN_PASS_DEF_ATTNROUNDPRODUCTS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;

// Rounding moves a score by about 2^-9 of its size, and a weight by as much as its score. Computed queries and keys are
// rounded if scores of unit-normal elements deviate by at most kMostDeviation (those of dim^-0.5 do by 1) and have
// kLeastDepth products, whose errors average. On Zen 4, 128 keys, largest error relative to the tolerance of such a
// layer, by scale × sqrt(depth): depth 64 1 0.5, 2.8 1, 4 1.3, 8 1.7; depth 8 1 0.7, 2.8 1.4; depth 2 1.4 2.9.
static constexpr double kMostDeviation = 2;
static constexpr int64_t kLeastDepth = 8;

namespace {
bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// Returns whether the reader scales or moves the value.
bool isScaledBy(OpOperand &use) {
  return isa<arith::MulFOp, arith::NegFOp, RearrangeOp>(use.getOwner()) ||
         (isa<arith::DivFOp>(use.getOwner()) && use.getOperandNumber() == 0);
}

class Products {
public:
  Products(func::FuncOp function, AttentionShapes &shapes, const Target &target)
      : function(function), shapes(shapes), target(target) {}

  /// Returns the results, as they are read, whose every reader multiplies bf16 if they are rounded.
  SmallVector<Value> find() {
    for (Operation &op : function.getBody().front()) {
      bool isStored = isStoredProduct(op);
      if (!isStored && !isComputed(op))
        continue;
      rounded.insert(asRead(op.getResult(0)));
      if (isStored)
        products.insert(asRead(op.getResult(0)));
    }
    // Each removal may leave another product with one operand of f32.
    auto isOfNoUse = [&](Value value) { return !llvm::all_of(value.getUses(), [&](auto &use) { return gains(use); }); };
    while (rounded.remove_if(isOfNoUse)) {
    }
    return SmallVector<Value>(rounded.getArrayRef());
  }

private:
  /// Returns whether the operation is a matrix product or an attention, whose stage stores the result.
  bool isStoredProduct(Operation &op) {
    auto attention = dyn_cast<AttentionOp>(op);
    auto einsum = dyn_cast<EinsumOp>(op);
    bool computes = einsum ? matmulOf(einsum).has_value() : attention && mayRound(attention);
    if (!computes || op.getResult(0).use_empty() || !getElementTypeOrSelf(op.getResult(0)).isF32())
      return false;
    return !endsRounded(op) && isOfInputs(op.getResult(0));
  }
  /// Returns whether the stage of a product ends with arithmetic that rounds its result, so that only bf16 is stored.
  /// Further results must not be read before that.
  static bool endsRounded(Operation &op) {
    Value value = asRead(op.getResult(0));
    while (value.hasOneUse() && !isa<arith::TruncFOp>(*value.user_begin()) && isArithmetic(*value.user_begin()))
      value = value.user_begin()->getResult(0);
    return !value.use_empty() && llvm::all_of(value.getUsers(), llvm::IsaPred<arith::TruncFOp>) &&
           mayEndAt(&op, *value.user_begin());
  }
  /// Returns whether the operation computes vectors: queries or keys that are turned, scaled or moved.
  bool isComputed(Operation &op) {
    return isPointwise(&op) && op.getNumOperands() > 0 && op.getNumResults() == 1 &&
           getElementTypeOrSelf(op.getResult(0)).isF32() && isa<RankedTensorType>(op.getResult(0).getType()) &&
           isOfInputs(op.getResult(0));
  }
  /// Returns whether each summand of the value has a factor that was stored as bf16. The rounding of that factor moves
  /// the value by as much as its own rounding does. Positions and constants that are added are exact, and may be so
  /// large that a rounded sum would lose the rest.
  bool isOfInputs(Value value) {
    if (auto known = ofInputs.find(value); known != ofInputs.end())
      return known->second;
    bool is = findOfInputs(value);
    ofInputs[value] = is;
    return is;
  }
  bool findOfInputs(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return isBf16(value.getType());
    if (isa<arith::AddFOp, arith::SubFOp, ConcatOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value operand) { return isOfInputs(operand); });
    if (isa<arith::DivFOp>(op))
      return isOfInputs(op->getOperand(0));
    if (auto attention = dyn_cast<AttentionOp>(op))
      return isOfInputs(attention.getValue());
    bool isProduct = isa<arith::MulFOp, EinsumOp>(op);
    bool keepsDigits = isProduct || isWidening(op) || isa<arith::TruncFOp, arith::NegFOp, IndexMapOpInterface>(op);
    return keepsDigits && llvm::any_of(op->getOperands(), [&](Value operand) { return isOfInputs(operand); });
  }
  /// Returns whether the attention may round its weights. Weights that are a result keep their digits. The logarithm of
  /// their sum does too, because it is made of weights that are not rounded.
  bool mayRound(AttentionOp attention) {
    return shapes.walked(attention) && (!attention.getWeights() || attention.getWeights().use_empty());
  }
  /// Returns the largest number that the value's elements, which products compute, are multiplied with, as far as
  /// constants and types of 8 bits tell.
  static double factorOf(Value value, unsigned depth = 0) {
    constexpr unsigned kMostOperations = 12;
    Operation *op = depth < kMostOperations ? value.getDefiningOp() : nullptr;
    if (!op)
      return 1;
    if (isWidening(op)) {
      constexpr double kLargestI8 = 128, kLargestF8 = 448;
      Type from = getElementTypeOrSelf(op->getOperand(0).getType());
      if (from.getIntOrFloatBitWidth() == 8)
        return from.isInteger() ? kLargestI8 : kLargestF8;
    }
    if (isa<arith::AddFOp, arith::SubFOp>(op))
      return std::max(factorOf(op->getOperand(0), depth + 1), factorOf(op->getOperand(1), depth + 1));
    if (isa<arith::MulFOp>(op)) {
      double factor = 1;
      for (Value operand : op->getOperands()) {
        DenseFPElementsAttr numbers;
        if (matchPattern(belowMoves(operand), m_Constant(&numbers))) {
          double largest = 0;
          for (const APFloat &number : numbers)
            largest = std::max(largest, std::abs(number.convertToDouble()));
          factor *= largest;
        } else {
          factor *= factorOf(operand, depth + 1);
        }
      }
      return factor;
    }
    auto einsum = dyn_cast<EinsumOp>(op);
    bool isView = einsum && einsum.getInputs().size() == 1 && resolve(einsum).contracted.empty();
    bool isPassed = isView || isWidening(op) || isa<arith::TruncFOp, arith::NegFOp, IndexMapOpInterface>(op);
    return isPassed ? factorOf(op->getOperand(0), depth + 1) : 1;
  }
  static Value belowMoves(Value value) {
    while (auto move = value.getDefiningOp<RearrangeOp>())
      value = move.getInput();
    return value;
  }
  bool isNarrow(Value value) { return isBf16(value.getType()) || rounded.contains(value); }

  /// Returns whether the attention that returns the value then multiplies weights and values as pairs of bf16.
  bool gainsAsResult(Value value) {
    while (auto move = value.getDefiningOp<RearrangeOp>())
      value = move.getInput();
    auto attention = value.getDefiningOp<AttentionOp>();
    return attention && isNarrow(attention.getValue());
  }
  /// Returns whether the reader is a matrix product that multiplies the value with bf16, as its rows: it rounds rows
  /// that are computed when it packs them.
  static bool roundsRows(OpOperand &use) {
    auto einsum = dyn_cast<EinsumOp>(use.getOwner());
    std::optional<Matmul> matmul = einsum ? matmulOf(einsum) : std::nullopt;
    Value columns = matmul ? einsum.getInputs()[matmul->columnsInput] : Value();
    return matmul && use.getOperandNumber() == matmul->rowsInput && isa<BlockArgument>(columns) &&
           isBf16(columns.getType());
  }
  /// Returns whether the reader scales or moves the value, and each reader of what it makes does so too, up to one that
  /// rounds it: then the rounding of the value moves a result by as much as that last one does.
  static bool isScaledAndRounded(OpOperand &use) {
    if (!isScaledBy(use))
      return isa<arith::TruncFOp>(use.getOwner());
    llvm::SetVector<Operation *> readers;
    readers.insert(use.getOwner());
    for (size_t k = 0; k < readers.size(); ++k)
      for (OpOperand &further : readers[k]->getResult(0).getUses())
        if (isScaledBy(further))
          readers.insert(further.getOwner());
        else if (!isa<arith::TruncFOp>(further.getOwner()) && !roundsRows(further))
          return false;
    return true;
  }
  /// Returns whether the value need not be f32 for this reader, and someone gains by its rounding.
  bool gains(OpOperand &use) {
    Operation *user = use.getOwner();
    if (isScaledAndRounded(use))
      return gainsAsResult(use.get());
    if (isa<EinsumOp>(user))
      return products.contains(use.get()) && roundsRows(use);
    auto attention = isa<AttentionOp>(user) ? cast<AttentionOp>(user) : user->getParentOfType<AttentionOp>();
    return attention && !attention.getScheduleAttr() && shapes.walked(attention) && gains(attention, use.get());
  }
  /// Returns whether queries and keys are multiplied as integers: faster, and without a rounding.
  bool multipliesBytes(const AttentionShape &shape) {
    return mayMultiplyBytes(shape) && contentEngineFor(ElementType::I8, shape.content[0].depth, target).sumsIntegers();
  }
  bool gains(AttentionOp attention, Value value) {
    const AttentionShape &shape = *shapes.walked(attention);
    SmallVector<Value> operands = operandsOf(attention);
    auto number = static_cast<unsigned>(llvm::find(operands, value) - operands.begin());
    // Values, and keys of few queries, are computed as f32.
    bool isStored = products.contains(value);
    bool all = shape.value.argument != number || (isStored && isNarrow(asRead(attention->getResult(0))));
    all &= isStored || shape.queries >= kFewQueries;
    bool areSmall = llvm::all_of(shape.content, [&](const ContentTerm &term) {
      if (products.contains(operands[term.query.argument]) && products.contains(operands[term.key.argument]))
        return true; // as a module's projections are, whose sizes nothing tells
      double factors = factorOf(operands[term.query.argument]) * factorOf(operands[term.key.argument]);
      return term.depth >= kLeastDepth &&
             std::abs(term.scale) * factors * std::sqrt(double(term.depth)) <= kMostDeviation;
    });
    // Weights without a softmax may have both signs, so that their sum may be small: it needs the digits of the scores.
    bool sumsMayCancel = attention.getTotal() && !attention.getTotal().use_empty();
    for (const ContentTerm &term : shape.content)
      if (term.query.argument == number || term.key.argument == number)
        all &= areSmall && !sumsMayCancel && !multipliesBytes(shape) && isNarrow(operands[term.query.argument]) &&
               isNarrow(operands[term.key.argument]);
    for (const RowTerm &term : shape.rows) {
      all &= term.table != number;
      if (term.vector.argument == number)
        all &= !sumsMayCancel && isNarrow(operands[term.table]);
    }
    for (const OtherTerm &term : shape.others)
      all &= !llvm::is_contained(term.arguments, number);
    for (const ValueTerm &term : shape.valueTerms)
      all &= term.argument != number;
    return all;
  }

  func::FuncOp function;
  AttentionShapes &shapes;
  const Target &target;
  llvm::SmallSetVector<Value, 8> rounded; // may be rounded, as far as is known
  llvm::DenseSet<Value> products;         // of these, results of products, which are stored
  llvm::DenseMap<Value, bool> ofInputs;   // isOfInputs, as far as it was asked
};

struct RoundProducts : skewer::impl::AttnRoundProductsBase<RoundProducts> {
  using AttnRoundProductsBase::AttnRoundProductsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto processor = readTarget(target);
    if (!processor) {
      function.emitError() << messageOf(processor.takeError());
      return signalPassFailure();
    }
    bool isFaster = &cpuEngineFor(ElementType::BF16, *processor) != cpuEngines().front();
    // The stages of a kernel with lengths are prepared already.
    if (!isFaster || function->hasAttr(kLengths) || !llvm::all_of(function.getResultTypes(), isBf16))
      return markAllAnalysesPreserved();
    Products products(function, getAnalysis<AttentionShapes>(), *processor);
    for (Value value : products.find())
      round(value);
  }

  /// Rounds the value for all of its readers. Products take bf16, arithmetic takes what is widened again.
  static void round(Value value) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfter(value.getDefiningOp());
    Type narrow = cast<RankedTensorType>(value.getType()).clone(builder.getBF16Type());
    auto rounding = arith::TruncFOp::create(builder, value.getLoc(), narrow, value);
    value.replaceUsesWithIf(rounding, [&](OpOperand &use) {
      return use.getOwner() != rounding && !isa<arith::TruncFOp>(use.getOwner()) && !isScaledBy(use);
    });
    if (value.hasOneUse())
      return;
    auto widened = arith::ExtFOp::create(builder, value.getLoc(), value.getType(), rounding.getResult());
    value.replaceAllUsesExcept(widened, rounding);
  }
};
} // namespace
