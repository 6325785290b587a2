// attn-outline: attentions inside of larger functions become kernels of their own.
#include "dialect/IR/Attn.h"
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
/// An attention and what moves with it, in the order of the function; and the values from outside that they read.
struct Part {
  llvm::SetVector<Operation *> operations;
  llvm::SetVector<Value> inputs;
};

void visitOperands(Operation *op, llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
}

/// Whether all that reads the operation is in the part.
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
  // A constant that others read as well is made once more: a kernel's operands are tensors.
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
      Operation *owner = value.getDefiningOp() ? block->findAncestorOpInBlock(*value.getDefiningOp()) : nullptr;
      if (!owner || !part.operations.contains(owner))
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
    nameArguments(part, function, kernel);

    builder.setInsertionPoint(attention);
    auto call = func::CallOp::create(builder, attention.getLoc(), kernel, part.inputs.getArrayRef());
    attention->replaceAllUsesWith(call.getResults());
    for (Operation *op : llvm::reverse(part.operations))
      if (op->use_empty())
        op->erase();
    return true;
  }

  /// Run-time index operands are called by the names and have the ranges that they have in the function; all
  /// dimensions of run-time size, which can be the first of an operand only, are one size.
  void nameArguments(const Part &part, func::FuncOp function, func::FuncOp kernel) {
    Builder builder(module.getContext());
    for (unsigned n = 0; n < part.inputs.size(); ++n) {
      Value input = part.inputs[n];
      auto argument = dyn_cast<BlockArgument>(input);
      bool isOwn = argument && argument.getOwner()->getParentOp() == function;
      for (StringRef name : {StringRef(attn::kArgumentName), StringRef(attn::kArgumentRange),
                             StringRef(attn::kArgumentOrigin), StringRef("attn.shape")})
        if (Attribute attribute = isOwn ? function.getArgAttr(argument.getArgNumber(), name) : Attribute())
          kernel.setArgAttr(n, name, attribute);
      if (!kernel.getArgAttr(n, attn::kArgumentName))
        kernel.setArgAttr(n, attn::kArgumentName, builder.getStringAttr("input" + std::to_string(n)));
      setShape(builder, input.getType(), kernel.getArgAttr(n, "attn.shape"),
               [&](ArrayAttr shape) { kernel.setArgAttr(n, "attn.shape", shape); });
    }
    for (unsigned n = 0; n < kernel.getNumResults(); ++n)
      setShape(builder, kernel.getResultTypes()[n], {},
               [&](ArrayAttr shape) { kernel.setResultAttr(n, "attn.shape", shape); });
  }

  static void setShape(Builder &builder, Type type, Attribute stated, llvm::function_ref<void(ArrayAttr)> set) {
    auto tensor = cast<RankedTensorType>(type);
    if (stated || tensor.hasStaticShape())
      return;
    SmallVector<Attribute> shape;
    for (int64_t size : tensor.getShape())
      shape.push_back(ShapedType::isDynamic(size) ? Attribute(builder.getStringAttr("batch"))
                                                  : Attribute(builder.getI64IntegerAttr(size)));
    set(builder.getArrayAttr(shape));
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
  }
};
} // namespace
