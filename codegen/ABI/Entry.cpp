// Builds a kernel's C entries: validation, workspace, the walk over the phases.
#include "codegen/ABI/Entry.h"
#include "codegen/ABI/CpuCheck.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/EntryFields.h"
#include "codegen/ABI/ExtentValue.h"
#include "codegen/ABI/Status.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace skewer {
namespace {

class EntryBuilder {
public:
  EntryBuilder(llvm::Module &module, const KernelPlan &plan, ArrayRef<Function *> phases)
      : module(module), context(module.getContext()), plan(plan), layout(layoutOf(plan)), phases(phases), b(context),
        i32(b.getInt32Ty()), i64(b.getInt64Ty()), pointer(b.getPtrTy()),
        exec(StructType::get(context, {i32, i32, pointer, i64, i32, i32, pointer, pointer})),
        frame(StructType::get(context,
                              {pointer, pointer, i64, i64, i64, i32, i32, ArrayType::get(i32, std::size(kOrigins))})) {}

  void build(StringRef info, const Target &target) {
    cpu = addCpuCheck(module, plan.name, target);
    buildCheckSizes();
    buildNeededBytes();
    if (!rangedInputs(plan).empty())
      buildInRange();
    buildCheckAll();
    for (size_t phase = 0; phase < phases.size(); ++phase)
      bodies.push_back(buildBody(phase));
    buildCall();
    buildItems();
    buildRaw();
    buildWorkspaceBytes();
    begin(declare("_phases", i32, {}));
    b.CreateRet(b.getInt32(phases.size()));
    begin(declare("_info", pointer, {}));
    b.CreateRet(b.CreateGlobalString(info, plan.name + ".info"));
  }

private:
  llvm::Module &module;
  LLVMContext &context;
  const KernelPlan &plan;
  ArgumentLayout layout;
  ArrayRef<Function *> phases;
  IRBuilder<> b;
  Type *i32, *i64;
  PointerType *pointer;
  StructType *exec, *frame;
  Function *checkSizes = nullptr, *neededBytes = nullptr, *checkAll = nullptr, *within = nullptr, *cpu = nullptr;
  std::vector<Function *> bodies;

  // Functions and blocks ---------------------------------------------------------------------------------------------
  Function *declare(const Twine &suffix, Type *result, ArrayRef<Type *> parameters, bool isInternal = false) {
    Function *function = Function::Create(FunctionType::get(result, parameters, false),
                                          isInternal ? GlobalValue::InternalLinkage : GlobalValue::ExternalLinkage,
                                          plan.name + suffix, module);
    makeBaseline(*function); // it runs before, or is, the check of the processor
    return function;
  }
  void begin(Function *function) { b.SetInsertPoint(BasicBlock::Create(context, "", function)); }
  BasicBlock *newBlock() { return BasicBlock::Create(context, "", b.GetInsertBlock()->getParent()); }
  Value *code(Status status) { return b.getInt32(int32_t(status)); }

  /// Goes on where `good` holds, and returns `otherwise` where it does not.
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
    size_t index = find(plan.sizes, name) - plan.sizes.begin();
    return word(arguments, layout.sizeWord(index), i64);
  }

  // Sizes ------------------------------------------------------------------------------------------------------------
  /// x op y; where it leaves the signed 64-bit numbers, `overflow` becomes true.
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
  /// Without the check: only behind `checkSizes`.
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
  std::vector<std::pair<unsigned, const TensorArgument *>> tensors() {
    std::vector<std::pair<unsigned, const TensorArgument *>> result;
    for (size_t k = 0; k < plan.inputs.size(); ++k)
      if (plan.inputs[k].isTensor())
        result.push_back({layout.inputWord(k), &plan.inputs[k]});
    for (size_t k = 0; k < plan.outputs.size(); ++k)
      result.push_back({layout.outputWord(k), &plan.outputs[k]});
    return result;
  }
  int64_t localBytes() { return alignTo(plan.localBytes, 64); }
  /// The shared workspace, rounded up so that what follows stays aligned.
  Value *sharedBytes(Value *arguments, Value *&overflow) {
    Value *bytes = evaluate(plan.sharedBytes, arguments, overflow);
    bytes = checked(Intrinsic::sadd_with_overflow, bytes, b.getInt64(63), overflow);
    return b.CreateAnd(bytes, b.getInt64(-64));
  }

