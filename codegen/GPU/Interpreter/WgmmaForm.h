// Parses wgmma.mma_async as inline assembly, for DecodeWgmma.cpp. MLIR has no operation for A in registers, so kernels
// contain the instruction as text. The interpreter reads one form of the text and refuses all others.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace skewer::gpu {

enum class WgmmaType { F16, BF16, TF32, E4M3 };

/// `{ .reg .pred p; setp.ne.b32 p, S, 0; wgmma.mma_async.sync.aligned.m64nNkK.f32.T.T {D…}, A, B, p, a, b, ta, tb; }`,
/// where D are N / 2 results of f32, each tied to an operand, A is a descriptor or {A0, A1, A2, A3}, B is a descriptor,
/// S is an i32 (scale-d), a and b are 1 or -1, and ta and tb are 0 or 1. ta is present only if A is a descriptor, tb
/// only for 16-bit types.
struct WgmmaForm {
  WgmmaType type = WgmmaType::BF16;
  unsigned columns = 8; // N
  bool registersA = false, transposedA = false, transposedB = false;
  bool negatedA = false, negatedB = false;

  unsigned results() const { return columns / 2; }
  unsigned depth() const { return 32 / bytes(); } // K
  unsigned bytes() const { return type == WgmmaType::TF32 ? 4 : type == WgmmaType::E4M3 ? 1 : 2; }
};

/// Returns the form of an instruction's text; nothing if the text has another form or the constraints do not fit it.
std::optional<WgmmaForm> wgmmaFormOf(llvm::StringRef text, llvm::StringRef constraints);

/// Returns N of `wgmma.wait_group.sync.aligned N;`, the number of groups that may still run, if each result is tied to
/// the operand with its number. Returns nothing if the text has another form.
std::optional<unsigned> wgmmaWaitOf(llvm::StringRef text, llvm::StringRef constraints, unsigned operands);

} // namespace skewer::gpu
