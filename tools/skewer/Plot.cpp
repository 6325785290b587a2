// `skewer plot`: a picture of how positions are read, of scores and of tables.
#include "tools/skewer/Commands.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/PlotPanels.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

int plot(const Options &options) {
  auto compilation = Compilation::create(options.specs.front(), options.parameters, hostTarget());
  if (!compilation)
    return kWrong;
  std::vector<const Kernel *> chosen = chooseKernels(*compilation, options.kernel, /*one=*/true);
  if (chosen.empty())
    return kWrong;
  const Kernel &kernel = *chosen.front();
  auto scheduled = compilation->schedule(kernel);
  if (!scheduled)
    return kWrong;
  KernelPlan signature = kernel.signature;
  auto operands = prepareOperands(signature, options.inputs, options.sizes, options.seed);
  if (!operands) {
    llvm::errs() << "skewer: error: " << llvm::toString(operands.takeError()) << "\n";
    return kWrong;
  }
  auto data = plotDataOf(*scheduled, kernel.name, signature, *operands);
  if (!data) {
    Compilation::report(kernel.name, data.takeError());
    return kWrong;
  }
  if (llvm::Error error = writeFiles({{options.picture, drawPlot(*data)}})) {
    llvm::errs() << "skewer: error: " << llvm::toString(std::move(error)) << "\n";
    return kWrong;
  }
  return kDone;
}

} // namespace skewer::driver