  /// status NAME.sizes(args): the struct itself, run-time sizes and all products of them.
  void buildCheckSizes() {
    checkSizes = declare(".sizes", i32, {pointer}, true);
    begin(checkSizes);
    Value *arguments = checkSizes->getArg(0);
    require(b.CreateIsNotNull(arguments), Status::NullArgs);
    require(b.CreateICmpEQ(number(arguments, 0), b.getInt32(layout.bytes())), Status::BadArgsSize);
    require(b.CreateICmpEQ(number(arguments, 1), b.getInt32(kAbiVersion)), Status::BadArgsVersion);
    for (const std::string &size : plan.sizes)
      if (auto bound = plan.boundOf(size)) // unsigned: what is below 1 is above it
        require(b.CreateICmpULT(b.CreateSub(sizeOf(arguments, size), b.getInt64(1)), b.getInt64(*bound)),
                Status::BadSize);
      else
        require(b.CreateICmpSGE(sizeOf(arguments, size), b.getInt64(1)), Status::BadSize);
    Value *overflow = b.getFalse();
    for (auto [index, tensor] : tensors())
      evaluate(bytesOfTensor(*tensor), arguments, overflow);
    for (const Phase &phase : plan.phases)
      evaluate(phase.items, arguments, overflow);
    sharedBytes(arguments, overflow);
    require(b.CreateNot(overflow), Status::BadSize);
    for (unsigned k = 0; k < std::size(kOrigins); ++k) {
      int64_t last = 0; // unsigned: what is negative is above it
      for (const TensorArgument &input : plan.inputs)
        last = input.origin == k ? input.range->high : last;
      require(b.CreateICmpULE(word(arguments, layout.originWord() + k, i64), b.getInt64(last)), Status::BadOrigin);
    }
    b.CreateRet(code(Status::Ok));
  }

  /// i64 NAME.needed(args, workers): bytes of workspace, -1 where they exceed 63 bits. Behind `checkSizes`.
  void buildNeededBytes() {
    neededBytes = declare(".needed", i64, {pointer, i32}, true);
    begin(neededBytes);
    Value *overflow = b.getFalse();
    Value *locals = checked(Intrinsic::smul_with_overflow, b.CreateSExt(neededBytes->getArg(1), i64),
                            b.getInt64(localBytes()), overflow);
    Value *bytes =
        checked(Intrinsic::sadd_with_overflow, sharedBytes(neededBytes->getArg(0), overflow), locals, overflow);
    b.CreateRet(b.CreateSelect(overflow, b.getInt64(-1), bytes));
  }

  // Validation -------------------------------------------------------------------------------------------------------
  /// Whether [p, p+n) and [q, q+m) share a byte.
  Value *overlaps(Value *p, Value *n, Value *q, Value *m) {
    return b.CreateAnd(b.CreateICmpULT(p, b.CreateAdd(q, m)), b.CreateICmpULT(q, b.CreateAdd(p, n)));
  }

  /// i1 NAME.within(data, elements, low, span): whether low <= data[k] <= low + span for all elements, which are i32.
  void buildInRange() {
    constexpr unsigned kLanes = 8;
    auto *lanes = FixedVectorType::get(i32, kLanes);
    within = declare(".within", b.getInt1Ty(), {pointer, i64, i32, i32}, true);
    begin(within);
    Value *data = within->getArg(0), *count = within->getArg(1);
    // Unsigned: what is below `low` is above every span.
    auto outside = [&](Value *elements, bool isVector) {
      Value *low = within->getArg(2), *span = within->getArg(3);
      if (isVector)
        low = b.CreateVectorSplat(kLanes, low), span = b.CreateVectorSplat(kLanes, span);
      return b.CreateZExt(b.CreateICmpUGT(b.CreateSub(elements, low), span), elements->getType());
    };
    auto loop = [&](Value *from, Value *to, unsigned step, Type *type) {
      BasicBlock *before = b.GetInsertBlock(), *head = newBlock(), *body = newBlock(), *after = newBlock();
      b.CreateBr(head);
      b.SetInsertPoint(head);
      PHINode *at = b.CreatePHI(i64, 2), *found = b.CreatePHI(type, 2);
      at->addIncoming(from, before);
      found->addIncoming(Constant::getNullValue(type), before);
      b.CreateCondBr(b.CreateICmpSLT(at, to), body, after);
      b.SetInsertPoint(body);
      Value *elements = b.CreateAlignedLoad(type, b.CreateGEP(i32, data, at), Align(4));
      found->addIncoming(b.CreateOr(found, outside(elements, step > 1)), body);
      at->addIncoming(b.CreateAdd(at, b.getInt64(step)), body);
      b.CreateBr(head);
      b.SetInsertPoint(after);
      return found;
    };
    Value *whole = b.CreateAnd(count, b.getInt64(-int64_t(kLanes)));
    Value *wide = b.CreateOrReduce(loop(b.getInt64(0), whole, kLanes, lanes));
    Value *rest = loop(whole, count, 1, i32);
    b.CreateRet(b.CreateIsNull(b.CreateOr(wide, rest)));
  }

