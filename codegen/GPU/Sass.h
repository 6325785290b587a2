// The instructions that a GPU runs: a cubin taken apart by cuobjdump, and what the main loop of a kernel is made of.
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
/// "mma", "exp2", "float", "shuffle", "shared", "global", "integer", "other".
const char *nameOf(InstructionKind);
/// By the opcode, "MUFU.EX2". Copies from global to shared memory (LDGSTS) are global.
InstructionKind kindOf(llvm::StringRef opcode);

/// Instructions of a warp in one iteration of the loop that exponentiates, on the shortest way through it: that of a
/// tile that no mask's edge crosses, and that is not skipped. Loops inside count at most once. Where one step has all
/// keys there is no loop: then of the whole kernel.
struct MainLoop {
  bool once = false; // there is no loop
  std::array<int64_t, kInstructionKinds> counts{};
  int64_t all() const;
  int64_t of(InstructionKind kind) const { return counts[size_t(kind)]; }
};

/// `sass` is what `cuobjdump -sass` prints. Nothing where the kernel is not in it or exponentiates nothing.
std::optional<MainLoop> mainLoopOf(llvm::StringRef sass, llvm::StringRef kernel);

/// Beside `ptxas`, in `cudaPath`, else on PATH; it needs nvdisasm in its folder or on PATH. The error says what to
/// install.
llvm::Expected<std::string> findCuobjdump(llvm::StringRef cudaPath, llvm::StringRef ptxas);
llvm::Expected<std::string> disassemble(llvm::StringRef cubin, llvm::StringRef cuobjdump);

/// Instructions of a whole warp (products, shuffles, ldmatrix, votes, barriers) that stand where its lanes may have
/// parted, with their addresses: between a branch for single lanes and where they meet, under a predicate, or behind
/// lanes that ended. A branch that lanes may take apart stands between BSSY and what it names; where ptxas leaves that
/// out, it knows that all lanes do alike.
std::vector<std::string> whereLanesParted(llvm::StringRef sass, llvm::StringRef kernel);

} // namespace skewer::gpu
