// Adds a check to a kernel: the processor that runs it must have the features that its code needs. Entries return
// SKEWER_UNSUPPORTED_CPU otherwise, and dispatchers choose another variant; without the check, the process would end at
// an illegal instruction.
#pragma once
#include "codegen/ABI/Tiles.h"
#include "passes/Schedule/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

namespace skewer {

/// Adds `i1 NAME.cpu()`. The first call runs cpuid and xgetbv; later calls read a byte with the answer, because cpuid
/// takes many microseconds in a virtual machine. Null if the target needs no feature beyond x86-64 that the check
/// knows. For code with tiles, the processor must have AMX too, the system must permit it, which the first call asks
/// for, and the program must not have set the i32 `skewer_refuse_amx`. Threads that call it first at the same time get
/// the same answer.
llvm::Function *addCpuCheck(llvm::Module &, llvm::StringRef name, const Target &, TileUse = TileUse::None);

/// Returns the number of features that the check asks for. If a processor that runs code for a target also runs code
/// for another one, the other one has no more of them.
size_t checkedFeatures(const Target &);

/// The variable by which a program refuses AMX.
constexpr llvm::StringLiteral kRefuseTiles = "skewer_refuse_amx";

/// Marks the function to be compiled for any x86-64, because it runs before the check.
void makeBaseline(llvm::Function &);
bool isBaseline(const llvm::Function &);

} // namespace skewer
