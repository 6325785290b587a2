// The dialects that the driver's pipelines need, and no others: registering all of them costs start-up time.
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace skewer::driver {
void registerDialects(mlir::DialectRegistry &);
} // namespace skewer::driver
