// Builds a kernel's C entries: the calls of the phases one after another, and the queries for the size of its memory.
#include "codegen/ABI/Entry.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/EntryChecks.h"
#include "codegen/ABI/Tiles.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace skewer {
namespace entry {

class EntryBuilder {
public:
  EntryBuilder(llvm::Module &module, const KernelPlan &plan, ArrayRef<Function *> phases, const Target &target,
               uint32_t argsVersion)
      : plan(plan), phases(phases), layout(layoutOf(plan)), code(module, plan), b(code.b), sizes(code, plan, layout),
        cpu(addCpuCheck(module, plan.name, target)), checks(code, sizes, plan, layout, argsVersion),
        checkAll(checks.build(".check", false)) {
    for (size_t phase = 0; phase < phases.size(); ++phase)
      bodies.push_back(buildBody(phase));
  }
  void build(StringRef info);

private:
  Value *inRange(Value *first, Value *last, Value *items, Value *worker, Value *workers);
  Function *buildBody(size_t index);
  void callPhase(Function *phase, ArrayRef<Value *> values);
  void requireCpu();
  /// The phases that an entry calls: all, those that prepare, or the others.
  enum class Phases { All, Preparing, Others };
  void buildCall(const Twine &suffix, Phases which, Function *check);
  void callInTurn(Phases which, Value *arguments, Value *how, Value *state);
  void buildPrepared();
  void buildItems();
  void buildRaw();
  void buildWorkspaceBytes();

  const KernelPlan &plan;
  ArrayRef<Function *> phases;
  const ArgumentLayout layout;
  EntryCode code;
  IRBuilder<> &b;
  EntrySizes sizes;
  Function *cpu; // null: any processor can run the kernel
  EntryChecks checks;
  Function *checkAll;
  std::vector<Function *> bodies;
};

void EntryBuilder::build(StringRef info) {
  buildCall("", Phases::All, checkAll);
  if (plan.hasConst())
    buildPrepared();
  buildItems();
  buildRaw();
  buildWorkspaceBytes();
  code.begin("_phases", code.i32, {});
  b.CreateRet(b.getInt32(phases.size()));
  code.begin("_info", code.pointer, {});
  b.CreateRet(b.CreateGlobalString(info, plan.name + ".info"));
}

/// Emits whether 0 <= begin <= end <= items and 0 <= worker < workers.
Value *EntryBuilder::inRange(Value *first, Value *last, Value *items, Value *worker, Value *workers) {
  Value *range = b.CreateAnd(b.CreateICmpSGE(first, b.getInt64(0)), b.CreateICmpSLE(first, last));
  range = b.CreateAnd(range, b.CreateICmpSLE(last, items));
  return b.CreateAnd(range, b.CreateICmpULT(worker, workers)); // a negative worker is a large unsigned one
}

/// Builds void NAME.phase<k>(frame, begin, end, worker), the body that a parallel-for calls.
Function *EntryBuilder::buildBody(size_t index) {
  Function *body =
      code.begin(".phase" + Twine(index), b.getVoidTy(), {code.pointer, code.i64, code.i64, code.i32}, true);
  Value *state = body->getArg(0), *first = body->getArg(1), *last = body->getArg(2), *worker = body->getArg(3);
  BasicBlock *good = code.newBlock(), *bad = code.newBlock();
  b.CreateCondBr(inRange(first, last, code.field(state, FrameItems), worker, code.field(state, FrameWorkers)), good,
                 bad);
  b.SetInsertPoint(bad);
  b.CreateAlignedStore(code.status(Status::BadParallelFor), code.place(state, FrameStatus), Align(4))
      ->setAtomic(AtomicOrdering::Monotonic); // workers may fail at the same time
  b.CreateRetVoid();
  b.SetInsertPoint(good);

  Value *arguments = code.field(state, FrameArguments);
  SmallVector<Value *> values;
  auto addMemref = [&](Value *start, Value *elements) {
    values.append({start, start, b.getInt64(0), elements, b.getInt64(1)});
  };
  auto addTensor = [&](unsigned index, const TensorArgument &tensor) {
    Value *bytes = sizes.evaluate(EntrySizes::bytesOf(tensor), arguments);
    addMemref(code.word(arguments, index, code.pointer), b.CreateUDiv(bytes, b.getInt64(bytesOf(tensor.type))));
  };
  for (size_t k = 0; k < plan.inputs.size(); ++k)
    if (plan.inputs[k].origin)
      addMemref(code.origin(state, *plan.inputs[k].origin), b.getInt64(1));
    else if (plan.inputs[k].isLength) // the low half of the word: processors are little-endian
      addMemref(b.CreateConstInBoundsGEP1_32(code.i64, arguments, layout.inputWord(k)), b.getInt64(1));
    else
      addTensor(layout.inputWord(k), plan.inputs[k]);
  for (size_t k = 0; k < plan.outputs.size(); ++k)
    addTensor(layout.outputWord(k), plan.outputs[k]);
  for (const std::string &size : plan.sizes)
    values.push_back(sizes.sizeOf(arguments, size));
  Value *workspace = code.field(state, FrameWorkspace), *sharedSize = code.field(state, FrameSharedBytes);
  addMemref(workspace, sharedSize);
  Value *local = b.CreateAdd(sharedSize, b.CreateMul(b.CreateZExt(worker, code.i64), b.getInt64(sizes.localBytes())));
  addMemref(b.CreateGEP(b.getInt8Ty(), workspace, local), b.getInt64(sizes.localBytes()));
  if (plan.preparedBytes)
    addMemref(code.field(state, FramePrepared), b.getInt64(plan.preparedBytes));
  values.append({first, last});
  callPhase(phases[index], values);
  b.CreateAtomicRMW(AtomicRMWInst::Add, code.place(state, FrameDone), b.CreateSub(last, first), Align(8),
                    AtomicOrdering::Monotonic);
  b.CreateRetVoid();
  return body;
}

void EntryBuilder::requireCpu() {
  if (cpu)
    code.require(b.CreateCall(cpu), Status::UnsupportedCpu);
}

/// Calls a phase in its own floating-point state: round to nearest, denormal numbers are 0, no traps. Then restores the
/// caller's state. So no result depends on the settings of the caller's thread, and very small weights slow down no
/// layer.
void EntryBuilder::callPhase(Function *phase, ArrayRef<Value *> values) {
  constexpr uint32_t kMasks = 0x1f80, kFlushToZero = 0x8000, kDenormalsAreZero = 0x40; // bits of MXCSR
  phase->addFnAttr(Attribute::NoInline); // its arithmetic must stay between the two changes of MXCSR
  phase->addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
  Function *body = b.GetInsertBlock()->getParent();
  IRBuilder<> entry(&body->getEntryBlock(), body->getEntryBlock().begin());
  Value *callers = entry.CreateAlloca(code.i32), *own = entry.CreateAlloca(code.i32);
  b.CreateIntrinsic(Intrinsic::x86_sse_stmxcsr, {callers});
  b.CreateStore(b.getInt32(kMasks | kFlushToZero | kDenormalsAreZero), own);
  b.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {own});
  b.CreateCall(phase, values);
  b.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {callers});
}

