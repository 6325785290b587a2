// The text of wgmma.mma_async as inline assembly. MLIR has no operation for A in registers, so that kernels write it as
// text; the interpreter reads one form of it and refuses all others.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace skewer::gpu {

enum class WgmmaType { F16, BF16, TF32, E4M3 };

/// `{ .reg .pred p; setp.ne.b32 p, S, 0; wgmma.mma_async.sync.aligned.m64nNkK.f32.T.T {D…}, A, B, p, a, b, ta, tb; }`,
/// where D are N / 2 results of f32, each tied to an operand, A is a descriptor or {A0, A1, A2, A3}, B a descriptor, S
/// an i32 (scale-d), a and b are 1 or -1, ta (only of a descriptor) and tb (only of 16-bit types) are 0 or 1.
struct WgmmaForm {
  WgmmaType type = WgmmaType::BF16;
  unsigned columns = 8; // N
  bool registersA = false, transposedA = false, transposedB = false;
  bool negatedA = false, negatedB = false;

  unsigned results() const { return columns / 2; }
  unsigned depth() const { return 32 / bytes(); } // K
  unsigned bytes() const { return type == WgmmaType::TF32 ? 4 : type == WgmmaType::E4M3 ? 1 : 2; }
};

/// Nothing if the text has another form, or the constraints do not fit it.
std::optional<WgmmaForm> wgmmaFormOf(llvm::StringRef text, llvm::StringRef constraints);

/// The groups that `wgmma.wait_group.sync.aligned N;` leaves, where each result is tied to the operand of its number.
/// Nothing if the text has another form.
std::optional<unsigned> wgmmaWaitOf(llvm::StringRef text, llvm::StringRef constraints, unsigned operands);

} // namespace skewer::gpu
