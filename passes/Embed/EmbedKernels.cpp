// attn-embed-kernels: lowers kernels to functions of tensors, inside a module that may hold other code.
#include "dialect/IR/Attn.h"
#include "dialect/IR/KernelPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Embed/KernelFunctions.h"
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Schedule/Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNEMBEDKERNELS
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {
constexpr int64_t kAlignment = 64; // of the workspaces, in bytes: docs/abi.md

/// Builds the body of a kernel among tensors: memory, workspaces, and one call for each phase.
class Entry {
public:
  Entry(func::FuncOp function, const KernelPlan &plan)
      : function(function), plan(plan), b(function.getLoc(), function.getContext()) {}

  void build() {
    function.getBody().getBlocks().clear();
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    for (auto [argument, described] : llvm::zip(body->getArguments(), plan.inputs)) {
      readSizes(argument, described);
      auto type = cast<RankedTensorType>(argument.getType());
      Value memory = bufferization::ToBufferOp::create(b, MemRefType::get(type.getShape(), type.getElementType()),
                                                       argument, /*read_only=*/true);
      operands.push_back(flat(memory));
      assertRange(operands.back(), described);
    }
    SmallVector<Value> results;
    for (auto [type, described] : llvm::zip(function.getResultTypes(), plan.outputs)) {
      results.push_back(allocate(cast<RankedTensorType>(type), described));
      operands.push_back(flat(results.back()));
    }
    for (const std::string &name : plan.sizes)
      operands.push_back(sizes.at(name));
    Value shared = workspace(value(plan.sharedBytes)), local = workspace(index(plan.localBytes));
    operands.append({shared, local});
    Value prepared = plan.preparedBytes ? workspace(index(plan.preparedBytes)) : Value();
    if (prepared)
      operands.push_back(prepared);
    for (const Phase &phase : plan.phases) {
      SmallVector<Value> all(operands);
      all.append({index(0), value(phase.items)});
      func::CallOp::create(b, phase.function, TypeRange(), all);
    }
    memref::DeallocOp::create(b, shared);
    memref::DeallocOp::create(b, local);
    if (prepared)
      memref::DeallocOp::create(b, prepared);
    SmallVector<Value> tensors;
    for (auto [memory, type] : llvm::zip(results, function.getResultTypes()))
      tensors.push_back(bufferization::ToTensorOp::create(b, type, memory, /*restrict=*/true, /*writable=*/true));
    func::ReturnOp::create(b, tensors);
  }

private:
  Value index(int64_t number) { return arith::ConstantIndexOp::create(b, number); }

  void readSizes(Value tensor, const TensorArgument &described) {
    for (auto [d, extent] : llvm::enumerate(described.shape))
      if (!extent.name.empty() && !sizes.count(extent.name))
        sizes[extent.name] = tensor::DimOp::create(b, tensor, d);
  }

  Value value(const SizeExpression &expression) {
    Value product = index(expression.scaled);
    for (const std::string &factor : expression.factors)
      product = arith::MulIOp::create(b, product, sizes.at(factor));
    return arith::AddIOp::create(b, index(expression.fixed), expression.scaled ? product : index(0));
  }

  /// Returns row-major memory as one dimension.
  Value flat(Value memory) {
    auto type = cast<MemRefType>(memory.getType());
    if (type.getRank() > 1) {
      ReassociationIndices all;
      for (int64_t d = 0; d < type.getRank(); ++d)
        all.push_back(d);
      memory = memref::CollapseShapeOp::create(b, memory, ArrayRef<ReassociationIndices>{all});
    }
    return memref::CastOp::create(b, MemRefType::get({ShapedType::kDynamic}, type.getElementType()), memory);
  }

  /// Emits an assertion that an index operand's elements are in their promised range; else the program ends with a
  /// message.
  void assertRange(Value memory, const TensorArgument &described) {
    if (!described.range)
      return;
    int64_t low = described.range->low, high = described.range->high;
    auto bound = [&](int64_t value) { return arith::ConstantIntOp::create(b, b.getI32Type(), value); };
    Value least = bound(low), most = bound(high), always = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
    auto loop =
        scf::ForOp::create(b, index(0), memref::DimOp::create(b, memory, 0), index(1), always,
                           [&](OpBuilder &at, Location location, Value position, ValueRange inside) {
                             ImplicitLocOpBuilder body(location, at);
                             Value element = memref::LoadOp::create(body, memory, position);
                             Value atLeast = arith::CmpIOp::create(body, arith::CmpIPredicate::sle, least, element);
                             Value atMost = arith::CmpIOp::create(body, arith::CmpIPredicate::sle, element, most);
                             Value both = arith::AndIOp::create(body, atLeast, atMost);
                             scf::YieldOp::create(body, ValueRange{arith::AndIOp::create(body, inside[0], both)});
                           });
    cf::AssertOp::create(
        b, loop.getResult(0),
        llvm::formatv("kernel '{0}': an element of '{1}' is not from {2} to {3}", plan.name, described.name, low, high)
            .str());
  }

  Value allocate(RankedTensorType type, const TensorArgument &described) {
    SmallVector<Value> dynamic;
    for (auto [size, extent] : llvm::zip(type.getShape(), described.shape))
      if (ShapedType::isDynamic(size))
        dynamic.push_back(sizes.at(extent.name));
    return memref::AllocOp::create(b, MemRefType::get(type.getShape(), type.getElementType()), dynamic,
                                   b.getI64IntegerAttr(kAlignment));
  }

  Value workspace(Value bytes) {
    return memref::AllocOp::create(b, MemRefType::get({ShapedType::kDynamic}, b.getI8Type()), bytes,
                                   b.getI64IntegerAttr(kAlignment));
  }

  func::FuncOp function;
  const KernelPlan &plan;
  ImplicitLocOpBuilder b;
  std::map<std::string, Value> sizes;
  SmallVector<Value> operands; // operands of every phase
};

struct EmbedKernels : skewer::impl::AttnEmbedKernelsBase<EmbedKernels> {
  using AttnEmbedKernelsBase::AttnEmbedKernelsBase;

  void runOnOperation() override {
    auto processor = readTarget(target);
    if (!processor) {
      getOperation().emitError() << messageOf(processor.takeError());
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    SmallVector<func::FuncOp> kernels(llvm::make_filter_range(getOperation().getOps<func::FuncOp>(), isKernel));
    for (func::FuncOp kernel : kernels)
      if (failed(embed(kernel, symbols, *processor)))
        return signalPassFailure();
  }

  /// Lowers one kernel and builds its body. A plan describes one kernel of a module, so each is lowered in a module of
  /// its own.
  LogicalResult embed(func::FuncOp kernel, SymbolTable &symbols, const Target &processor) {
    OwningOpRef<ModuleOp> alone(ModuleOp::create(kernel.getLoc()));
    alone->getBody()->push_back(kernel->clone());
    OpPassManager manager(ModuleOp::getOperationName());
    addSchedulePipeline(manager, processor);
    addCpuLoweringPipeline(manager, processor);
    // A pass may run a pipeline only on operations inside of its own operation.
    getOperation().getBody()->push_back(alone.release());
    auto nested = cast<ModuleOp>(&getOperation().getBody()->back());
    LogicalResult lowered = runPipeline(manager, nested);
    std::optional<KernelPlan> plan = planOf(nested);
    if (failed(lowered) || !plan) {
      nested.erase();
      if (succeeded(lowered))
        kernel.emitError("was not lowered: it has no result that a phase makes");
      return failure();
    }
    if (!canEnter(*plan)) {
      nested.erase();
      return kernel.emitError("has a run-time size that no operand's dimension says, so that no caller could give it");
    }
    if (failed(splice(nested, symbols, *plan)))
      return failure();
    Entry(kernel, *plan).build();
    return success();
  }

  static bool canEnter(const KernelPlan &plan) {
    return llvm::all_of(plan.sizes, [&](const std::string &size) {
      return llvm::any_of(plan.inputs, [&](const TensorArgument &input) {
        return llvm::any_of(input.shape, [&](const Extent &extent) { return extent.name == size; });
      });
    });
  }

  /// Moves phases and tables to the module, under names that are not used yet; the plan's phases get the same names.
  LogicalResult splice(ModuleOp nested, SymbolTable &symbols, KernelPlan &plan) {
    SymbolTable own(nested);
    for (Operation &op : llvm::make_early_inc_range(*nested.getBody())) {
      auto symbol = dyn_cast<SymbolOpInterface>(op);
      if (!symbol)
        continue;
      std::string before = symbol.getName().str();
      if (symbols.lookup(before)) {
        auto renamed = own.renameToUnique(&op, {&symbols});
        if (failed(renamed))
          return failure();
        for (Phase &phase : plan.phases)
          if (phase.function == before)
            phase.function = renamed->str();
      }
    }
    for (Operation &op : llvm::make_early_inc_range(*nested.getBody())) {
      op.remove();
      if (auto symbol = dyn_cast<SymbolOpInterface>(op))
        symbol.setVisibility(SymbolTable::Visibility::Private);
      symbols.insert(&op);
    }
    nested.erase();
    return success();
  }
};
} // namespace
