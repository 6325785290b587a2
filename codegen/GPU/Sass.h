// The instructions that a GPU runs (SASS): disassembles a cubin with cuobjdump, and counts the instructions of a
// kernel's main loop. `skewer explain` calls this.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skewer::gpu {

enum class InstructionKind { Matrix, Exponential, Float, Shuffle, Shared, Global, Integer, Other };
constexpr size_t kInstructionKinds = size_t(InstructionKind::Other) + 1;
/// Returns "mma", "exp2", "float", "shuffle", "shared", "global", "integer" or "other".
const char *nameOf(InstructionKind);
/// Returns the kind of an opcode such as "MUFU.EX2". Copies from global to shared memory (LDGSTS) count as global.
InstructionKind kindOf(llvm::StringRef opcode);

/// The instructions of a warp in one iteration of the loop that exponentiates, on the shortest way through it: the way
/// of a tile that no mask's edge crosses and that is not skipped. Inner loops count at most once. If there is no
/// such loop, because the kernel has one step, or two that are unrolled: the instructions of the whole kernel.
struct MainLoop {
  bool once = false; // there is no loop
  std::array<int64_t, kInstructionKinds> counts{};
  int64_t all() const;
  int64_t of(InstructionKind kind) const { return counts[size_t(kind)]; }
};

/// Returns the main loop of a kernel; `sass` is the output of `cuobjdump -sass`. Nothing if it does not contain the
/// kernel, or if the kernel does not exponentiate.
std::optional<MainLoop> mainLoopOf(llvm::StringRef sass, llvm::StringRef kernel);

/// Returns the path of cuobjdump: in the folder of `ptxas`, in `cudaPath`, else on PATH. It needs nvdisasm in its
/// folder or on PATH. The error says what to install.
llvm::Expected<std::string> findCuobjdump(llvm::StringRef cudaPath, llvm::StringRef ptxas);
llvm::Expected<std::string> disassemble(llvm::StringRef cubin, llvm::StringRef cuobjdump);

/// Returns the instructions of a whole warp (products, shuffles, ldmatrix, votes, barriers) at places where the lanes
/// may have diverged, with their addresses: between a divergent branch and the point where the lanes meet, under a
/// predicate, or after some lanes have ended. ptxas puts a divergent branch between BSSY and the address that BSSY
/// names. If ptxas omits BSSY, it knows that all lanes take the same way.
std::vector<std::string> whereLanesParted(llvm::StringRef sass, llvm::StringRef kernel);

} // namespace skewer::gpu
