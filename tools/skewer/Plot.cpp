// `skewer plot`: draws how positions are read, scores, and tables.
#include "tools/skewer/Commands.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/OpenSpec.h"
#include "tools/skewer/PlotPanels.h"
#include "tools/skewer/ReaderAxes.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

llvm::Expected<PlotData> plotKernel(Compilation &compilation, const Kernel &kernel, Operands operands, int64_t head) {
  // A layer with lengths is compiled for the given lengths and then drawn; they are no operands of the compiled layer.
  auto own = compilation.kernelAt(kernel, operands.sizeByName);
  auto scheduled = own ? compilation.schedule(*own) : nullptr;
  if (!scheduled)
    return llvm::createStringError(std::errc::invalid_argument, "it cannot be compiled");
  KernelPlan signature = kernel.signature;
  for (size_t k = signature.inputs.size(); k-- > 0;)
    if (signature.inputs[k].isLength) {
      signature.inputs.erase(signature.inputs.begin() + static_cast<ptrdiff_t>(k));
      operands.inputs.erase(operands.inputs.begin() + static_cast<ptrdiff_t>(k));
    }
  scheduled = withReadersAxes(*own, *scheduled);
  return plotDataOf(*scheduled, kernel.name, signature, operands, {own->einsumFunction(), head});
}

int plot(const Options &options) {
  auto compilation = openSpecOf(options, options.specs.front(), hostTarget());
  if (!compilation)
    return kWrong;
  std::vector<const Kernel *> chosen = chooseKernels(*compilation, options.kernel, /*one=*/true);
  if (chosen.empty())
    return kWrong;
  const Kernel &kernel = *chosen.front();
  auto operands = prepareOperands(kernel.signature, options.inputs, options.sizes, options.seed);
  if (!operands) {
    sayError(operands.takeError());
    return kWrong;
  }
  auto data = plotKernel(*compilation, kernel, std::move(*operands), options.head);
  if (!data) {
    Compilation::report(kernel.name, data.takeError());
    return kWrong;
  }
  if (options.picture.empty()) {
    printed() << drawPlot(*data);
    return kDone;
  }
  if (llvm::Error error = writeFiles({{options.picture, drawPlot(*data)}})) {
    sayError(std::move(error));
    return kWrong;
  }
  return kDone;
}

} // namespace skewer::driver
