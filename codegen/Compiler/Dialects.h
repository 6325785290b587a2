// Registers the dialects that the driver's pipelines need, for each Compilation. It registers no others, because
// registering all of MLIR's dialects costs start-up time.
#pragma once
#include "mlir/IR/DialectRegistry.h"
#include <functional>

namespace skewer {
void registerDialects(mlir::DialectRegistry &);
/// Sets a function that adds more dialects (of plugins) at every later `registerDialects`.
void useDialects(std::function<void(mlir::DialectRegistry &)> add);
} // namespace skewer
