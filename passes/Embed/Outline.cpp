// attn-outline: makes attentions inside of larger functions kernels of their own.
#include "dialect/IR/Attn.h"
#include "dialect/IR/RangeEnds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Embed/KernelFunctions.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNOUTLINE
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {
/// An attention and the operations that move with it, in the order of the function; and the values from outside that
/// they read.
struct Part {
  llvm::SetVector<Operation *> operations;
  llvm::SetVector<Value> inputs;
};

/// Visits the operands of the operation, and of operations in its regions, that come from outside of it.
void visitOperands(Operation *op, llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        visit(operand);
  });
}

/// Returns whether all users of the operation are in the part.
bool isReadInside(Operation *op, const llvm::SetVector<Operation *> &part, Block *block) {
  return llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return part.contains(block->findAncestorOpInBlock(*user)); });
}

Part partOf(attn::AttentionOp attention) {
  Part part;
  Block *block = attention->getBlock();
  part.operations.insert(attention);
  for (Operation &op : llvm::reverse(llvm::make_range(block->begin(), attention->getIterator())))
    if (!op.use_empty() && mayBeInKernel(&op) && !isa<attn::AttentionOp>(op) &&
        isReadInside(&op, part.operations, block))
      part.operations.insert(&op);
  SmallVector<Operation *> order(llvm::reverse(part.operations.getArrayRef()));
  // A constant that other operations read too is copied, because a kernel's operands are tensors.
  part.operations.clear();
  llvm::SetVector<Operation *> constants;
  for (Operation *op : order)
    visitOperands(op, [&](Value value) {
      Operation *producer = value.getDefiningOp();
      if (isa_and_nonnull<arith::ConstantOp>(producer) && !llvm::is_contained(order, producer))
        constants.insert(producer);
    });
  part.operations.insert(constants.begin(), constants.end());
  part.operations.insert(order.begin(), order.end());
  for (Operation *op : order)
    visitOperands(op, [&](Value value) {
      if (!part.operations.contains(value.getDefiningOp()))
        part.inputs.insert(value);
    });
  return part;
}

struct Outliner {
  ModuleOp module;
  SymbolTable &symbols;

  bool outline(attn::AttentionOp attention, func::FuncOp function) {
    Part part = partOf(attention);
    for (Value input : part.inputs)
      if (!isa<RankedTensorType>(input.getType()))
        return attention.emitOpError("reads a ") << input.getType() << ", and a kernel's operands are tensors", false;
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointAfter(function);
    auto type = builder.getFunctionType(TypeRange(ValueRange(part.inputs.getArrayRef())), attention->getResultTypes());
    auto kernel = func::FuncOp::create(builder, attention.getLoc(), (function.getName() + "_attention").str(), type);
    kernel.setPrivate();
    symbols.insert(kernel);
    Block *body = kernel.addEntryBlock();
    IRMapping mapping;
    for (auto [input, argument] : llvm::zip(part.inputs, body->getArguments()))
      mapping.map(input, argument);
    builder.setInsertionPointToStart(body);
    for (Operation *op : part.operations)
      builder.clone(*op, mapping);
    SmallVector<Value> results;
    for (Value result : attention->getResults())
      results.push_back(mapping.lookup(result));
    func::ReturnOp::create(builder, attention.getLoc(), results);
    if (!nameArguments(part, function, kernel))
      return attention.emitOpError(
                 "reads run-time sizes of several names, so that those of other operands are unknown; "
                 "outline it by hand, with 'attn.shape' on every argument"),
             false;

    builder.setInsertionPoint(attention);
    // The kernel's argument has the name and the range of the attn.index, so the call passes the index's input.
    SmallVector<Value> operands(llvm::map_range(part.inputs, [](Value input) {
      auto index = input.getDefiningOp<attn::IndexOp>();
      return index ? index.getInput() : input;
    }));
    auto call = func::CallOp::create(builder, attention.getLoc(), kernel, operands);
    attention->replaceAllUsesWith(call.getResults());
    for (Operation *op : llvm::reverse(part.operations))
      if (op->use_empty())
        op->erase();
    return true;
  }