/// Emits the calls of the phases one after another, each through the caller's parallel-for if there is one.
void EntryBuilder::callInTurn(Phases which, Value *arguments, Value *how, Value *state) {
  Value *parallelFor = code.field(how, ExecParallelFor), *callerContext = code.field(how, ExecContext);
  Value *isSerial = b.CreateIsNull(parallelFor);
  for (size_t k = 0; k < phases.size(); ++k) {
    if (which != Phases::All && plan.phases[k].prepares != (which == Phases::Preparing))
      continue;
    Value *items = sizes.evaluate(plan.phases[k].items, arguments);
    code.setField(state, FrameItems, items);
    code.setField(state, FrameDone, b.getInt64(0));
    BasicBlock *serial = code.newBlock(), *parallel = code.newBlock(), *next = code.newBlock();
    b.CreateCondBr(isSerial, serial, parallel);
    b.SetInsertPoint(serial);
    b.CreateCall(bodies[k], {state, b.getInt64(0), items, b.getInt32(0)});
    b.CreateBr(next);
    b.SetInsertPoint(parallel);
    auto *type = FunctionType::get(b.getVoidTy(), {code.pointer, code.i64, code.pointer, code.pointer}, false);
    b.CreateCall(type, parallelFor, {callerContext, items, bodies[k], state});
    b.CreateBr(next);
    b.SetInsertPoint(next);
    code.requireOk(code.field(state, FrameStatus));
    code.require(b.CreateICmpEQ(code.field(state, FrameDone), items), Status::BadParallelFor);
  }
}

/// Builds status NAME(args, exec), or, for only some of the phases, status NAME`suffix`(args, exec, prepared).
void EntryBuilder::buildCall(const Twine &suffix, Phases which, Function *check) {
  bool hasPrepared = which != Phases::All;
  SmallVector<Type *> parameters(hasPrepared ? 3 : 2, code.pointer);
  Function *call = code.begin(suffix, code.i32, parameters);
  Value *arguments = call->getArg(0), *how = call->getArg(1);
  Value *state = b.CreateAlloca(code.frame);
  requireCpu();
  code.requireOk(b.CreateCall(check, {arguments, how, state}));
  if (hasPrepared && plan.preparedBytes) {
    checks.requirePrepared(arguments, how, call->getArg(2), which == Phases::Preparing);
    code.setField(state, FramePrepared, call->getArg(2));
  }
  callInTurn(which, arguments, how, state);
  b.CreateRet(code.status(Status::Ok));
}

/// Builds size_t NAME_prepared_bytes(void), status NAME_prepare(args, exec, prepared) and status NAME_prepared(args,
/// exec, prepared). They compute once, into memory of the caller, the results that depend on `const` operands alone.
void EntryBuilder::buildPrepared() {
  Function *checkConst = checks.build(".check_const", true);
  code.begin("_prepared_bytes", code.i64, {});
  b.CreateRet(b.getInt64(plan.preparedBytes));
  buildCall("_prepare", Phases::Preparing, checkConst);
  buildCall("_prepared", Phases::Others, checkAll);
}

