// The builder of a kernel's C entries as LLVM IR, function by function: its state and its small helpers. Entry.cpp
// builds the calls, EntryChecks.cpp the checks, EntryPrepared.cpp the entries for prepared memory. Private to this
// folder.
#pragma once
#include "codegen/ABI/CpuCheck.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/EntryFields.h"
#include "codegen/ABI/ExtentValue.h"
#include "codegen/ABI/Layout.h"
#include "codegen/ABI/Status.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/MathExtras.h"

namespace skewer::entry {

using llvm::ArrayRef, llvm::ArrayType, llvm::BasicBlock, llvm::Function, llvm::FunctionType, llvm::GlobalValue,
    llvm::IRBuilder, llvm::LLVMContext, llvm::PointerType, llvm::StringRef, llvm::StructType, llvm::Twine, llvm::Type,
    llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

class EntryBuilder {
public:
  EntryBuilder(llvm::Module &module, const KernelPlan &plan, ArrayRef<Function *> phases, uint32_t argsVersion)
      : module(module), context(module.getContext()), plan(plan), layout(layoutOf(plan)), phases(phases),
        argsVersion(argsVersion), b(context),
        i32(b.getInt32Ty()), i64(b.getInt64Ty()), pointer(b.getPtrTy()),
        exec(StructType::get(context, {i32, i32, pointer, i64, i32, i32, pointer, pointer})),
        frame(frameOf(plan, context)) {}

  void build(StringRef info, const Target &target);

private:
  static StructType *frameOf(const KernelPlan &plan, LLVMContext &context);
  llvm::Module &module;
  LLVMContext &context;
  const KernelPlan &plan;
  ArgumentLayout layout;
  ArrayRef<Function *> phases;
  uint32_t argsVersion;
  IRBuilder<> b;
  Type *i32, *i64;
  PointerType *pointer;
  StructType *exec, *frame;
  Function *checkSizes = nullptr, *neededBytes = nullptr, *checkAll = nullptr, *checkConst = nullptr, *within = nullptr,
           *cpu = nullptr;
  std::vector<Function *> bodies;

  // Functions and blocks ---------------------------------------------------------------------------------------------
  Function *declare(const Twine &suffix, Type *result, ArrayRef<Type *> parameters, bool isInternal = false) {
    Function *function = Function::Create(FunctionType::get(result, parameters, false),
                                          isInternal ? GlobalValue::InternalLinkage : GlobalValue::ExternalLinkage,
                                          plan.name + suffix, module);
    makeBaseline(*function); // it runs before the check of the processor
    return function;
  }
  void begin(Function *function) { b.SetInsertPoint(BasicBlock::Create(context, "", function)); }
  BasicBlock *newBlock() { return BasicBlock::Create(context, "", b.GetInsertBlock()->getParent()); }
  Value *code(Status status) { return b.getInt32(int32_t(status)); }

  /// Emits that the function returns `otherwise` unless `good` holds.
  void require(Value *good, Value *otherwise) {
    BasicBlock *next = newBlock(), *bad = newBlock();
    b.CreateCondBr(good, next, bad);
    b.SetInsertPoint(bad);
    b.CreateRet(otherwise);
    b.SetInsertPoint(next);
  }
  void require(Value *good, Status status) { require(good, code(status)); }
  void requireCpu() {
    if (cpu)
      require(b.CreateCall(cpu), Status::UnsupportedCpu);
  }
  void requireOk(Value *status) { require(b.CreateIsNull(status), status); }

  // Fields -----------------------------------------------------------------------------------------------------------
  Value *number(Value *structure, unsigned index) {
    return b.CreateLoad(i32, b.CreateConstInBoundsGEP1_32(i32, structure, index));
  }
  Value *word(Value *arguments, unsigned index, Type *type) {
    return b.CreateLoad(type, b.CreateConstInBoundsGEP1_32(i64, arguments, index));
  }
  Value *field(StructType *type, Value *structure, unsigned index) {
    return b.CreateLoad(type->getElementType(index), b.CreateStructGEP(type, structure, index));
  }
  Value *origin(Value *state, unsigned which) {
    return b.CreateConstInBoundsGEP2_32(frame->getElementType(FrameOrigins),
                                        b.CreateStructGEP(frame, state, FrameOrigins), 0, which);
  }
  void setField(Value *structure, FrameField index, Value *value) {
    b.CreateStore(value, b.CreateStructGEP(frame, structure, index));
  }
  Value *sizeOf(Value *arguments, StringRef name) {
    size_t index = llvm::find(plan.sizes, name) - plan.sizes.begin();
    return word(arguments, layout.sizeWord(index), i64);
  }

