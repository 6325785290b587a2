// Makes the launcher of GPU kernels (codegen/Runtime) available to code that is linked in memory.
#pragma once
#include "llvm/Support/Error.h"

namespace llvm::orc {
class LLJIT;
}

namespace skewer {

/// Defines the functions that GPU entries call as this process's own functions. These report a missing driver or GPU
/// themselves.
llvm::Error addLauncher(llvm::orc::LLJIT &);

} // namespace skewer