  /// status NAME.check(args, exec, frame): everything that can be wrong with a call; fills the frame. The order is
  /// documented in docs/abi.md.
  void buildCheckAll() {
    checkAll = declare(".check", i32, {pointer, pointer, pointer}, true);
    begin(checkAll);
    Value *arguments = checkAll->getArg(0), *how = checkAll->getArg(1), *state = checkAll->getArg(2);
    requireOk(b.CreateCall(checkSizes, {arguments}));
    for (auto [index, tensor] : tensors())
      require(b.CreateIsNotNull(word(arguments, index, pointer)), Status::NullTensor);
    for (auto [index, tensor] : tensors()) {
      Value *low = b.CreateAnd(word(arguments, index, i64), b.getInt64(bytesOf(tensor->type) - 1));
      require(b.CreateIsNull(low), Status::MisalignedTensor);
    }
    require(b.CreateIsNotNull(how), Status::NullExec);
    require(b.CreateICmpEQ(field(exec, how, ExecSize), b.getInt32(sizeof(Exec))), Status::BadExecSize);
    require(b.CreateICmpEQ(field(exec, how, ExecVersion), b.getInt32(kAbiVersion)), Status::BadExecVersion);
    Value *workers = field(exec, how, ExecWorkers);
    require(b.CreateICmpSGE(workers, b.getInt32(1)), Status::BadWorkers);
    Value *needed = b.CreateCall(neededBytes, {arguments, workers});
    require(b.CreateICmpSGE(needed, b.getInt64(0)), Status::BadSize);
    Value *workspace = field(exec, how, ExecWorkspace), *address = b.CreatePtrToInt(workspace, i64);
    Value *isUnused = b.CreateIsNull(needed);
    require(b.CreateOr(isUnused, b.CreateIsNotNull(workspace)), Status::NullWorkspace);
    require(b.CreateICmpUGE(field(exec, how, ExecWorkspaceBytes), needed), Status::SmallWorkspace);
    require(b.CreateOr(isUnused, b.CreateIsNull(b.CreateAnd(address, b.getInt64(63)))), Status::MisalignedWorkspace);

    Value *shared = b.getFalse();
    for (auto [index, tensor] : tensors()) {
      Value *start = word(arguments, index, i64), *bytes = evaluate(bytesOfTensor(*tensor), arguments);
      Value *withWorkspace = overlaps(start, bytes, address, needed);
      shared = b.CreateOr(shared, b.CreateAnd(b.CreateNot(isUnused), withWorkspace));
      // What is written shares memory with nothing that stands before it.
      for (size_t k = 0; k < plan.outputs.size(); ++k)
        if (index < layout.outputWord(k))
          shared = b.CreateOr(shared, overlaps(start, bytes, word(arguments, layout.outputWord(k), i64),
                                               evaluate(bytesOfTensor(plan.outputs[k]), arguments)));
    }
    require(b.CreateNot(shared), Status::Overlap);
    for (auto [number, input] : enumerate(rangedInputs(plan))) {
      const TensorArgument &tensor = plan.inputs[input];
      Value *elements = b.CreateUDiv(evaluate(bytesOfTensor(tensor), arguments), b.getInt64(4));
      Value *good = b.CreateCall(within, {word(arguments, layout.inputWord(input), pointer), elements,
                                          b.getInt32(uint32_t(tensor.range->low)),
                                          b.getInt32(uint32_t(tensor.range->high - tensor.range->low))});
      require(good, b.getInt32(int32_t(Status::BadIndex) + int32_t(number)));
    }

    Value *overflow = b.getFalse();
    setField(state, FrameArguments, arguments);
    setField(state, FrameWorkspace, workspace);
    setField(state, FrameSharedBytes, sharedBytes(arguments, overflow));
    setField(state, FrameItems, b.getInt64(0));
    setField(state, FrameDone, b.getInt64(0));
    setField(state, FrameWorkers, workers);
    setField(state, FrameStatus, code(Status::Ok));
    for (unsigned k = 0; k < std::size(kOrigins); ++k)
      b.CreateStore(b.CreateTrunc(word(arguments, layout.originWord() + k, i64), i32), origin(state, k));
    b.CreateRet(code(Status::Ok));
  }

