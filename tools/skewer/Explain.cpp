// `skewer explain`: prints how each term of a kernel was compiled.
#include "codegen/Compiler/Compiler.h"
#include "dialect/Language/Diagnostics.h"
#include "passes/Lengths/FitLengths.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/ExplainText.h"
#include "tools/skewer/Inputs.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/OpenSpec.h"
#include "tools/skewer/Predict.h"
#include "tools/skewer/ReaderAxes.h"
#include "tools/skewer/ScheduleText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// Returns the run-time sizes that --size and the files of --input give. Lengths that they do not give get their
/// bounds. Returns nothing after an error.
static std::optional<std::map<std::string, int64_t>> sizesOf(const Kernel &kernel, const Options &options) {
  if (options.sizes.empty() && options.inputs.empty())
    return boundsOf(kernel.einsumFunction());
  auto operands = prepareOperands(kernel.signature, options.inputs, options.sizes, options.seed, {});
  if (operands)
    return operands->sizeByName;
  sayError(operands.takeError());
  return std::nullopt;
}

/// Predicts the same layer compiled for these lengths only; returns false after an error. Does nothing if a part of the
/// schedule was requested, since the request applies to the kernel for all lengths.
static bool predictAlone(Compilation &compilation, const Kernel &kernel, const std::map<std::string, int64_t> &sizes,
                         Explanation &explanation) {
  Lengths lengths = boundsOf(kernel.einsumFunction());
  if (lengths.empty() || compilation.pinned.pins())
    return true;
  for (auto &[name, value] : lengths)
    if (auto size = sizes.find(name); size != sizes.end())
      value = size->second;
  auto alone = compilation.kernelAt(kernel, lengths);
  if (!alone)
    return false;
  size_t known = compilation.remarks.size();
  auto scheduled = compilation.schedule(*alone);
  compilation.remarks.resize(known); // drops remarks about the other kernel
  if (!scheduled)
    return false;
  std::map<std::string, int64_t> all = sizes;
  for (const std::string &size : kernel.signature.sizes)
    all.emplace(size, 1);
  explanation.alone = {lengths, predictedSeconds(*alone, *scheduled, compilation.target(), sizes).value_or(0),
                       usefulFlops(*(*scheduled).getOps<mlir::func::FuncOp>().begin(), all)};
  return true;
}

std::optional<Explanation> explainKernel(Compilation &compilation, const Kernel &kernel, const Options &options,
                                         mlir::OwningOpRef<mlir::ModuleOp> *kept) {
  auto sizes = sizesOf(kernel, options);
  if (!sizes)
    return std::nullopt;
  compilation.remarks.clear();
  Explanation explanation;
  if (!predictAlone(compilation, kernel, *sizes, explanation))
    return std::nullopt;
  for (const auto &[name, bound] : boundsOf(kernel.einsumFunction()))
    (*sizes)[name] = bound; // tiles, schedule and all counts apply to the bounds
  auto scheduled = compilation.schedule(kernel);
  if (!scheduled)
    return std::nullopt;
  explanation.sizes = *sizes;
  auto readable = withReadersAxes(kernel, *scheduled);
  explanation.facts = factsOf(kernel, *readable, *sizes);
  explanation.spec = compilation.path();
  explanation.target = compilation.target().name;
  size_t number = 0;
  readable->walk([&](attn::AttentionOp attention) {
    explanation.layers.push_back(layerFactsOf(attention, explanation.facts.attentions[number++], compilation.target()));
  });
  mlir::Operation *beside = nullptr;
  explanation.work =
      workOf(kernel, *scheduled, explanation.facts, explanation.layers, compilation.target(), *sizes, &beside);
  if (beside && !explanation.layers.empty())
    explanation.work.whyNotPredicted += " (" + placeText(attn::textPlaceOf(beside->getLoc())) + ")";
  if (kept)
    *kept = std::move(readable);
  auto lowered = compilation.lower(std::move(scheduled), kernel.name);
  if (!lowered)
    return std::nullopt;
  explanation.plan = lowered->plan;
  explanation.remarks = compilation.remarks;
  return explanation;
}

static std::optional<Explanation> explainOnGpu(Compilation &compilation, const Kernel &kernel,
                                               const gpu::GpuTarget &target, const Options &options) {
  auto sizes = sizesOf(kernel, options);
  if (!sizes)
    return std::nullopt;
  compilation.remarks.clear();
  auto fused = compilation.fuse(kernel, nullptr, /*forGpu=*/true);
  if (!fused)
    return std::nullopt;
  Explanation explanation;
  explanation.spec = compilation.path();
  explanation.target = target.name;
  explanation.sizes = *sizes;
  double flops = factsOf(kernel, *fused, *sizes).flops;
  explanation.work = workFactsOf(kernel.signature, flops, {}, false, compilation.target(), *sizes);
  mlir::OwningOpRef<mlir::ModuleOp> scheduled;
  explanation.gpu =
      gpuFactsOf(compilation, kernel, *fused, target, options, flops, explanation.work.bytesMoved, scheduled);
  if (!explanation.gpu)
    return std::nullopt;
  scheduled = withReadersAxes(kernel, *scheduled);
  explanation.facts = factsOf(kernel, *scheduled, *sizes);
  explanation.facts.generic.clear(); // applies to processors only
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
      sayError("--target: '" + options.target + "' are several; explain takes one");
      return kUsage;
    }
    onGpu = gpus->front();
  }
  if (!checkSchedule(options, !onGpu, onGpu.has_value()))
    return kUsage;
  // The parts that are the same on all targets need the description of some processor.
  std::optional<Target> target = targetNamed(onGpu ? "x86-64-v3" : options.target);
  if (!target)
    return kUsage;
  llvm::json::Array kernels;
  bool found = false;
  std::vector<std::string> names;
  for (const std::string &spec : options.specs) {
    auto compilation = openSpecOf(options, spec, *target);
    if (!compilation)
      return kWrong;
    compilation->pinned = options.cpuSchedule;
    std::vector<const Kernel *> chosen;
    for (const Kernel &kernel : compilation->kernels) {
      names.push_back(kernel.name);
      if (options.kernel.empty() || kernel.name == options.kernel)
        chosen.push_back(&kernel);
    }
    for (const Kernel *each : chosen) {
      const Kernel &kernel = *each;
      found = true;
      Options own = optionsOf(kernel, chosen, options);
      auto explanation =
          onGpu ? explainOnGpu(*compilation, kernel, *onGpu, own) : explainKernel(*compilation, kernel, own, nullptr);
      if (!explanation)
        return kWrong;
      if (options.json)
        kernels.push_back(toJson(*explanation));
      else
        printText(*explanation, printed());
    }
  }
  if (!found) {
    sayError("no kernel is named '" + options.kernel + "'" + language::suggestion(options.kernel, names) +
             "; the spec has " + llvm::join(names, ", "));
    return kWrong;
  }
  if (options.json)
    printed() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{{"kernels", std::move(kernels)}})) << "\n";
  return kDone;
}

} // namespace skewer::driver
