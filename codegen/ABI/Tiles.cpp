// Finds and replaces the intrinsics of tiles.
#include "codegen/ABI/Tiles.h"
#include "codegen/Amx/skewer_amx.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;
using namespace skewer;

ArrayRef<EmulatedInstruction> skewer::emulatedInstructions() {
#define INSTRUCTION(INTRINSIC, NAME)                                                                                   \
  { Intrinsic::x86_##INTRINSIC, "skewer_amx_" #NAME, reinterpret_cast<void *>(&skewer_amx_##NAME) }
  static const EmulatedInstruction instructions[] = {
      INSTRUCTION(ldtilecfg, ldtilecfg),     INSTRUCTION(sttilecfg, sttilecfg),
      INSTRUCTION(tilerelease, tilerelease), INSTRUCTION(tilezero, tilezero),
      INSTRUCTION(tileloadd64, tileloadd),   INSTRUCTION(tileloaddt164, tileloaddt1),
      INSTRUCTION(tilestored64, tilestored), INSTRUCTION(tdpbf16ps, tdpbf16ps),
      INSTRUCTION(tdpbssd, tdpbssd),         INSTRUCTION(tdpbsud, tdpbsud),
      INSTRUCTION(tdpbusd, tdpbusd),         INSTRUCTION(tdpbuud, tdpbuud),
  };
#undef INSTRUCTION
  return instructions;
}

TileUse skewer::tileUse(const Module &module) {
  auto isUsed = [](const Function *function) { return function && !function->use_empty(); };
  for (const EmulatedInstruction &instruction : emulatedInstructions()) {
    if (isUsed(Intrinsic::getDeclarationIfExists(&module, instruction.intrinsic)))
      return TileUse::Native;
    if (isUsed(module.getFunction(instruction.name)))
      return TileUse::Emulated;
  }
  return TileUse::None;
}

void skewer::emulateTiles(Module &module) {
  for (const EmulatedInstruction &instruction : emulatedInstructions()) {
    Function *function = Intrinsic::getDeclarationIfExists(&module, instruction.intrinsic);
    if (!function)
      continue;
    for (User *user : make_early_inc_range(function->users())) {
      auto *call = cast<CallInst>(user);
      IRBuilder<> b(call);
      SmallVector<Value *> arguments;
      SmallVector<Type *> types;
      for (Value *argument : call->args()) {
        bool isTile = argument->getType()->isIntegerTy(8); // C passes 32 bits
        arguments.push_back(isTile ? b.CreateZExt(argument, b.getInt32Ty()) : argument);
        types.push_back(arguments.back()->getType());
      }
      auto *type = FunctionType::get(b.getVoidTy(), types, false);
      b.CreateCall(module.getOrInsertFunction(instruction.name, type), arguments);
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
}