  // Sizes ------------------------------------------------------------------------------------------------------------
  /// Emits x op y. `overflow` becomes true if the result does not fit a signed 64-bit number.
  Value *checked(Intrinsic::ID op, Value *x, Value *y, Value *&overflow) {
    Value *pair = b.CreateBinaryIntrinsic(op, x, y);
    overflow = b.CreateOr(overflow, b.CreateExtractValue(pair, 1));
    return b.CreateExtractValue(pair, 0);
  }
  Value *evaluate(const SizeExpression &size, Value *arguments, Value *&overflow) {
    if (size.scaled == 0)
      return b.getInt64(size.fixed);
    Value *result = b.getInt64(size.scaled);
    for (const std::string &factor : size.factors)
      result = checked(Intrinsic::smul_with_overflow, result, extentOf(arguments, factor), overflow);
    return checked(Intrinsic::sadd_with_overflow, result, b.getInt64(size.fixed), overflow);
  }
  /// Emits the value of a size without a check of overflow. Valid only after `checkSizes`.
  Value *evaluate(const SizeExpression &size, Value *arguments) {
    Value *overflow = b.getFalse();
    return evaluate(size, arguments, overflow);
  }
  Value *extentOf(Value *arguments, StringRef name) {
    return extentValue(b, name, [&](StringRef size) { return sizeOf(arguments, size); });
  }
  SizeExpression bytesOfTensor(const TensorArgument &tensor) {
    SizeExpression bytes{0, fixedBytes(tensor), {}};
    for (const Extent &extent : tensor.shape)
      if (!extent.name.empty())
        bytes.factors.push_back(extent.name);
    return bytes;
  }
  std::vector<std::pair<unsigned, const TensorArgument *>> tensors(bool constAlone = false) {
    std::vector<std::pair<unsigned, const TensorArgument *>> result;
    for (size_t k = 0; k < plan.inputs.size(); ++k)
      if (plan.inputs[k].isTensor() && (plan.inputs[k].isConst || !constAlone))
        result.push_back({layout.inputWord(k), &plan.inputs[k]});
    for (size_t k = 0; k < plan.outputs.size() && !constAlone; ++k)
      result.push_back({layout.outputWord(k), &plan.outputs[k]});
    return result;
  }
  int64_t localBytes() { return llvm::alignTo(plan.localBytes, 64); }
  /// Emits the size of the shared workspace, rounded up so that the memory behind it stays aligned.
  Value *sharedBytes(Value *arguments, Value *&overflow) {
    Value *bytes = evaluate(plan.sharedBytes, arguments, overflow);
    bytes = checked(Intrinsic::sadd_with_overflow, bytes, b.getInt64(63), overflow);
    return b.CreateAnd(bytes, b.getInt64(-64));
  }

  void buildCheckSizes();
  void buildNeededBytes();

  // Validation -------------------------------------------------------------------------------------------------------
  Value *overlaps(Value *p, Value *n, Value *q, Value *m);
  void buildInRange();
  Function *buildCheck(const Twine &suffix, bool constAlone);
  void fillFrame(Value *arguments, Value *how, Value *state);

  // Phases -----------------------------------------------------------------------------------------------------------
  Value *inRange(Value *first, Value *last, Value *items, Value *worker, Value *workers);
  Function *buildBody(size_t index);
  void callPhase(Function *phase, ArrayRef<Value *> values);

  /// The phases that an entry calls: all, the phases that prepare, or the others.
  enum class Phases { All, Preparing, Others };
  void buildCall(const Twine &suffix, Phases which);
  void callInTurn(Phases which, Value *arguments, Value *how, Value *state);
  void buildItems();
  void buildRaw();
  void buildWorkspaceBytes();

  // Prepared memory (EntryPrepared.cpp) -------------------------------------------------------------------------------
  void buildPrepared();
  void checkPrepared(Value *arguments, Value *how, Value *prepared, bool constAlone);
};

} // namespace skewer::entry
