// The launcher of GPU kernels (codegen/Runtime) for code that is linked in memory.
#pragma once
#include "llvm/Support/Error.h"

namespace llvm::orc {
class LLJIT;
}

namespace skewer {

/// Defines what entries for GPUs call, as this process has it: such code says by itself that there is no driver, or no GPU.
llvm::Error addLauncher(llvm::orc::LLJIT &);

} // namespace skewer
