// Builds a kernel's C entries: the calls of the phases one after another, and the queries for the size of its memory.
#include "codegen/ABI/Entry.h"
#include "codegen/ABI/EntryBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace skewer {
namespace entry {

StructType *EntryBuilder::frameOf(const KernelPlan &plan, LLVMContext &context) {
  Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context), *pointer = PointerType::get(context, 0);
  SmallVector<Type *> fields = {pointer, pointer, i64, i64, i64, i32, i32, ArrayType::get(i32, std::size(kOrigins))};
  if (plan.preparedBytes)
    fields.push_back(pointer);
  return StructType::get(context, fields);
}

void EntryBuilder::build(StringRef info, const Target &target) {
  cpu = addCpuCheck(module, plan.name, target);
  buildCheckSizes();
  buildNeededBytes();
  if (!rangedInputs(plan).empty())
    buildInRange();
  checkAll = buildCheck(".check", false);
  for (size_t phase = 0; phase < phases.size(); ++phase)
    bodies.push_back(buildBody(phase));
  buildCall("", Phases::All);
  if (plan.hasConst())
    buildPrepared();
  buildItems();
  buildRaw();
  buildWorkspaceBytes();
  begin(declare("_phases", i32, {}));
  b.CreateRet(b.getInt32(phases.size()));
  begin(declare("_info", pointer, {}));
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
  Function *body = declare(".phase" + Twine(index), b.getVoidTy(), {pointer, i64, i64, i32}, true);
  begin(body);
  Value *state = body->getArg(0), *first = body->getArg(1), *last = body->getArg(2), *worker = body->getArg(3);
  BasicBlock *good = newBlock(), *bad = newBlock();
  b.CreateCondBr(inRange(first, last, field(frame, state, FrameItems), worker, field(frame, state, FrameWorkers)), good,
                 bad);
  b.SetInsertPoint(bad);
  b.CreateAlignedStore(code(Status::BadParallelFor), b.CreateStructGEP(frame, state, FrameStatus), Align(4))
      ->setAtomic(AtomicOrdering::Monotonic); // workers may fail at the same time
  b.CreateRetVoid();
  b.SetInsertPoint(good);

  Value *arguments = field(frame, state, FrameArguments);
  SmallVector<Value *> values;
  auto addMemref = [&](Value *start, Value *elements) {
    values.append({start, start, b.getInt64(0), elements, b.getInt64(1)});
  };
  auto addTensor = [&](unsigned index, const TensorArgument &tensor) {
    Value *bytes = evaluate(bytesOfTensor(tensor), arguments);
    addMemref(word(arguments, index, pointer), b.CreateUDiv(bytes, b.getInt64(bytesOf(tensor.type))));
  };
  for (size_t k = 0; k < plan.inputs.size(); ++k)
    if (plan.inputs[k].origin)
      addMemref(origin(state, *plan.inputs[k].origin), b.getInt64(1));
    else if (plan.inputs[k].isLength) // the low half of the word: processors are little-endian
      addMemref(b.CreateConstInBoundsGEP1_32(i64, arguments, layout.inputWord(k)), b.getInt64(1));
    else
      addTensor(layout.inputWord(k), plan.inputs[k]);
  for (size_t k = 0; k < plan.outputs.size(); ++k)
    addTensor(layout.outputWord(k), plan.outputs[k]);
  for (const std::string &size : plan.sizes)
    values.push_back(sizeOf(arguments, size));
  Value *workspace = field(frame, state, FrameWorkspace), *sharedSize = field(frame, state, FrameSharedBytes);
  addMemref(workspace, sharedSize);
  Value *local = b.CreateAdd(sharedSize, b.CreateMul(b.CreateZExt(worker, i64), b.getInt64(localBytes())));
  addMemref(b.CreateGEP(b.getInt8Ty(), workspace, local), b.getInt64(localBytes()));
  if (plan.preparedBytes)
    addMemref(field(frame, state, FramePrepared), b.getInt64(plan.preparedBytes));
  values.append({first, last});
  callPhase(phases[index], values);
  b.CreateAtomicRMW(AtomicRMWInst::Add, b.CreateStructGEP(frame, state, FrameDone), b.CreateSub(last, first), Align(8),
                    AtomicOrdering::Monotonic);
  b.CreateRetVoid();
  return body;
}

