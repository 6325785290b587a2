// Asking the cost model about a whole kernel.
#include "tools/skewer/Predict.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace skewer::driver {

/// Something that the kernel computes beside its attentions, whose prediction is then not the kernel's. What only moves
/// elements is done where they are read or written.
static mlir::Operation *findBeside(mlir::ModuleOp scheduled) {
  for (auto function : scheduled.getOps<mlir::func::FuncOp>())
    for (mlir::Operation &op : function.getBody().front())
      if (!mlir::isa<attn::AttentionOp, mlir::func::ReturnOp, attn::IndexMapOpInterface>(op) &&
          !op.hasTrait<mlir::OpTrait::ConstantLike>())
        return &op;
  return nullptr;
}

/// How many times the useful work with these sizes is that with sizes of 1.
static double callsOf(const Kernel &kernel, mlir::ModuleOp scheduled, const KernelFacts &facts,
                      const std::map<std::string, int64_t> &sizes) {
  double one = sizes.empty() ? facts.flops : factsOf(kernel, scheduled).flops;
  return one > 0 ? facts.flops / one : 1;
}

WorkFacts workOf(const Kernel &kernel, mlir::ModuleOp scheduled, const KernelFacts &facts,
                 const std::vector<LayerFacts> &layers, const Target &target,
                 const std::map<std::string, int64_t> &sizes, mlir::Operation **beside) {
  mlir::Operation *other = findBeside(scheduled);
  if (beside)
    *beside = other;
  bool isAlone = facts.generic.empty() && facts.materialised.empty() && !other;
  return workFactsOf(kernel.signature, facts.flops, layers, isAlone, target, sizes,
                     callsOf(kernel, scheduled, facts, sizes));
}

std::optional<double> predictedSeconds(const Kernel &kernel, mlir::ModuleOp scheduled, const Target &target,
                                       const std::map<std::string, int64_t> &sizes) {
  KernelFacts facts = factsOf(kernel, scheduled, sizes);
  std::vector<LayerFacts> layers;
  size_t number = 0;
  scheduled.walk([&](attn::AttentionOp attention) {
    layers.push_back(layerFactsOf(attention, facts.attentions[number++], target));
  });
  double seconds = workOf(kernel, scheduled, facts, layers, target, sizes).predictedSeconds;
  return seconds > 0 ? std::optional<double>(seconds) : std::nullopt;
}

} // namespace skewer::driver
