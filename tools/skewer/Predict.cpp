// Applies the cost model to a whole kernel: its attentions, and the operations that finish their results.
#include "tools/skewer/Predict.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Cpu/Schedule/Prediction.h"
#include "passes/Stages/Stages.h"

namespace skewer::driver {

namespace {
/// Operations of a kernel outside its attentions.
struct Beside {
  mlir::Operation *other = nullptr;                 // part of no attention, so nothing is predicted for the kernel
  llvm::DenseSet<mlir::Operation *> finishing;      // applied to results before they are stored
  llvm::DenseMap<mlir::Operation *, double> cycles; // cycles of `finishing` by attention, with every run-time size 1
};
} // namespace

/// Adds the arithmetic at the end of a stage, from its result back to the result of the attention.
static void addFinish(const Stage &stage, int64_t lanes, Beside &beside) {
  double elements = 1, cycles = 0;
  for (int64_t size : attn::shapeOf(stage.result))
    elements *= size == subscript::kRuntime ? 1 : static_cast<double>(size);
  llvm::SmallVector<mlir::Operation *> left{stage.result.getDefiningOp()};
  while (!left.empty()) {
    mlir::Operation *op = left.pop_back_val();
    bool isPart = op && op != stage.finishes &&
                  (op == stage.result.getDefiningOp() || llvm::is_contained(stage.folded, op));
    if (!isPart || !beside.finishing.insert(op).second)
      continue;
    if (isArithmetic(op))
      cycles += elements / static_cast<double>(lanes) * cyclesOfArithmetic(*op, lanes);
    for (mlir::Value operand : op->getOperands())
      left.push_back(operand.getDefiningOp());
  }
  beside.cycles[stage.finishes] += cycles;
}

/// Finds the operations outside attentions. Moves of elements happen during reads and writes, and constants compute
/// nothing, so neither counts.
static Beside findBeside(mlir::ModuleOp scheduled, int64_t lanes) {
  Beside beside;
  for (auto function : scheduled.getOps<mlir::func::FuncOp>()) {
    for (const Stage &stage : stagesOf(function))
      if (stage.kind == StageKind::Attention && stage.finishes)
        addFinish(stage, lanes, beside);
    for (mlir::Operation &op : function.getBody().front())
      if (!mlir::isa<attn::AttentionOp, mlir::func::ReturnOp, attn::IndexMapOpInterface, mlir::tensor::DimOp,
                     mlir::tensor::SplatOp>(op) &&
          !op.hasTrait<mlir::OpTrait::ConstantLike>() && !beside.finishing.contains(&op) && !beside.other)
        beside.other = &op;
  }
  return beside;
}

/// Returns the ratio of the useful work at these sizes to the useful work at sizes of 1.
static double callsOf(const Kernel &kernel, mlir::ModuleOp scheduled, const KernelFacts &facts,
                      const std::map<std::string, int64_t> &sizes) {
  double one = sizes.empty() ? facts.flops : factsOf(kernel, scheduled).flops;
  return one > 0 ? facts.flops / one : 1;
}

WorkFacts workOf(const Kernel &kernel, mlir::ModuleOp scheduled, const KernelFacts &facts,
                 const std::vector<LayerFacts> &layers, const Target &target,
                 const std::map<std::string, int64_t> &sizes, mlir::Operation **beside) {
  Beside found = findBeside(scheduled, target.lanes);
  if (beside)
    *beside = found.other;
  bool isAlone = facts.generic.empty() && facts.materialised.empty() && !found.other;
  std::vector<LayerFacts> finished = layers;
  size_t number = 0;
  scheduled.walk([&](attn::AttentionOp attention) {
    LayerFacts &layer = finished[number++];
    layer.work.cycles += found.cycles.lookup(attention) / std::max(1.0, layer.leading);
  });
  return workFactsOf(kernel.signature, facts.flops, finished, isAlone, target, sizes,
                     callsOf(kernel, scheduled, facts, sizes));
}

WorkFacts workOfCall(const Kernel &kernel, mlir::ModuleOp scheduled, const Target &target,
                     const std::map<std::string, int64_t> &sizes) {
  KernelFacts facts = factsOf(kernel, scheduled, sizes);
  std::vector<LayerFacts> layers;
  size_t number = 0;
  scheduled.walk([&](attn::AttentionOp attention) {
    layers.push_back(layerFactsOf(attention, facts.attentions[number++], target));
  });
  return workOf(kernel, scheduled, facts, layers, target, sizes);
}

std::optional<double> predictedSeconds(const Kernel &kernel, mlir::ModuleOp scheduled, const Target &target,
                                       const std::map<std::string, int64_t> &sizes) {
  double seconds = workOfCall(kernel, scheduled, target, sizes).predictedSeconds;
  return seconds > 0 ? std::optional<double>(seconds) : std::nullopt;
}

} // namespace skewer::driver
