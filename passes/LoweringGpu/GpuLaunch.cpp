// The launch as an attribute of the GPU module.
#include "passes/LoweringGpu/GpuLaunch.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

static constexpr StringLiteral kLaunch = "attn.launch";

void skewer::gpu::attachLaunch(mlir::gpu::GPUModuleOp module, const GpuLaunch &launch) {
  Builder b(module.getContext());
  SmallVector<StringRef> factors(launch.blocks.factors.begin(), launch.blocks.factors.end());
  module->setAttr(kLaunch, b.getDictionaryAttr({b.getNamedAttr("blocks", b.getI64IntegerAttr(launch.blocks.scaled)),
                                                b.getNamedAttr("factors", b.getStrArrayAttr(factors)),
                                                b.getNamedAttr("kernel", b.getStringAttr(launch.kernel)),
                                                b.getNamedAttr("keys", b.getI64IntegerAttr(launch.keys)),
                                                b.getNamedAttr("rows", b.getI64IntegerAttr(launch.rows)),
                                                b.getNamedAttr("shared_bytes", b.getI64IntegerAttr(launch.sharedBytes)),
                                                b.getNamedAttr("threads", b.getI64IntegerAttr(launch.threads))}));
}

std::optional<GpuLaunch> skewer::gpu::launchOf(mlir::gpu::GPUModuleOp module) {
  auto dictionary = module->getAttrOfType<DictionaryAttr>(kLaunch);
  if (!dictionary)
    return std::nullopt;
  auto number = [&](StringRef name) {
    auto value = dictionary.getAs<IntegerAttr>(name);
    return value ? value.getInt() : 0;
  };
  GpuLaunch launch;
  if (auto name = dictionary.getAs<StringAttr>("kernel"))
    launch.kernel = name.str();
  launch.threads = number("threads");
  launch.sharedBytes = number("shared_bytes");
  launch.rows = number("rows");
  launch.keys = number("keys");
  launch.blocks.scaled = number("blocks");
  if (auto factors = dictionary.getAs<ArrayAttr>("factors"))
    for (Attribute factor : factors)
      if (auto name = dyn_cast<StringAttr>(factor))
        launch.blocks.factors.push_back(name.str());
  return launch;
}
