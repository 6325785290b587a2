// The instructions of AMX in a kernel: whether there are any, and their replacement by an emulation.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace skewer {

/// An instruction, and the function of codegen/Amx that does the same.
struct EmulatedInstruction {
  llvm::Intrinsic::ID intrinsic;
  llvm::StringLiteral name;
  void *function;
};
/// Returns the instructions that kernels use: those with tile numbers, which no register allocation changes.
llvm::ArrayRef<EmulatedInstruction> emulatedInstructions();

/// Names a way to use tiles: not at all, by AMX's instructions, or by the functions that emulate them.
enum class TileUse { None, Native, Emulated };
/// Returns how the functions of a module use tiles.
TileUse tileUse(const llvm::Module &);
/// Replaces the instructions of tiles by calls of the functions, so that the code runs on any machine.
void emulateTiles(llvm::Module &);

} // namespace skewer