/// Emits the call of a phase in its own floating-point state: round to nearest, denormal numbers are 0, no traps. Then
/// restores the caller's state. So results do not depend on the settings of the caller's thread, and very small weights
/// do not slow a layer down.
void EntryBuilder::callPhase(Function *phase, ArrayRef<Value *> values) {
  constexpr uint32_t kMasks = 0x1f80, kFlushToZero = 0x8000, kDenormalsAreZero = 0x40; // bits of MXCSR
  phase->addFnAttr(Attribute::NoInline); // its arithmetic must stay between the two changes of MXCSR
  phase->addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
  Function *body = b.GetInsertBlock()->getParent();
  IRBuilder<> entry(&body->getEntryBlock(), body->getEntryBlock().begin());
  Value *callers = entry.CreateAlloca(i32), *own = entry.CreateAlloca(i32);
  b.CreateIntrinsic(Intrinsic::x86_sse_stmxcsr, {callers});
  b.CreateStore(b.getInt32(kMasks | kFlushToZero | kDenormalsAreZero), own);
  b.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {own});
  b.CreateCall(phase, values);
  b.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {callers});
}

/// Emits the calls of the phases one after another, each through the caller's parallel-for if there is one.
void EntryBuilder::callInTurn(Phases which, Value *arguments, Value *how, Value *state) {
  Value *parallelFor = field(exec, how, ExecParallelFor), *callerContext = field(exec, how, ExecContext);
  Value *isSerial = b.CreateIsNull(parallelFor);
  for (size_t k = 0; k < phases.size(); ++k) {
    if (which != Phases::All && plan.phases[k].prepares != (which == Phases::Preparing))
      continue;
    Value *items = evaluate(plan.phases[k].items, arguments);
    setField(state, FrameItems, items);
    setField(state, FrameDone, b.getInt64(0));
    BasicBlock *serial = newBlock(), *parallel = newBlock(), *next = newBlock();
    b.CreateCondBr(isSerial, serial, parallel);
    b.SetInsertPoint(serial);
    b.CreateCall(bodies[k], {state, b.getInt64(0), items, b.getInt32(0)});
    b.CreateBr(next);
    b.SetInsertPoint(parallel);
    b.CreateCall(FunctionType::get(b.getVoidTy(), {pointer, i64, pointer, pointer}, false), parallelFor,
                 {callerContext, items, bodies[k], state});
    b.CreateBr(next);
    b.SetInsertPoint(next);
    requireOk(field(frame, state, FrameStatus));
    require(b.CreateICmpEQ(field(frame, state, FrameDone), items), Status::BadParallelFor);
  }
}

/// Builds status NAME(args, exec), or, for only some of the phases, status NAME`suffix`(args, exec, prepared).
void EntryBuilder::buildCall(const Twine &suffix, Phases which) {
  bool hasPrepared = which != Phases::All, constAlone = which == Phases::Preparing;
  SmallVector<Type *> parameters(hasPrepared ? 3 : 2, pointer);
  Function *call = declare(suffix, i32, parameters);
  begin(call);
  Value *arguments = call->getArg(0), *how = call->getArg(1);
  Value *state = b.CreateAlloca(frame);
  requireCpu();
  requireOk(b.CreateCall(constAlone ? checkConst : checkAll, {arguments, how, state}));
  if (hasPrepared && plan.preparedBytes) {
    checkPrepared(arguments, how, call->getArg(2), constAlone);
    setField(state, FramePrepared, call->getArg(2));
  }
  callInTurn(which, arguments, how, state);
  b.CreateRet(code(Status::Ok));
}

