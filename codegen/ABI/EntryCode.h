// Emits the parts that all C entries of a kernel share: functions, conditions, and reads of structures' fields. The
// builders of entries (Entry.cpp, EntryChecks.cpp) call it.
#pragma once
#include "codegen/ABI/CpuCheck.h"
#include "codegen/ABI/EntryFields.h"
#include "codegen/ABI/Status.h"
#include "dialect/IR/KernelPlan.h"
#include "llvm/IR/IRBuilder.h"

namespace skewer::entry {

using llvm::ArrayRef, llvm::BasicBlock, llvm::Function, llvm::FunctionType, llvm::IRBuilder, llvm::StringRef,
    llvm::StructType, llvm::Twine, llvm::Type, llvm::Value;

class EntryCode {
public:
  EntryCode(llvm::Module &module, const KernelPlan &plan)
      : b(module.getContext()), i32(b.getInt32Ty()), i64(b.getInt64Ty()), pointer(b.getPtrTy()),
        exec(StructType::get(b.getContext(), {i32, i32, pointer, i64, i32, i32, pointer, pointer})),
        frame(frameOf(plan)), module(module), kernel(plan.name) {}

  /// Begins the function NAME`suffix`.
  Function *begin(const Twine &suffix, Type *result, ArrayRef<Type *> parameters, bool isInternal = false) {
    auto linkage = isInternal ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage;
    Function *function =
        Function::Create(FunctionType::get(result, parameters, false), linkage, kernel + suffix, module);
    makeBaseline(*function); // it runs before the check of the processor, or is the check
    b.SetInsertPoint(BasicBlock::Create(b.getContext(), "", function));
    return function;
  }
  BasicBlock *newBlock() { return BasicBlock::Create(b.getContext(), "", b.GetInsertBlock()->getParent()); }
  Value *status(Status status) { return b.getInt32(int32_t(status)); }

  /// Continues if `good` holds; else the function returns `otherwise`.
  void require(Value *good, Value *otherwise) {
    BasicBlock *next = newBlock(), *bad = newBlock();
    b.CreateCondBr(good, next, bad);
    b.SetInsertPoint(bad);
    b.CreateRet(otherwise);
    b.SetInsertPoint(next);
  }
  void require(Value *good, Status otherwise) { require(good, status(otherwise)); }
  void requireOk(Value *status) { require(b.CreateIsNull(status), status); }

  /// Returns a word of the argument struct.
  Value *word(Value *arguments, unsigned index, Type *type) {
    return b.CreateLoad(type, b.CreateConstInBoundsGEP1_32(i64, arguments, index));
  }
  Value *field(Value *how, ExecField index) {
    return b.CreateLoad(exec->getElementType(index), b.CreateStructGEP(exec, how, index));
  }
  Value *field(Value *state, FrameField index) {
    return b.CreateLoad(frame->getElementType(index), place(state, index));
  }
  Value *place(Value *state, FrameField index) { return b.CreateStructGEP(frame, state, index); }
  void setField(Value *state, FrameField index, Value *value) { b.CreateStore(value, place(state, index)); }
  /// Returns the place of an origin in the frame.
  Value *origin(Value *state, unsigned which) {
    return b.CreateConstInBoundsGEP2_32(frame->getElementType(FrameOrigins), place(state, FrameOrigins), 0, which);
  }

  IRBuilder<> b;
  Type *const i32, *const i64;
  llvm::PointerType *const pointer;
  StructType *const exec, *const frame;

private:
  StructType *frameOf(const KernelPlan &plan) {
    llvm::SmallVector<Type *> fields = {pointer, pointer, i64, i64, i64, i32, i32,
                                        llvm::ArrayType::get(i32, std::size(kOrigins))};
    if (plan.preparedBytes)
      fields.push_back(pointer);
    return StructType::get(b.getContext(), fields);
  }

  llvm::Module &module;
  const std::string &kernel; // its name
};

} // namespace skewer::entry