  // Phases -----------------------------------------------------------------------------------------------------------
  /// Whether 0 <= begin <= end <= items and 0 <= worker < workers.
  Value *inRange(Value *first, Value *last, Value *items, Value *worker, Value *workers) {
    Value *range = b.CreateAnd(b.CreateICmpSGE(first, b.getInt64(0)), b.CreateICmpSLE(first, last));
    range = b.CreateAnd(range, b.CreateICmpSLE(last, items));
    return b.CreateAnd(range, b.CreateICmpULT(worker, workers)); // a negative worker is a large unsigned one
  }

  /// void NAME.phase<k>(frame, begin, end, worker): the body that a parallel-for calls.
  Function *buildBody(size_t index) {
    Function *body = declare(".phase" + Twine(index), b.getVoidTy(), {pointer, i64, i64, i32}, true);
    begin(body);
    Value *state = body->getArg(0), *first = body->getArg(1), *last = body->getArg(2), *worker = body->getArg(3);
    BasicBlock *good = newBlock(), *bad = newBlock();
    b.CreateCondBr(inRange(first, last, field(frame, state, FrameItems), worker, field(frame, state, FrameWorkers)),
                   good, bad);
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
      else if (plan.inputs[k].isLength) // its low half: processors are little-endian
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
    values.append({first, last});
    callPhase(phases[index], values);
    b.CreateAtomicRMW(AtomicRMWInst::Add, b.CreateStructGEP(frame, state, FrameDone), b.CreateSub(last, first),
                      Align(8), AtomicOrdering::Monotonic);
    b.CreateRetVoid();
    return body;
  }

  /// A phase computes in a state of its own, and leaves the caller's as it was: to the nearest, denormal numbers are 0,
  /// nothing traps. So no result depends on what the caller's thread has set, and no layer slows down by weights that
  /// are almost nothing.
  void callPhase(Function *phase, ArrayRef<Value *> values) {
    constexpr uint32_t kMasks = 0x1f80, kFlushToZero = 0x8000, kDenormalsAreZero = 0x40; // of MXCSR
    phase->addFnAttr(Attribute::NoInline); // its arithmetic stays between the two
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

  /// status NAME(args, exec)
  void buildCall() {
    Function *call = declare("", i32, {pointer, pointer});
    begin(call);
    Value *arguments = call->getArg(0), *how = call->getArg(1);
    Value *state = b.CreateAlloca(frame);
    requireCpu();
    requireOk(b.CreateCall(checkAll, {arguments, how, state}));
    Value *parallelFor = field(exec, how, ExecParallelFor), *callerContext = field(exec, how, ExecContext);
    Value *isSerial = b.CreateIsNull(parallelFor);
    for (size_t k = 0; k < phases.size(); ++k) {
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
    b.CreateRet(code(Status::Ok));
  }

  /// i64 NAME_items(args, phase): -1 where an argument is wrong.
  void buildItems() {
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

  /// status NAME_raw(args, exec, phase, begin, end, worker)
  void buildRaw() {
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

  /// size_t NAME_workspace_bytes(args, exec): SIZE_MAX where an argument is wrong.
  void buildWorkspaceBytes() {
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
};

} // namespace

void addEntries(llvm::Module &module, const KernelPlan &plan, ArrayRef<Function *> phases, StringRef info,
                const Target &target) {
  EntryBuilder(module, plan, phases).build(info, target);
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
  addMemref();
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