/// Builds i64 NAME_items(args, phase), which returns -1 if an argument is wrong.
void EntryBuilder::buildItems() {
  Function *items = declare("_items", i64, {pointer, i32});
  begin(items);
  require(b.CreateIsNull(b.CreateCall(checkSizes, {items->getArg(0)})), b.getInt64(-1));
  BasicBlock *unknown = newBlock();
  SwitchInst *which = b.CreateSwitch(items->getArg(1), unknown, phases.size());
  for (size_t k = 0; k < phases.size(); ++k) {
    BasicBlock *known = newBlock();
    which->addCase(b.getInt32(k), known);
    b.SetInsertPoint(known);
    b.CreateRet(evaluate(plan.phases[k].items, items->getArg(0)));
  }
  b.SetInsertPoint(unknown);
  b.CreateRet(b.getInt64(-1));
}

/// Builds status NAME_raw(args, exec, phase, begin, end, worker).
void EntryBuilder::buildRaw() {
  Function *raw = declare("_raw", i32, {pointer, pointer, i32, i64, i64, i32});
  begin(raw);
  Value *state = b.CreateAlloca(frame);
  requireCpu();
  requireOk(b.CreateCall(checkAll, {raw->getArg(0), raw->getArg(1), state}));
  Value *phase = raw->getArg(2), *first = raw->getArg(3), *last = raw->getArg(4), *worker = raw->getArg(5);
  BasicBlock *unknown = newBlock();
  SwitchInst *which = b.CreateSwitch(phase, unknown, phases.size());
  for (size_t k = 0; k < phases.size(); ++k) {
    BasicBlock *known = newBlock();
    which->addCase(b.getInt32(k), known);
    b.SetInsertPoint(known);
    Value *items = evaluate(plan.phases[k].items, raw->getArg(0));
    setField(state, FrameItems, items);
    require(inRange(first, last, items, worker, field(frame, state, FrameWorkers)), Status::BadRange);
    b.CreateCall(bodies[k], {state, first, last, worker});
    b.CreateRet(code(Status::Ok));
  }
  b.SetInsertPoint(unknown);
  b.CreateRet(code(Status::BadPhase));
}

/// Builds size_t NAME_workspace_bytes(args, exec), which returns SIZE_MAX if an argument is wrong.
void EntryBuilder::buildWorkspaceBytes() {
  Function *bytes = declare("_workspace_bytes", i64, {pointer, pointer});
  begin(bytes);
  Value *arguments = bytes->getArg(0), *how = bytes->getArg(1), *wrong = b.getInt64(-1);
  require(b.CreateIsNull(b.CreateCall(checkSizes, {arguments})), wrong);
  BasicBlock *without = newBlock(), *with = newBlock();
  b.CreateCondBr(b.CreateIsNull(how), without, with);
  b.SetInsertPoint(without);
  b.CreateRet(b.CreateCall(neededBytes, {arguments, b.getInt32(1)}));
  b.SetInsertPoint(with);
  require(b.CreateICmpEQ(field(exec, how, ExecSize), b.getInt32(sizeof(Exec))), wrong);
  require(b.CreateICmpEQ(field(exec, how, ExecVersion), b.getInt32(kAbiVersion)), wrong);
  Value *workers = field(exec, how, ExecWorkers);
  require(b.CreateICmpSGE(workers, b.getInt32(1)), wrong);
  b.CreateRet(b.CreateCall(neededBytes, {arguments, workers}));
}

} // namespace entry

void addEntries(llvm::Module &module, const KernelPlan &plan, ArrayRef<Function *> phases, StringRef info,
                const Target &target, uint32_t argsVersion) {
  entry::EntryBuilder(module, plan, phases, argsVersion).build(info, target);
}

Error checkPhase(const KernelPlan &plan, const Phase &phase, Function *function) {
  auto wrong = [&](const Twine &what) {
    return createStringError(inconvertibleErrorCode(), "kernel '" + Twine(plan.name) + "': phase '" + phase.title +
                                                           "': function '" + phase.function + "' " + what);
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
