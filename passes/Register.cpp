// Registers passes, pipelines and the names of strategies.
#include "passes/Register.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Cpu/TermStrategy.h"
#include "passes/Gpu/Schedule/GpuSchedule.h"
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"

using namespace mlir;
using namespace skewer;

void skewer::registerStrategies(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, attn::AttnDialect *dialect) {
    TermStrategies::of(dialect);
    gpu::addStrategyNames(dialect);
  });
}

void skewer::registerLlvmConversions(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
}

namespace {
struct LengthOptions : PassPipelineOptions<LengthOptions> {
  Option<bool> gpu{*this, "gpu", llvm::cl::desc("as stages of GPUs need them"), llvm::cl::init(false)};
};
struct CpuOptions : PassPipelineOptions<CpuOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("the name of a processor, or a machine file"),
                             llvm::cl::init("host")};
};
struct GpuOptions : PassPipelineOptions<GpuOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("the GPU, as ptxas names it"), llvm::cl::init("sm_80")};
};

/// Returns a target for a pipeline, whose passes find it by this name and report an unknown one.
Target called(const std::string &name) {
  Target target;
  target.name = name;
  return target;
}
} // namespace

void skewer::registerSkewerPasses() {
  registerGeneratedPasses();
  PassPipelineRegistration<>(
      "attn-fuse",
      "level 1 to level 2: name axes, raise, propagate masks, compose, sum lone axes, split products, form attention, hoist",
      [](OpPassManager &manager) { addFusionPipeline(manager); });
  PassPipelineRegistration<LengthOptions>(
      "attn-align-lengths", "level 2 to level 2: forms in which the layers of several lengths can be compared",
      [](OpPassManager &manager, const LengthOptions &options) { addLengthPipeline(manager, options.gpu); });
  PassPipelineRegistration<CpuOptions>("attn-to-schedule", "level 2 to level 3: a schedule for each attention",
                                       [](OpPassManager &manager, const CpuOptions &options) {
                                         addSchedulePipeline(manager, called(options.target));
                                       });
  PassPipelineRegistration<CpuOptions>("attn-to-loops", "level 3 to level 4: loops over memory, with the kernel's plan",
                                       [](OpPassManager &manager, const CpuOptions &options) {
                                         addCpuLoweringPipeline(manager, called(options.target));
                                       });
  PassPipelineRegistration<>("attn-to-llvm",
                             "level 4 to the LLVM dialect: loops over memory, vectors, linalg on memrefs and func",
                             [](OpPassManager &manager) { addLlvmPipeline(manager, hostTarget()); });
  PassPipelineRegistration<GpuOptions>("attn-to-gpu-schedule", "level 2 to level 3, for a GPU",
                                       [](OpPassManager &manager, const GpuOptions &options) {
                                         gpu::GpuRequest request;
                                         request.target = options.target;
                                         addGpuSchedulePipeline(manager, request);
                                       });
  PassPipelineRegistration<>("attn-to-gpu-kernels", "level 3 to level 4, for a GPU: kernels in a GPU module",
                             [](OpPassManager &manager) { addGpuLoweringPipeline(manager); });
  PassPipelineRegistration<>("attn-to-nvvm", "level 4 to the NVVM dialect, for a GPU",
                             [](OpPassManager &manager) { addNvvmPipeline(manager); });
}