/// Builds i64 NAME_items(args, phase), which returns -1 if an argument is wrong.
void EntryBuilder::buildItems() {
  Function *items = code.begin("_items", code.i64, {code.pointer, code.i32});
  checks.requireSizes(items->getArg(0), b.getInt64(-1));
  BasicBlock *unknown = code.newBlock();
  SwitchInst *which = b.CreateSwitch(items->getArg(1), unknown, phases.size());
  for (size_t k = 0; k < phases.size(); ++k) {
    BasicBlock *known = code.newBlock();
    which->addCase(b.getInt32(k), known);
    b.SetInsertPoint(known);
    b.CreateRet(sizes.evaluate(plan.phases[k].items, items->getArg(0)));
  }
  b.SetInsertPoint(unknown);
  b.CreateRet(b.getInt64(-1));
}

/// Builds status NAME_raw(args, exec, phase, begin, end, worker).
void EntryBuilder::buildRaw() {
  Function *raw = code.begin("_raw", code.i32, {code.pointer, code.pointer, code.i32, code.i64, code.i64, code.i32});
  Value *state = b.CreateAlloca(code.frame);
  requireCpu();
  code.requireOk(b.CreateCall(checkAll, {raw->getArg(0), raw->getArg(1), state}));
  Value *phase = raw->getArg(2), *first = raw->getArg(3), *last = raw->getArg(4), *worker = raw->getArg(5);
  BasicBlock *unknown = code.newBlock();
  SwitchInst *which = b.CreateSwitch(phase, unknown, phases.size());
  for (size_t k = 0; k < phases.size(); ++k) {
    BasicBlock *known = code.newBlock();
    which->addCase(b.getInt32(k), known);
    b.SetInsertPoint(known);
    Value *items = sizes.evaluate(plan.phases[k].items, raw->getArg(0));
    code.setField(state, FrameItems, items);
    code.require(inRange(first, last, items, worker, code.field(state, FrameWorkers)), Status::BadRange);
    b.CreateCall(bodies[k], {state, first, last, worker});
    b.CreateRet(code.status(Status::Ok));
  }
  b.SetInsertPoint(unknown);
  b.CreateRet(code.status(Status::BadPhase));
}

/// Builds size_t NAME_workspace_bytes(args, exec), which returns SIZE_MAX if an argument is wrong.
void EntryBuilder::buildWorkspaceBytes() {
  Function *bytes = code.begin("_workspace_bytes", code.i64, {code.pointer, code.pointer});
  Value *arguments = bytes->getArg(0), *how = bytes->getArg(1), *wrong = b.getInt64(-1);
  checks.requireSizes(arguments, wrong);
  BasicBlock *without = code.newBlock(), *with = code.newBlock();
  b.CreateCondBr(b.CreateIsNull(how), without, with);
  b.SetInsertPoint(without);
  b.CreateRet(checks.neededBytes(arguments, b.getInt32(1)));
  b.SetInsertPoint(with);
  code.require(b.CreateICmpEQ(code.field(how, ExecSize), b.getInt32(sizeof(Exec))), wrong);
  code.require(b.CreateICmpEQ(code.field(how, ExecVersion), b.getInt32(kAbiVersion)), wrong);
  Value *workers = code.field(how, ExecWorkers);
  code.require(b.CreateICmpSGE(workers, b.getInt32(1)), wrong);
  b.CreateRet(checks.neededBytes(arguments, workers));
}

} // namespace entry

void addEntries(llvm::Module &module, const KernelPlan &plan, ArrayRef<Function *> phases, StringRef info,
                const Target &target, uint32_t argsVersion) {
  entry::EntryBuilder(module, plan, phases, target, argsVersion).build(info);
}

Error checkPhase(const KernelPlan &plan, const Phase &phase, Function *function) {
  auto wrong = [&](const Twine &what) {
    return kernelError(plan, "phase '" + phase.title + "': function '" + phase.function + "' " + what);
  };
  if (!function || function->isDeclaration())
    return wrong("is not defined in the module");
  Type *i64 = Type::getInt64Ty(function->getContext()), *pointer = PointerType::get(function->getContext(), 0);
  SmallVector<Type *> expected;
  auto addMemref = [&] { expected.append({pointer, pointer, i64, i64, i64}); };
  for (size_t k = 0; k < plan.inputs.size() + plan.outputs.size(); ++k)
    addMemref();
  expected.append(plan.sizes.size(), i64);
  for (int memory = plan.preparedBytes ? 3 : 2; memory > 0; --memory)
    addMemref();
  expected.append(2, i64);
  FunctionType *type = function->getFunctionType();
  if (!type->getReturnType()->isVoidTy())
    return wrong("returns a value; a phase returns nothing");
  if (type->getNumParams() != expected.size())
    return wrong("has " + Twine(type->getNumParams()) + " parameters in flat form, expected " + Twine(expected.size()));
  for (size_t k = 0; k < expected.size(); ++k)
    if (type->getParamType(k) != expected[k])
      return wrong("has another type than expected as parameter " + Twine(k) + " in flat form");
  return Error::success();
}

} // namespace skewer
