// Computes the roofline (Williams et al. 2009, doi:10.1145/1498765.1498785) with the figures of the target's
// description.
#include "tools/skewer/ExplainWork.h"
#include <algorithm>

namespace skewer::driver {

WorkFacts workFactsOf(const KernelPlan &signature, double usefulFlops, const std::vector<LayerFacts> &layers,
                      bool fused, const Target &target, const std::map<std::string, int64_t> &sizes, double calls) {
  auto bytes = [&](const TensorArgument &argument) {
    double product = static_cast<double>(skewer::bytesOf(argument.type));
    for (const Extent &extent : argument.shape)
      product *= extent.name.empty()        ? static_cast<double>(extent.fixed)
                 : sizes.count(extent.name) ? static_cast<double>(sizes.at(extent.name))
                                            : 1;
    return product;
  };
  WorkFacts work;
  for (const TensorArgument &input : signature.inputs)
    work.bytesMoved += bytes(input);
  for (const TensorArgument &output : signature.outputs)
    work.bytesMoved += bytes(output);
  work.usefulFlops = usefulFlops;
  for (const LayerFacts &layer : layers)
    work.productsOverFma = std::max(work.productsOverFma, layer.work.productsOverFma);
  // Matrix products outside attentions multiply in the type of the results if all results have the same type.
  auto isOfFirst = [&](const TensorArgument &output) { return output.type == signature.outputs.front().type; };
  if (!fused && !signature.outputs.empty() && llvm::all_of(signature.outputs, isOfFirst))
    work.productsOverFma = std::max(work.productsOverFma, productsOverFma(signature.outputs.front().type, target));
  work.peak = target.peak() * work.productsOverFma;
  work.memoryRate = target.memoryRate * 1e9;
  work.computeSeconds = usefulFlops / work.peak;
  work.memorySeconds = work.bytesMoved / work.memoryRate;
  bool all = fused && !layers.empty();
  for (const LayerFacts &layer : layers)
    all &= layer.isPredicted;
  if (all) {
    for (const LayerFacts &layer : layers) {
      work.matmulFlops += calls * layer.leading * layer.work.matmulFlops;
      work.predictedSeconds += calls * layer.leading * layer.work.cycles / (target.gigahertz * 1e9);
    }
    // Table rows that are added to keys are multiplied together with them, so the kernel may do less than the useful
    // work.
    work.computeSeconds = std::min(work.usefulFlops, work.matmulFlops) / work.peak;
    // The model assumes that the operands are in the caches.
    work.predictedSeconds = std::max(work.predictedSeconds, work.boundSeconds());
  }
  if (!all) {
    work.whyNotPredicted = layers.empty() ? "the cost model is about attentions, and none is fused"
                           : !fused       ? "the cost model is about attentions, and the kernel computes more"
                                          : "the cost model does not know all of the schedule";
    for (const LayerFacts &layer : layers)
      if (!layer.whyNotPredicted.empty() && fused)
        work.whyNotPredicted = layer.whyNotPredicted;
  }
  return work;
}

} // namespace skewer::driver
