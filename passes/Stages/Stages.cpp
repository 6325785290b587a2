// Divides a function into stages, by the readers of each operation; also prepares results and operands for it.
#include "passes/Stages/Stages.h"
#include "dialect/IR/Reductions.h"
#include "dialect/Subscript/Einsum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Analysis/Elementwise.h"
#include "passes/Fusion/Reindex.h"
#include "passes/Stages/AttentionShapes.h"
#include "passes/Stages/Matmul.h"
#include "passes/Stages/NarrowRows.h"
#include "passes/Stages/PackedOperands.h"
#include "passes/Stages/PrefixSum.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace skewer;

const char *skewer::nameOf(StageKind kind) {
  // In the order of StageKind.
  static constexpr const char *names[] = {"attention", "attention by rows", "einsum", "elementwise", "softmax"};
  return names[static_cast<size_t>(kind)];
}

Value skewer::memoryOf(Value value) {
  while (auto reshape = value.getDefiningOp<attn::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

int64_t skewer::countElements(Value tensor) {
  int64_t product = 1;
  for (int64_t size : cast<RankedTensorType>(tensor.getType()).getShape())
    product *= ShapedType::isDynamic(size) ? 1 : size;
  return product;
}

OrRefusal<AttentionShape> skewer::walkedShape(attn::AttentionOp attention) {
  if (auto refusal = refuseInnerRuntimeSizes(attention))
    return *refusal;
  return shapeOfAttention(attention);
}

OrRefusal<AttentionShape> skewer::fusedShape(attn::AttentionOp attention) {
  auto shape = walkedShape(attention);
  if (shape && !isScheduledForCpu(attention))
    return Refusal{kNotScheduled};
  return shape;
}

bool skewer::isScheduledForCpu(attn::AttentionOp attention) {
  return isa_and_nonnull<attn::CpuScheduleAttr>(attention.getScheduleAttr());
}

/// Renames the axes of a rearrangement to their names in `names`, the dimensions of its operand. Returns false if it
/// divides a dimension in another way.
static bool renameAxes(subscript::Einsum &move, const subscript::Dimensions &names, const subscript::AxisSizes &sizes,
                       const subscript::AxisSizes &given) {
  const subscript::Dimensions &operand = move.operands[0];
  std::map<std::string, std::vector<std::string>> called;
  if (operand.size() != names.size())
    return false;
  for (auto [dimension, name] : llvm::zip(operand, names)) {
    if (dimension.isAxis())
      called[dimension.axes[0]] = name.axes;
    else if (dimension.axes.size() != name.axes.size())
      return false;
    else {
      size_t alike = 0; // axes of the same size; the size of the last one follows
      for (auto [axis, other] : llvm::zip(dimension.axes, name.axes)) {
        auto size = given.find(axis), own = sizes.find(other);
        alike += axis == other || (size != given.end() && own != sizes.end() && size->second == own->second);
        called[axis] = {other};
      }
      if (alike + 1 < name.axes.size() || dimension.axes.empty())
        return false;
    }
  }
  for (const subscript::Dimension &dimension : *move.result)
    if (!llvm::all_of(dimension.axes, [&](const std::string &axis) { return called.count(axis) > 0; }))
      return false;
  move.result = replaceAxes(std::move(*move.result), called);
  return true;
}

/// Returns the sizes that the attention states, with those of axes that are merged in its result: if operands have
/// these axes only inside sums, such as columns of a projection for all heads, nothing else tells their sizes.
static DictionaryAttr sizesOfMerged(attn::AttentionOp attention, const subscript::Dimensions &result,
                                    const subscript::AxisSizes &known) {
  subscript::AxisSizes sizes = attn::sizesFrom(attention.getSizesAttr());
  for (const subscript::Dimension &dimension : result)
    for (const std::string &axis : dimension.axes)
      if (auto size = known.find(axis);
          dimension.axes.size() > 1 && size != known.end() && size->second != subscript::kRuntime)
        sizes.insert(*size);
  return attn::sizesTo(attention.getContext(), sizes);
}

/// Folds one rearrangement into the attention; returns false if there is none that can be folded.
static bool absorbRearrangement(attn::AttentionOp attention, ShapeOfFused shapeOf) {
  Value own = attention.getResult();
  auto move = own.hasOneUse() ? dyn_cast<attn::RearrangeOp>(*own.user_begin()) : attn::RearrangeOp();
  auto value = subscript::parseEinsum(std::string_view(attention.getValueSpec()));
  auto moved = move ? subscript::parseEinsum(std::string_view(move.getSpec())) : std::nullopt;
  if (!value || !moved || !value->result || !moved->result || moved->operands.size() != 1 ||
      !renameAxes(*moved, *value->result, attn::scoreSpace(attention).sizes, attn::sizesFrom(move.getSizesAttr())) ||
      !shapeOf(attention))
    return false;
  // A rearrangement may leave out an axis of one element, but the values' spec, which names the space, may not.
  subscript::Einsum result;
  result.operands = {*moved->result};
  std::vector<std::string> named = result.axes();
  auto isNamed = [&](const std::string &axis) { return llvm::is_contained(named, axis); };
  if (!llvm::all_of(value->result.value(),
                    [&](const subscript::Dimension &d) { return llvm::all_of(d.axes, isNamed); }))
    return false;
  std::string before = attention.getValueSpec().str();
  Type type = attention.getResult().getType();
  DictionaryAttr sizes = attention.getSizesAttr();
  subscript::AxisSizes known = attn::scoreSpace(attention).sizes;
  value->result = moved->result;
  attention.setValueSpec(subscript::print(*value));
  attention.getResult().setType(move.getResult().getType());
  if (!shapeOf(attention)) {
    attention.setSizesAttr(sizesOfMerged(attention, *value->result, known));
    if (!shapeOf(attention)) {
      attention.setSizesAttr(sizes);
      attention.setValueSpec(before);
      attention.getResult().setType(cast<RankedTensorType>(type));
      return false;
    }
  }
  move.getResult().replaceAllUsesWith(attention.getResult());
  move.erase();
  return true;
}

void skewer::absorbRearrangements(func::FuncOp function, ShapeOfFused shapeOf) {
  SmallVector<attn::AttentionOp> attentions(function.getOps<attn::AttentionOp>());
  for (attn::AttentionOp attention : attentions)
    while (absorbRearrangement(attention, shapeOf)) {
    }
}

void skewer::widenOperands(func::FuncOp function, ShapeOfFused shapeOf) {
  auto isNarrow = [](Value value) {
    Type element = getElementTypeOrSelf(value);
    return element.isF16() || element.isBF16();
  };
  auto withElement = [](Type type, Type element) { return cast<RankedTensorType>(type).clone(element); };
  llvm::DenseSet<Operation *> roundings; // roundings of results of earlier stages, which readers in f32 do not need
  auto widen = [&](Operation *op, ArrayRef<Value> operands) {
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    for (Value operand : operands) {
      if (!isNarrow(operand))
        continue;
      Value wide;
      if (Operation *producer = operand.getDefiningOp(); producer && roundings.contains(producer))
        wide = producer->getOperand(0);
      else
        wide = arith::ExtFOp::create(builder, withElement(operand.getType(), builder.getF32Type()), operand);
      op->walk([&](Operation *reader) { reader->replaceUsesOfWith(operand, wide); });
    }
    Value result = op->getResult(0);
    if (!isNarrow(result))
      return;
    Type narrow = result.getType();
    result.setType(withElement(narrow, builder.getF32Type()));
    builder.setInsertionPointAfter(op);
    auto rounded = arith::TruncFOp::create(builder, narrow, result);
    result.replaceAllUsesExcept(rounded, rounded);
    roundings.insert(rounded);
  };
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (auto attention = dyn_cast<attn::AttentionOp>(op); attention && shapeOf(attention))
      widen(attention, operandsOf(attention));
    else if (auto einsum = dyn_cast<attn::EinsumOp>(op); einsum && matmulOf(einsum))
      widen(einsum, SmallVector<Value>(einsum.getInputs()));
  }
}

bool skewer::isProduct(Operation *op) {
  auto einsum = dyn_cast<attn::EinsumOp>(op);
  return einsum && einsum.getIndices().empty() && resolve(einsum).contracted.empty();
}

bool skewer::isMap(Operation *op) { return isa<attn::IndexMapOpInterface>(op) || isProduct(op); }

bool skewer::isWidening(Operation *op) {
  auto number = dyn_cast_or_null<arith::SIToFPOp>(op);
  return isa_and_nonnull<arith::ExtFOp>(op) || (number && getElementTypeOrSelf(number.getIn().getType()).isInteger(8));
}

bool skewer::isWidenedArgument(Value value) {
  auto widening = value.getDefiningOp<arith::ExtFOp>();
  if (!widening || !isa<BlockArgument>(widening.getIn()))
    return false;
  Type element = getElementTypeOrSelf(widening.getIn());
  return element.isF16() || element.isBF16();
}

Value skewer::widenedFrom(Value value) {
  Operation *op = value.getDefiningOp();
  return isWidening(op) ? op->getOperand(0) : value;
}

bool skewer::isArithmetic(Operation *op) {
  return isElementwise(op) &&
         (isWidening(op) || isa<arith::TruncFOp>(op) || op->hasTrait<OpTrait::SameOperandsAndResultType>());
}

bool skewer::isPointwise(Operation *op) { return isArithmetic(op) || isMap(op) || isa<attn::PositionOp>(op); }

namespace {

bool isNumber(Operation *op) { return isa<arith::ConstantOp, tensor::SplatOp, tensor::DimOp>(op); }

/// Returns whether the operation computes numbers from elements of run-time operands: one load and one conversion each.
bool readsElements(Operation *op) {
  auto position = dyn_cast<attn::PositionOp>(op);
  return position && !position.getIndices().empty();
}

// The least number of elements that a sum must add up if they are not in memory: a vector in the loops of the generic
// path.
constexpr int64_t kSummedUp = 8;

/// The readers of an operation's result, and the ways in which they read it.
struct Readers {
  llvm::SmallSetVector<Operation *, 2> stages; // stages whose loops compute it themselves
  bool stored = false;                         // a stage reads it from memory
  bool packed = false;                         // a product or a sum computes each element once, where it reads it
  bool expanded = false;                       // an index map between it and a reader repeats its elements
  unsigned maps = 0, direct = 0;               // numbers of index maps and of arithmetic that read it
};

class Divider {
public:
  Divider(func::FuncOp function, const IsMatmul &isMatmul, bool packsRows)
      : block(function.getBody().front()), isMatmul(isMatmul), packsRows(packsRows), shapes(function) {}

  std::vector<Stage> run() {
    for (Operation &op : block)
      if (isa<attn::PositionOp>(op) || (isPointwise(&op) && llvm::any_of(op.getOperands(), [&](Value operand) {
                                          return ofPositions.contains(operand.getDefiningOp());
                                        })))
        ofPositions.insert(&op);
    for (Operation &op : block)
      if (isOfNarrowRows(&op))
        ofNarrowRows.insert(&op);
    for (Operation &op : llvm::reverse(block))
      if (op.getNumResults() > 0 && isa<RankedTensorType>(op.getResult(0).getType()) && !isNumber(&op))
        place(&op);
    std::vector<Stage> stages;
    for (Operation &op : block)
      if (roots.contains(&op))
        stages.push_back(describe(op.getResult(0)));
    return stages;
  }

private:
  void place(Operation *op) {
    if (ofNarrowRows.contains(op))
      return;
    Readers &own = readers[op];
    for (Operation *user : op->getResult(0).getUsers()) {
      while (user->getBlock() != &block) // a term of an attention
        user = user->getParentOp();
      if (isNumber(user))
        continue; // it reads only a size
      if (ofNarrowRows.contains(user)) { // a kernel reads the scales of rows
        own.stored = true;
        continue;
      }
      auto attention = dyn_cast<attn::AttentionOp>(user);
      if (attention && isPointwise(op) && isPackedOperand(attention, op->getResult(0), shapes)) {
        if (own.stages.insert(user))
          ++own.direct;
      } else if (isRowsOf(op, user) || isColumnsOf(op, user) || isSummedUp(op, user)) {
        own.packed = true;
        ++own.direct;
        own.stages.insert(user);
      } else if (isPackedConcat(user) && isPointwise(op) && isCheapByRows(op->getResult(0))) {
        for (Operation *reader : attentionsOf(user))
          own.stages.insert(reader);
        ++own.direct;
      } else if (!isPointwise(user)) {
        own.stored = true;
      } else if (isa<attn::ReshapeOp>(user)) { // not a map: its readers are readers of this operation
        const Readers &through = readers[user];
        own.stored |= through.stored;
        own.expanded |= through.expanded;
        own.maps += through.maps;
        own.direct += through.direct;
        own.stages.insert(through.stages.begin(), through.stages.end());
      } else {
        bool moves = isMap(user);
        own.maps += moves;
        own.direct += !moves;
        if (roots.contains(user)) {
          own.stages.insert(user);
        } else {
          const Readers &through = readers[user];
          own.stages.insert(through.stages.begin(), through.stages.end());
          own.expanded |= through.expanded;
        }
        own.expanded |= moves && countElements(user->getResult(0)) > countElements(op->getResult(0));
      }
    }
    if (isa<attn::ReshapeOp>(op))
      return; // its operand is stored
    if (finish(op, own))
      return;
    if (isPackedConcat(op))
      return; // it is never whole in memory
    if (isStoredRounding(op)) {
      roots.insert(op);
      return;
    }
    bool folds = isPointwise(op) && !own.stored && (!own.packed || own.stages.size() == 1);
    if (isPartOfAngle(op))
      partsOfAngles.insert(op);
    // Moved elements cost a load wherever they are read. Computed elements are computed once.
    else if (isArithmetic(op) || readsElements(op))
      folds &= own.stages.size() <= 1 && !own.expanded && own.maps <= 1 && (own.maps == 0 || own.direct == 0);
    if (!folds && !op->use_empty())
      roots.insert(op);
  }

  /// Returns whether only sines and cosines of positions read the operation. If a buffer rounds an angle of many turns
  /// to f32, the remainder of the turns loses its precision; sines and cosines therefore compute the angle themselves,
  /// in f64.
  bool isPartOfAngle(Operation *op) {
    if (op->use_empty() ||
        !(isMap(op) ||
          isa<attn::PositionOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp>(op)))
      return false;
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return isNumber(user) || partsOfAngles.contains(user) ||
             (isa<math::SinOp, math::CosOp>(user) && ofPositions.contains(user));
    });
  }
  /// Returns the attentions that read a packed concatenation, directly or widened.
  llvm::SmallSetVector<Operation *, 2> attentionsOf(Operation *op) {
    llvm::SmallSetVector<Operation *, 2> found;
    for (Operation *user : op->getUsers()) {
      while (user->getBlock() != &block)
        user = user->getParentOp();
      if (isa<attn::AttentionOp>(user))
        found.insert(user);
      else
        found.insert_range(attentionsOf(user));
    }
    return found;
  }
  /// Returns whether only attentions read the concatenation, a row at a time: a cache with new rows behind it.
  bool isPackedConcat(Operation *op) { return isa<attn::ConcatOp>(op) && isPackedRows(op->getResult(0)); }
  bool isPackedRows(Value read) {
    return !read.use_empty() && llvm::all_of(read.getUsers(), [&](Operation *user) {
      while (user->getBlock() != &block)
        user = user->getParentOp();
      auto attention = dyn_cast<attn::AttentionOp>(user);
      return attention ? isPackedOperand(attention, read, shapes)
                       : isWidening(user) && isPackedRows(user->getResult(0));
    });
  }

  /// Returns whether a matrix product reads each element of an operation's result once, as its rows.
  bool isRowsOf(Operation *op, Operation *user) {
    auto einsum = dyn_cast<attn::EinsumOp>(user);
    if (!packsRows || !einsum || !isPointwise(op) || !isMatmul || !isMatmul(einsum))
      return false;
    std::optional<Matmul> matmul = matmulOf(einsum);
    Value rows = matmul ? einsum.getInputs()[matmul->rowsInput] : Value();
    if (!matmul || rows != op->getResult(0) || einsum.getInputs()[matmul->columnsInput] == rows)
      return false;
    // Run-time sizes count as 1 on both sides.
    int64_t reads = matmul->rows * matmul->depth;
    attn::ResolvedEinsum resolved = resolve(einsum);
    for (const std::string &axis : llvm::concat<const std::string>(matmul->batch, matmul->outer))
      reads *= std::max<int64_t>(1, resolved.sizes.at(axis));
    return reads == countElements(rows);
  }

  /// Returns whether the operation rounds a product for readers that pack what they read. The product's stage stores
  /// the rounded result, so that they may multiply it as such.
  bool isStoredRounding(Operation *op) {
    Operation *product = isa<arith::TruncFOp>(op) ? op->getOperand(0).getDefiningOp() : nullptr;
    return product && op->getOperand(0) == product->getResult(0) && product->getResult(0).hasOneUse() &&
           mayEndAt(product, op) && endsWithArithmetic(product) && !op->use_empty() &&
           llvm::all_of(op->getUsers(), isWidening);
  }

  /// Returns whether the columns of a matrix product are an argument of fewer bits, widened: they are packed as they
  /// are in memory.
  bool isColumnsOf(Operation *op, Operation *user) {
    auto einsum = dyn_cast<attn::EinsumOp>(user);
    if (!packsRows || !einsum || !isWidenedArgument(op->getResult(0)) || !isMatmul || !isMatmul(einsum))
      return false;
    std::optional<Matmul> matmul = matmulOf(einsum);
    return matmul && einsum.getInputs()[matmul->columnsInput] == op->getResult(0) &&
           einsum.getInputs()[matmul->rowsInput] != op->getResult(0);
  }

  /// Returns whether a sum that is not a matrix product, or an extremum, reads each element of arithmetic once and has
  /// so few results that the elements are computed where they are read: otherwise most of its time would go to their
  /// buffer.
  bool isSummedUp(Operation *op, Operation *user) {
    auto einsum = dyn_cast<attn::EinsumOp>(user);
    auto extremum = dyn_cast<attn::ExtremumOp>(user);
    if (!isArithmetic(op) || !(einsum || extremum) || llvm::count(user->getOperands(), op->getResult(0)) != 1 ||
        (einsum && (isProduct(einsum) || (isMatmul && isMatmul(einsum)) || prefixSumOf(einsum))))
      return false;
    int64_t reads = 1; // run-time sizes count as 1 on both sides
    for (const auto &[axis, size] : (einsum ? resolve(einsum) : resolve(extremum)).sizes)
      reads *= std::max<int64_t>(1, size);
    return reads == countElements(op->getResult(0)) && reads >= kSummedUp * countElements(user->getResult(0));
  }

  /// Returns whether a stage that begins with the operation may end with arithmetic.
  bool endsWithArithmetic(Operation *op) {
    if (auto attention = dyn_cast<attn::AttentionOp>(op))
      return shapes.fused(attention).has_value();
    auto einsum = dyn_cast<attn::EinsumOp>(op);
    return einsum && isMatmul && isMatmul(einsum);
  }

  /// Makes a matrix product or a fused attention part of the stage of its only reader, if that reader is arithmetic
  /// that ends in a stage of its own. If a stage reads two such operations, the later one is part of it. The stage
  /// stores what the arithmetic makes of the first result, and further results as they are.
  bool finish(Operation *op, const Readers &own) {
    if (own.stored || own.maps || own.packed || own.stages.size() != 1 || !endsWithArithmetic(op))
      return false;
    Operation *root = own.stages.front();
    if (!op->getResult(0).hasOneUse() || !mayEndAt(op, root))
      return false;
    Operation *reader = *op->getResult(0).user_begin();
    while (reader != root && isArithmetic(reader) && reader->hasOneUse())
      reader = *reader->user_begin();
    return reader == root && isArithmetic(root) && finished.try_emplace(root, op).second;
  }

  Stage describe(Value result) {
    Operation *op = result.getDefiningOp();
    Stage stage{StageKind::Elementwise, result, {}, "", nullptr};
    if (Operation *first = finished.lookup(op)) {
      stage.kind = isa<attn::AttentionOp>(first) ? StageKind::Attention : StageKind::Einsum;
      stage.finishes = first;
      fold(first, stage);
      fold(op, stage);
      return stage;
    }
    if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
      const OrRefusal<AttentionShape> &shape = shapes.fused(attention);
      stage.kind = shape ? StageKind::Attention : StageKind::Rows;
      stage.reason = shape.reason();
    } else if (isa<attn::ExtremumOp>(op) || (isa<attn::EinsumOp>(op) && !isProduct(op)))
      stage.kind = StageKind::Einsum;
    else if (attn::rowReductionOf(op))
      stage.kind = StageKind::Softmax;
    if (stage.kind != StageKind::Softmax && stage.kind != StageKind::Rows)
      fold(op, stage);
    return stage;
  }
  void fold(Operation *op, Stage &stage) {
    SmallVector<Value> operands(op->getOperands());
    if (auto attention = dyn_cast<attn::AttentionOp>(op))
      operands = operandsOf(attention);
    for (Value operand : operands) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || roots.contains(producer) || isNumber(producer) || llvm::is_contained(stage.folded, producer) ||
          producer == stage.finishes || !(isPointwise(producer) || isa<attn::ConcatOp>(producer)))
        continue;
      fold(producer, stage);
      stage.folded.push_back(producer);
    }
  }

  Block &block;
  const IsMatmul &isMatmul;
  bool packsRows;
  AttentionShapes shapes;
  llvm::DenseMap<Operation *, Operation *> finished; // the operation that a stage begins with, by its last operation
  llvm::DenseMap<Operation *, Readers> readers;
  llvm::DenseSet<Operation *> roots;
  llvm::DenseSet<Operation *> ofNarrowRows; // see NarrowRows.h
  llvm::DenseSet<Operation *> ofPositions;  // computed from positions by arithmetic and maps alone
  llvm::DenseSet<Operation *> partsOfAngles;
};

} // namespace

