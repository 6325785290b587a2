// `skewer explain`: what became of each term.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/CompileGpu.h"
#include "tools/skewer/ExplainText.h"
#include "tools/skewer/Session/Targets.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// Whether the kernel is its attentions and nothing beside them: then their prediction is the kernel's.
static bool isAttentionAlone(mlir::ModuleOp scheduled) {
  bool alone = true;
  for (auto function : scheduled.getOps<mlir::func::FuncOp>())
    for (mlir::Operation &op : function.getBody().front())
      alone &= mlir::isa<attn::AttentionOp, mlir::func::ReturnOp>(op) || op.hasTrait<mlir::OpTrait::ConstantLike>();
  return alone;
}

static std::optional<Explanation> explainKernel(Compilation &compilation, const Kernel &kernel) {
  compilation.remarks.clear();
  auto scheduled = compilation.schedule(kernel);
  if (!scheduled)
    return std::nullopt;
  Explanation explanation;
  explanation.facts = factsOf(kernel, *scheduled);
  explanation.spec = compilation.path();
  explanation.target = compilation.target().name;
  size_t number = 0;
  scheduled->walk([&](attn::AttentionOp attention) {
    explanation.layers.push_back(layerFactsOf(attention, explanation.facts.attentions[number++], compilation.target()));
  });
  explanation.work =
      workFactsOf(signatureOf(kernel.einsumFunction()), explanation.facts.flops, explanation.layers,
                  explanation.facts.generic.empty() && isAttentionAlone(*scheduled), compilation.target());
  auto lowered = compilation.lower(std::move(scheduled), kernel.name);
  if (!lowered)
    return std::nullopt;
  explanation.plan = lowered->plan;
  explanation.remarks = compilation.remarks;
  return explanation;
}

static std::optional<Explanation> explainOnGpu(Compilation &compilation, const Kernel &kernel,
                                               const gpu::GpuTarget &target, const Options &options) {
  compilation.remarks.clear();
  auto fused = compilation.schedule(kernel);
  if (!fused)
    return std::nullopt;
  Explanation explanation;
  explanation.spec = compilation.path();
  explanation.target = target.name;
  double flops = factsOf(kernel, *fused).flops;
  explanation.work = workFactsOf(signatureOf(kernel.einsumFunction()), flops, {}, false, compilation.target());
  mlir::OwningOpRef<mlir::ModuleOp> scheduled;
  explanation.gpu =
      gpuFactsOf(compilation, kernel, *fused, target, options, flops, explanation.work.bytesMoved, scheduled);
  if (!explanation.gpu)
    return std::nullopt;
  explanation.facts = factsOf(kernel, *scheduled);
  explanation.facts.generic.clear(); // it is about processors
  size_t number = 0;
  scheduled->walk([&](attn::AttentionOp attention) {
    explanation.layers.push_back(layerFactsOf(attention, explanation.facts.attentions[number++], compilation.target()));
  });
  explanation.remarks = compilation.remarks;
  return explanation;
}

int explain(const Options &options) {
  std::optional<gpu::GpuTarget> onGpu;
  if (gpu::isGpuName(options.target)) {
    std::string name = options.target;
    auto gpus = takeGpuTargets(name);
    if (!gpus)
      return kUsage;
    if (gpus->size() != 1 || !name.empty()) {
      llvm::errs() << "skewer: error: --target: '" << options.target << "' are several; explain takes one\n";
      return kUsage;
    }
    onGpu = gpus->front();
  }
  // What is the same on all targets needs the description of some processor.
  std::optional<Target> target = targetNamed(onGpu ? "x86-64-v3" : options.target);
  if (!target)
    return kUsage;
  llvm::json::Array kernels;
  bool found = false;
  for (const std::string &spec : options.specs) {
    auto compilation = Compilation::create(spec, options.parameters, *target);
    if (!compilation)
      return kWrong;
    for (const Kernel &kernel : compilation->kernels) {
      if (!options.kernel.empty() && kernel.name != options.kernel)
        continue;
      found = true;
      auto explanation =
          onGpu ? explainOnGpu(*compilation, kernel, *onGpu, options) : explainKernel(*compilation, kernel);
      if (!explanation)
        return kWrong;
      if (options.json)
        kernels.push_back(toJson(*explanation));
      else
        printText(*explanation, llvm::outs());
    }
  }
  if (!found) {
    llvm::errs() << "skewer: error: no kernel is named '" << options.kernel << "'\n";
    return kWrong;
  }
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{{"kernels", std::move(kernels)}}))
                 << "\n";
  return kDone;
}

} // namespace skewer::driver
