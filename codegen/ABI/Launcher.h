// Makes the launcher of GPU kernels (codegen/Runtime) and the emulation of AMX (codegen/Amx) available to code that is
// linked in memory: kernels in this process (Jit.cpp) and loaded objects.
#pragma once
#include "llvm/Support/Error.h"
#include <cstdint>

namespace llvm::orc {
class LLJIT;
}

namespace skewer {

/// Defines the functions that GPU entries call; they are this process's own copies of the launcher. They report a
/// missing driver or GPU at the call. Also defines the functions that do what AMX's instructions do, and the variable
/// by which code that is linked in memory is told to use no tiles.
llvm::Error addLauncher(llvm::orc::LLJIT &);
/// Returns that variable, `skewer_refuse_amx`. A kernel reads it at its first call only.
int32_t &refusesTiles();

} // namespace skewer