std::vector<Stage> skewer::stagesOf(func::FuncOp function, const IsMatmul &isMatmul, bool packsRows) {
  return Divider(function, isMatmul, packsRows).run();
}

bool skewer::mayEndAt(Operation *op, Operation *root) {
  return llvm::all_of(llvm::drop_begin(op->getResults()), [&](Value further) {
    return llvm::all_of(further.getUsers(), [&](Operation *user) {
      return root->isBeforeInBlock(op->getBlock()->findAncestorOpInBlock(*user));
    });
  });
}

SmallVector<Value> skewer::resultsOf(const Stage &stage) {
  Operation *op = stage.result.getDefiningOp();
  SmallVector<Value> results = op ? SmallVector<Value>(op->getResults()) : SmallVector<Value>{stage.result};
  if (stage.finishes)
    llvm::append_range(results, llvm::drop_begin(stage.finishes->getResults()));
  return results;
}

void skewer::separateResults(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  llvm::DenseSet<Value> taken;
  for (OpOperand &result : end->getOpOperands()) {
    Operation *owner = memoryOf(result.get()).getDefiningOp();
    if (owner && !isNumber(owner) && taken.insert(memoryOf(result.get())).second)
      continue;
    OpBuilder builder(end);
    Value copy = moveToEnd(builder, result.get().getLoc(), result.get());
    taken.insert(copy);
    result.set(copy);
  }
}
