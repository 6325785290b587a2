// Registers what this project adds to MLIR's tools: passes and pipelines by their flags, strategies by their names.
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace skewer {

/// Lets schedules of the registry's contexts name the strategies of processors and GPUs; verifiers then know no others
/// than these and those of plugins.
void registerStrategies(mlir::DialectRegistry &);

/// Lets the dialects of loops say how they are converted to the LLVM dialect; addLlvmPipeline (Pipelines.h) asks them.
void registerLlvmConversions(mlir::DialectRegistry &);

/// Registers every pass and every pipeline of this project by its flag.
void registerSkewerPasses();

} // namespace skewer
