// The dialects that the driver's pipelines need, and no others: registering all of them costs start-up time.
#pragma once
#include "mlir/IR/DialectRegistry.h"
#include <functional>

namespace skewer {
void registerDialects(mlir::DialectRegistry &);
/// Sets a function that adds more of them (those of plugins) to every later `registerDialects`.
void useDialects(std::function<void(mlir::DialectRegistry &)> add);
} // namespace skewer
