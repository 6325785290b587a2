// Builds the checks of an entry: sizes, tensors, workspaces and the ranges of index operands, in the order of
// docs/abi.md.
#include "codegen/ABI/EntryChecks.h"
#include "codegen/ABI/Emit.h"

using namespace llvm;

namespace skewer::entry {

EntryChecks::EntryChecks(EntryCode &code, EntrySizes &sizes, const KernelPlan &plan, const ArgumentLayout &layout,
                         uint32_t argsVersion)
    : code(code), b(code.b), sizes(sizes), plan(plan), layout(layout), rightSizes(buildSizes(argsVersion)),
      needed(buildNeeded()), within(rangedInputs(plan).empty() ? nullptr : buildWithin()) {}

/// Builds status NAME.sizes(args), which checks the struct itself, the run-time sizes and all their products.
Function *EntryChecks::buildSizes(uint32_t argsVersion) {
  Function *function = code.begin(".sizes", code.i32, {code.pointer}, true);
  Value *arguments = function->getArg(0);
  auto number = [&](unsigned index) {
    return b.CreateLoad(code.i32, b.CreateConstInBoundsGEP1_32(code.i32, arguments, index));
  };
  code.require(b.CreateIsNotNull(arguments), Status::NullArgs);
  code.require(b.CreateICmpEQ(number(0), b.getInt32(layout.bytes())), Status::BadArgsSize);
  constexpr uint32_t kLayerBits = ~0u << kAbiVersionBits;
  Value *version = number(1);
  code.require(b.CreateICmpEQ(b.CreateAnd(version, b.getInt32(~kLayerBits)), b.getInt32(kAbiVersion)),
               Status::BadArgsVersion);
  if (argsVersion & kLayerBits) { // 0: the caller does not state a layer
    Value *layer = b.CreateAnd(version, b.getInt32(kLayerBits));
    code.require(b.CreateOr(b.CreateIsNull(layer), b.CreateICmpEQ(layer, b.getInt32(argsVersion & kLayerBits))),
                 Status::BadArgsLayer);
  }
  for (const std::string &size : plan.sizes)
    if (auto bound = plan.boundOf(size)) // unsigned: a size below 1 becomes larger than the bound
      code.require(b.CreateICmpULT(b.CreateSub(sizes.sizeOf(arguments, size), b.getInt64(1)), b.getInt64(*bound)),
                   Status::BadSize);
    else
      code.require(b.CreateICmpSGE(sizes.sizeOf(arguments, size), b.getInt64(1)), Status::BadSize);
  Value *overflow = b.getFalse();
  for (auto [index, tensor] : sizes.tensors())
    sizes.evaluate(EntrySizes::bytesOf(*tensor), arguments, overflow);
  for (const Phase &phase : plan.phases)
    sizes.evaluate(phase.items, arguments, overflow);
  sizes.sharedBytes(arguments, overflow);
  code.require(b.CreateNot(overflow), Status::BadSize);
  for (unsigned k = 0; k < std::size(kOrigins); ++k) {
    int64_t last = 0; // unsigned: a negative origin becomes larger than this
    for (const TensorArgument &input : plan.inputs)
      last = input.origin == k ? input.range->high : last;
    Value *given = code.word(arguments, layout.originWord() + k, code.i64);
    code.require(b.CreateICmpULE(given, b.getInt64(last)), Status::BadOrigin);
  }
  b.CreateRet(code.status(Status::Ok));
  return function;
}

/// Builds i64 NAME.needed(args, workers), which returns the bytes of workspace; -1 if they exceed 63 bits. Valid only
/// after NAME.sizes.
Function *EntryChecks::buildNeeded() {
  Function *function = code.begin(".needed", code.i64, {code.pointer, code.i32}, true);
  Value *overflow = b.getFalse();
  Value *locals = sizes.checked(Intrinsic::smul_with_overflow, b.CreateSExt(function->getArg(1), code.i64),
                                b.getInt64(sizes.localBytes()), overflow);
  Value *shared = sizes.sharedBytes(function->getArg(0), overflow);
  Value *bytes = sizes.checked(Intrinsic::sadd_with_overflow, shared, locals, overflow);
  if (plan.preparedBytes)
    bytes = sizes.checked(Intrinsic::sadd_with_overflow, bytes, b.getInt64(plan.preparedBytes), overflow);
  b.CreateRet(b.CreateSelect(overflow, b.getInt64(-1), bytes));
  return function;
}

/// Returns whether [p, p+n) and [q, q+m) share a byte.
Value *EntryChecks::overlaps(Value *p, Value *n, Value *q, Value *m) {
  return b.CreateAnd(b.CreateICmpULT(p, b.CreateAdd(q, m)), b.CreateICmpULT(q, b.CreateAdd(p, n)));
}

/// Builds i1 NAME.within(data, elements, low, span), which returns whether low <= data[k] <= low + span for all
/// elements, which are i32.
Function *EntryChecks::buildWithin() {
  constexpr unsigned kLanes = 8;
  auto *lanes = FixedVectorType::get(code.i32, kLanes);
  Function *function = code.begin(".within", b.getInt1Ty(), {code.pointer, code.i64, code.i32, code.i32}, true);
  Value *data = function->getArg(0), *count = function->getArg(1);
  // Unsigned: a value below `low` becomes larger than every span.
  auto outside = [&](Value *elements, bool isVector) {
    Value *low = function->getArg(2), *span = function->getArg(3);
    if (isVector)
      low = b.CreateVectorSplat(kLanes, low), span = b.CreateVectorSplat(kLanes, span);
    return b.CreateZExt(b.CreateICmpUGT(b.CreateSub(elements, low), span), elements->getType());
  };
  auto loop = [&](Value *from, Value *to, unsigned step, Type *type) {
    BasicBlock *before = b.GetInsertBlock(), *head = code.newBlock(), *body = code.newBlock(), *after = code.newBlock();
    b.CreateBr(head);
    b.SetInsertPoint(head);
    PHINode *at = b.CreatePHI(code.i64, 2), *found = b.CreatePHI(type, 2);
    at->addIncoming(from, before);
    found->addIncoming(Constant::getNullValue(type), before);
    b.CreateCondBr(b.CreateICmpSLT(at, to), body, after);
    b.SetInsertPoint(body);
    Value *elements = b.CreateAlignedLoad(type, b.CreateGEP(code.i32, data, at), Align(4));
    found->addIncoming(b.CreateOr(found, outside(elements, step > 1)), body);
    at->addIncoming(b.CreateAdd(at, b.getInt64(step)), body);
    b.CreateBr(head);
    b.SetInsertPoint(after);
    return found;
  };
  Value *whole = b.CreateAnd(count, b.getInt64(-int64_t(kLanes)));
  Value *wide = b.CreateOrReduce(loop(b.getInt64(0), whole, kLanes, lanes));
  Value *rest = loop(whole, count, 1, code.i32);
  b.CreateRet(b.CreateIsNull(b.CreateOr(wide, rest)));
  return function;
}

/// Refuses index operands with an element outside their range.
void EntryChecks::requireRanges(Value *arguments, bool constAlone) {
  for (auto [number, input] : enumerate(rangedInputs(plan))) {
    const TensorArgument &tensor = plan.inputs[input];
    if (constAlone && !tensor.isConst)
      continue;
    Value *elements = b.CreateUDiv(sizes.evaluate(EntrySizes::bytesOf(tensor), arguments), b.getInt64(4));
    Value *first = b.getInt64(tensor.range->low), *last = b.getInt64(tensor.range->high);
    Value *hasValues = b.getTrue();
    if (!tensor.range->ends.empty()) {
      auto end = [&](const Extent &end) {
        return end.name.empty() ? b.getInt64(end.fixed) : sizes.extentOf(arguments, end.name);
      };
      first = end(tensor.range->ends[0]), last = end(tensor.range->ends[1]);
      hasValues = b.CreateICmpSLE(first, last); // at some lengths the range may be empty
    }
    Value *span = b.CreateTrunc(b.CreateSub(last, first), code.i32);
    Value *good = b.CreateCall(within, {code.word(arguments, layout.inputWord(input), code.pointer), elements,
                                        b.CreateTrunc(first, code.i32), span});
    code.require(b.CreateAnd(good, hasValues), b.getInt32(int32_t(Status::BadIndex) + int32_t(number)));
  }
}

/// Fills the frame that the phases of a call read.
void EntryChecks::fillFrame(Value *arguments, Value *how, Value *state) {
  Value *overflow = b.getFalse();
  Value *workspace = code.field(how, ExecWorkspace), *workers = code.field(how, ExecWorkers);
  code.setField(state, FrameArguments, arguments);
  code.setField(state, FrameWorkspace, b.CreateConstGEP1_64(b.getInt8Ty(), workspace, plan.preparedBytes));
  if (plan.preparedBytes)
    code.setField(state, FramePrepared, workspace);
  code.setField(state, FrameSharedBytes, sizes.sharedBytes(arguments, overflow));
  code.setField(state, FrameItems, b.getInt64(0));
  code.setField(state, FrameDone, b.getInt64(0));
  code.setField(state, FrameWorkers, workers);
  code.setField(state, FrameStatus, code.status(Status::Ok));
  for (unsigned k = 0; k < std::size(kOrigins); ++k)
    b.CreateStore(b.CreateTrunc(code.word(arguments, layout.originWord() + k, code.i64), code.i32),
                  code.origin(state, k));
}

Function *EntryChecks::build(const Twine &suffix, bool constAlone) {
  Function *check = code.begin(suffix, code.i32, {code.pointer, code.pointer, code.pointer}, true);
  Value *arguments = check->getArg(0), *how = check->getArg(1), *state = check->getArg(2);
  code.requireOk(b.CreateCall(rightSizes, {arguments}));
  for (auto [index, tensor] : sizes.tensors(constAlone))
    code.require(b.CreateIsNotNull(code.word(arguments, index, code.pointer)), Status::NullTensor);
  for (auto [index, tensor] : sizes.tensors(constAlone)) {
    Value *low = b.CreateAnd(code.word(arguments, index, code.i64), b.getInt64(bytesOf(tensor->type) - 1));
    code.require(b.CreateIsNull(low), Status::MisalignedTensor);
  }
  code.require(b.CreateIsNotNull(how), Status::NullExec);
  code.require(b.CreateICmpEQ(code.field(how, ExecSize), b.getInt32(sizeof(Exec))), Status::BadExecSize);
  code.require(b.CreateICmpEQ(code.field(how, ExecVersion), b.getInt32(kAbiVersion)), Status::BadExecVersion);
  Value *workers = code.field(how, ExecWorkers);
  code.require(b.CreateICmpSGE(workers, b.getInt32(1)), Status::BadWorkers);
  Value *needed = neededBytes(arguments, workers);
  code.require(b.CreateICmpSGE(needed, b.getInt64(0)), Status::BadSize);
  Value *workspace = code.field(how, ExecWorkspace), *address = b.CreatePtrToInt(workspace, code.i64);
  Value *isUnused = b.CreateIsNull(needed);
  code.require(b.CreateOr(isUnused, b.CreateIsNotNull(workspace)), Status::NullWorkspace);
  code.require(b.CreateICmpUGE(code.field(how, ExecWorkspaceBytes), needed), Status::SmallWorkspace);
  code.require(b.CreateOr(isUnused, b.CreateIsNull(b.CreateAnd(address, b.getInt64(63)))), Status::MisalignedWorkspace);

  Value *shared = b.getFalse();
  for (auto [index, tensor] : sizes.tensors(constAlone)) {
    Value *start = code.word(arguments, index, code.i64);
    Value *bytes = sizes.evaluate(EntrySizes::bytesOf(*tensor), arguments);
    Value *withWorkspace = overlaps(start, bytes, address, needed);
    shared = b.CreateOr(shared, b.CreateAnd(b.CreateNot(isUnused), withWorkspace));
    // An output must not share memory with any tensor before it.
    for (size_t k = 0; k < plan.outputs.size() && !constAlone; ++k)
      if (index < layout.outputWord(k))
        shared = b.CreateOr(shared, overlaps(start, bytes, code.word(arguments, layout.outputWord(k), code.i64),
                                             sizes.evaluate(EntrySizes::bytesOf(plan.outputs[k]), arguments)));
  }
  code.require(b.CreateNot(shared), Status::Overlap);
  requireRanges(arguments, constAlone);
  fillFrame(arguments, how, state);
  b.CreateRet(code.status(Status::Ok));
  return check;
}

void EntryChecks::requireSizes(Value *arguments, Value *otherwise) {
  code.require(b.CreateIsNull(b.CreateCall(rightSizes, {arguments})), otherwise);
}

void EntryChecks::requirePrepared(Value *arguments, Value *how, Value *prepared, bool constAlone) {
  Value *start = b.CreatePtrToInt(prepared, code.i64), *size = b.getInt64(plan.preparedBytes);
  code.require(b.CreateIsNotNull(prepared), Status::NullPrepared);
  code.require(b.CreateIsNull(b.CreateAnd(start, b.getInt64(63))), Status::MisalignedPrepared);
  Value *needed = neededBytes(arguments, code.field(how, ExecWorkers));
  Value *shared = overlaps(start, size, b.CreatePtrToInt(code.field(how, ExecWorkspace), code.i64), needed);
  for (auto [index, tensor] : sizes.tensors(constAlone))
    shared = b.CreateOr(shared, overlaps(start, size, code.word(arguments, index, code.i64),
                                         sizes.evaluate(EntrySizes::bytesOf(*tensor), arguments)));
  code.require(b.CreateNot(shared), Status::Overlap);
}

} // namespace skewer::entry
