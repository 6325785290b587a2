// Lowers a kernel from end to end: plans the signature, the stages and the buffers, then emits stage after stage.
#include "passes/Generic/Kernel.h"
#include "dialect/IR/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

Kernel::Kernel(ModuleOp module, func::FuncOp function)
    : module(module), source(function), b(function.getLoc(), function.getContext()), plan(signatureOf(function)) {}

bool generic::fail(Operation *op, const Twine &why) {
  op->emitError() << why;
  return false;
}

/// Returns whether an operation is a scalar that needs no stage: integers are sizes, which are known by name, and
/// numbers are operands of splats.
static bool isScalar(Operation &op) {
  return op.getNumResults() == 1 && !isa<ShapedType>(op.getResult(0).getType()) &&
         isa<arith::ConstantOp, tensor::DimOp>(op);
}

bool Kernel::emit() {
  Block &block = source.getBody().front();
  auto end = cast<func::ReturnOp>(block.getTerminator());
  if (end.getNumOperands() == 0 || !llvm::all_of(end.getOperandTypes(), llvm::IsaPred<RankedTensorType>))
    return fail(source, "a kernel has results, and they are tensors");
  separateResults(source);
  prepare(source);
  for (auto [argument, described] : llvm::zip(block.getArguments(), plan.inputs)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !elementNamedBy(type.getElementType()))
      return fail(source, "the generic path takes tensors of f32, f16, bf16, i32, i8 and f8E4M3FN");
    Storage tensor;
    tensor.shape = described.shape;
    tensor.element = type.getElementType();
    tensors.storage[argument] = std::move(tensor);
    tensors.stored.insert(argument);
  }
  for (Operation &op : block) {
    if (isa<func::ReturnOp>(op) || isScalar(op))
      continue;
    if (auto index = dyn_cast<attn::IndexOp>(op))
      return fail(&op, "index operand '" + index.getCalled() +
                           "' is computed in the kernel; attn-outline makes an argument of it");
    if (op.getNumResults() != 1 && !isa<attn::AttentionOp>(op))
      return fail(&op, "the generic path does not know this operation");
    if (!tensors.describe(&op))
      return false;
    if (isa<arith::ConstantOp, tensor::SplatOp>(op))
      tensors.stored.insert(op.getResult(0));
  }

  for (auto [number, result] : llvm::enumerate(block.getTerminator()->getOperands()))
    tensors.outputOf[memoryOf(result)] = number;
  IsMatmul isMatmul = [&](attn::EinsumOp einsum) { return isMatrixProduct(einsum); };
  stages = stagesOf(source, isMatmul, packsRows);
  for (const Stage &stage : stages) {
    for (Value made : resultsOf(stage))
      tensors.stored.insert(made);
    planStage(stage);
  }
  for (const Stage &stage : stages)
    if (stage.finishes)
      tensors.stored.insert(stage.finishes->getResult(0)); // one tile at a time
  findPrepared();
  if (!planBuffers())
    return false;
  for (const Stage &stage : stages) {
    b.setLoc(stage.result.getLoc());
    size_t firstPhase = plan.phases.size();
    if (!emit(stage))
      return false;
    if (!code.failure.empty())
      return fail(stage.result.getDefiningOp() ? stage.result.getDefiningOp() : source, code.failure);
    if (tensors.prepared.contains(memoryOf(stage.result)))
      for (Phase &made : llvm::drop_begin(plan.phases, firstPhase))
        made.prepares = true;
  }
  if (failed(attachPlan(module, plan)))
    return false;
  source.erase();
  return true;
}

bool Kernel::emit(const Stage &stage) {
  Operation *op = stage.maker();
  switch (stage.kind) {
  case StageKind::Attention:
  case StageKind::Rows:
    beginPhase(stage, "rows");
    return emitRows(cast<attn::AttentionOp>(op));
  case StageKind::Einsum:
    if (auto extremum = dyn_cast<attn::ExtremumOp>(op)) {
      beginPhase(stage, "extremum");
      return emitExtremum(extremum);
    }
    beginPhase(stage, "einsum");
    return emitEinsum(cast<attn::EinsumOp>(op));
  case StageKind::Softmax:
    beginPhase(stage, isa<attn::LogSumExpOp>(op) ? "logsumexp" : "softmax");
    if (auto logSumExp = dyn_cast<attn::LogSumExpOp>(op))
      return emitLogSumExp(logSumExp);
    return emitSoftmax(cast<attn::SoftmaxOp>(op));
  case StageKind::Elementwise:
    break;
  }
  if (auto concat = dyn_cast_if_present<attn::ConcatOp>(op))
    return emitConcat(stage, concat);
  return emitElementwise(stage);
}

void Kernel::beginPhase(const Stage &stage, StringRef title) {
  code.phase = createPhase(b, module, plan, title);
  plan.phases.push_back({code.phase.function.getSymName().str(), title.str(), {1, 0, {}}});
  tensors.openMemory(stage, code.phase);
}