  /// Gives run-time index operands the names and ranges that they have in the function. Dimensions of run-time size get
  /// the names that the function states; a dimension without a stated name has the same size as all others. False if
  /// there is such a dimension, but several names.
  bool nameArguments(const Part &part, func::FuncOp function, func::FuncOp kernel) {
    Builder builder(module.getContext());
    for (unsigned n = 0; n < part.inputs.size(); ++n) {
      auto argument = dyn_cast<BlockArgument>(part.inputs[n]);
      bool isOwn = argument && argument.getOwner()->getParentOp() == function;
      for (StringRef name :
           {StringRef(attn::kArgumentName), StringRef(attn::kArgumentRange), StringRef(attn::kRangeEnds),
            StringRef(attn::kArgumentOrigin), StringRef("attn.shape")})
        if (Attribute attribute = isOwn ? function.getArgAttr(argument.getArgNumber(), name) : Attribute())
          kernel.setArgAttr(n, name, attribute);
      if (auto index = part.inputs[n].getDefiningOp<attn::IndexOp>()) {
        kernel.setArgAttr(n, attn::kArgumentName, index.getCalledAttr());
        if (DenseI64ArrayAttr range = index.getRangeAttr())
          kernel.setArgAttr(n, attn::kArgumentRange, range);
      }
      if (!kernel.getArgAttr(n, attn::kArgumentName))
        kernel.setArgAttr(n, attn::kArgumentName, builder.getStringAttr("input" + std::to_string(n)));
    }
    llvm::SetVector<Attribute> names;
    bool isStated = true;
    for (unsigned n = 0; n < kernel.getNumArguments(); ++n)
      if (auto shape = kernel.getArgAttrOfType<ArrayAttr>(n, "attn.shape")) {
        for (Attribute entry : llvm::make_filter_range(shape, llvm::IsaPred<StringAttr>))
          names.insert(entry);
      } else {
        isStated &= cast<RankedTensorType>(kernel.getArgumentTypes()[n]).hasStaticShape();
      }
    for (Type result : kernel.getResultTypes())
      isStated &= cast<RankedTensorType>(result).hasStaticShape();
    if (names.size() > 1)
      return isStated;
    Attribute size = names.empty() ? Attribute(builder.getStringAttr("batch")) : names.front();
    for (unsigned n = 0; n < kernel.getNumArguments(); ++n)
      if (ArrayAttr shape = shapeOf(builder, kernel.getArgumentTypes()[n], size))
        kernel.setArgAttr(n, "attn.shape", shape);
    for (unsigned n = 0; n < kernel.getNumResults(); ++n)
      if (ArrayAttr shape = shapeOf(builder, kernel.getResultTypes()[n], size))
        kernel.setResultAttr(n, "attn.shape", shape);
    return true;
  }

  /// Returns the type's shape, with `size` for dimensions of run-time size; null if there are none.
  static ArrayAttr shapeOf(Builder &builder, Type type, Attribute size) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<Attribute> shape;
    for (int64_t extent : tensor.getShape())
      shape.push_back(ShapedType::isDynamic(extent) ? size : Attribute(builder.getI64IntegerAttr(extent)));
    return tensor.hasStaticShape() ? ArrayAttr() : builder.getArrayAttr(shape);
  }
};

struct OutlineAttentions : skewer::impl::AttnOutlineBase<OutlineAttentions> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<std::pair<attn::AttentionOp, func::FuncOp>> found;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!isKernel(function))
        function.walk([&](attn::AttentionOp attention) { found.push_back({attention, function}); });
    Outliner outliner{getOperation(), symbols};
    for (auto [attention, function] : found)
      if (!outliner.outline(attention, function))
        return signalPassFailure();
    getOperation().walk([](attn::IndexOp index) {
      if (index.use_empty())
        index.erase();
    });
  }
};
} // namespace
