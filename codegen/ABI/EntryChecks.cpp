// Builds the checks of an entry: sizes, tensors, workspaces and the ranges of index operands, in the order of
// docs/abi.md.
#include "codegen/ABI/EntryBuilder.h"

using namespace llvm;

namespace skewer::entry {

/// Builds status NAME.sizes(args), which checks the struct itself, the run-time sizes and all their products.
void EntryBuilder::buildCheckSizes() {
  checkSizes = declare(".sizes", i32, {pointer}, true);
  begin(checkSizes);
  Value *arguments = checkSizes->getArg(0);
  require(b.CreateIsNotNull(arguments), Status::NullArgs);
  require(b.CreateICmpEQ(number(arguments, 0), b.getInt32(layout.bytes())), Status::BadArgsSize);
  constexpr uint32_t kLayerBits = ~0u << kAbiVersionBits;
  Value *version = number(arguments, 1);
  require(b.CreateICmpEQ(b.CreateAnd(version, b.getInt32(~kLayerBits)), b.getInt32(kAbiVersion)),
          Status::BadArgsVersion);
  if (argsVersion & kLayerBits) { // 0: the caller does not state a layer
    Value *layer = b.CreateAnd(version, b.getInt32(kLayerBits));
    require(b.CreateOr(b.CreateIsNull(layer), b.CreateICmpEQ(layer, b.getInt32(argsVersion & kLayerBits))),
            Status::BadArgsLayer);
  }
  for (const std::string &size : plan.sizes)
    if (auto bound = plan.boundOf(size)) // unsigned: a size below 1 becomes larger than the bound
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
    int64_t last = 0; // unsigned: a negative origin becomes larger than this
    for (const TensorArgument &input : plan.inputs)
      last = input.origin == k ? input.range->high : last;
    require(b.CreateICmpULE(word(arguments, layout.originWord() + k, i64), b.getInt64(last)), Status::BadOrigin);
  }
  b.CreateRet(code(Status::Ok));
}

/// Builds i64 NAME.needed(args, workers), which returns the bytes of workspace; -1 if they exceed 63 bits. Valid only
/// after `checkSizes`.
void EntryBuilder::buildNeededBytes() {
  neededBytes = declare(".needed", i64, {pointer, i32}, true);
  begin(neededBytes);
  Value *overflow = b.getFalse();
  Value *locals = checked(Intrinsic::smul_with_overflow, b.CreateSExt(neededBytes->getArg(1), i64),
                          b.getInt64(localBytes()), overflow);
  Value *bytes =
      checked(Intrinsic::sadd_with_overflow, sharedBytes(neededBytes->getArg(0), overflow), locals, overflow);
  if (plan.preparedBytes)
    bytes = checked(Intrinsic::sadd_with_overflow, bytes, b.getInt64(plan.preparedBytes), overflow);
  b.CreateRet(b.CreateSelect(overflow, b.getInt64(-1), bytes));
}

/// Emits whether [p, p+n) and [q, q+m) share a byte.
Value *EntryBuilder::overlaps(Value *p, Value *n, Value *q, Value *m) {
  return b.CreateAnd(b.CreateICmpULT(p, b.CreateAdd(q, m)), b.CreateICmpULT(q, b.CreateAdd(p, n)));
}

/// Builds i1 NAME.within(data, elements, low, span), which returns whether low <= data[k] <= low + span for all
/// elements, which are i32.
void EntryBuilder::buildInRange() {
  constexpr unsigned kLanes = 8;
  auto *lanes = FixedVectorType::get(i32, kLanes);
  within = declare(".within", b.getInt1Ty(), {pointer, i64, i32, i32}, true);
  begin(within);
  Value *data = within->getArg(0), *count = within->getArg(1);
  // Unsigned: a value below `low` becomes larger than every span.
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

/// Emits the stores that fill the frame, which the phases of a call read.
void EntryBuilder::fillFrame(Value *arguments, Value *how, Value *state) {
  Value *overflow = b.getFalse();
  Value *workspace = field(exec, how, ExecWorkspace), *workers = field(exec, how, ExecWorkers);
  setField(state, FrameArguments, arguments);
  setField(state, FrameWorkspace, b.CreateConstGEP1_64(b.getInt8Ty(), workspace, plan.preparedBytes));
  if (plan.preparedBytes)
    setField(state, FramePrepared, workspace);
  setField(state, FrameSharedBytes, sharedBytes(arguments, overflow));
  setField(state, FrameItems, b.getInt64(0));
  setField(state, FrameDone, b.getInt64(0));
  setField(state, FrameWorkers, workers);
  setField(state, FrameStatus, code(Status::Ok));
  for (unsigned k = 0; k < std::size(kOrigins); ++k)
    b.CreateStore(b.CreateTrunc(word(arguments, layout.originWord() + k, i64), i32), origin(state, k));
}

/// Builds status NAME`suffix`(args, exec, frame), which checks everything that can be wrong with a call, in the order
/// of docs/abi.md, and fills the frame. With `constAlone`, it ignores tensors that are not const.
Function *EntryBuilder::buildCheck(const Twine &suffix, bool constAlone) {
  Function *check = declare(suffix, i32, {pointer, pointer, pointer}, true);
  begin(check);
  Value *arguments = check->getArg(0), *how = check->getArg(1), *state = check->getArg(2);
  requireOk(b.CreateCall(checkSizes, {arguments}));
  for (auto [index, tensor] : tensors(constAlone))
    require(b.CreateIsNotNull(word(arguments, index, pointer)), Status::NullTensor);
  for (auto [index, tensor] : tensors(constAlone)) {
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
  for (auto [index, tensor] : tensors(constAlone)) {
    Value *start = word(arguments, index, i64), *bytes = evaluate(bytesOfTensor(*tensor), arguments);
    Value *withWorkspace = overlaps(start, bytes, address, needed);
    shared = b.CreateOr(shared, b.CreateAnd(b.CreateNot(isUnused), withWorkspace));
    // An output must not share memory with any tensor before it.
    for (size_t k = 0; k < plan.outputs.size() && !constAlone; ++k)
      if (index < layout.outputWord(k))
        shared = b.CreateOr(shared, overlaps(start, bytes, word(arguments, layout.outputWord(k), i64),
                                             evaluate(bytesOfTensor(plan.outputs[k]), arguments)));
  }
  require(b.CreateNot(shared), Status::Overlap);
  for (auto [number, input] : enumerate(rangedInputs(plan))) {
    const TensorArgument &tensor = plan.inputs[input];
    if (constAlone && !tensor.isConst)
      continue;
    Value *elements = b.CreateUDiv(evaluate(bytesOfTensor(tensor), arguments), b.getInt64(4));
    Value *first = b.getInt64(tensor.range->low), *last = b.getInt64(tensor.range->high);
    Value *hasValues = b.getTrue();
    if (!tensor.range->ends.empty()) {
      auto end = [&](const Extent &end) {
        return end.name.empty() ? b.getInt64(end.fixed) : extentOf(arguments, end.name);
      };
      first = end(tensor.range->ends[0]), last = end(tensor.range->ends[1]);
      hasValues = b.CreateICmpSLE(first, last); // at some lengths the range may be empty
    }
    Value *span = b.CreateTrunc(b.CreateSub(last, first), i32);
    Value *good = b.CreateCall(within, {word(arguments, layout.inputWord(input), pointer), elements,
                                        b.CreateTrunc(first, i32), span});
    require(b.CreateAnd(good, hasValues), b.getInt32(int32_t(Status::BadIndex) + int32_t(number)));
  }

  fillFrame(arguments, how, state);
  b.CreateRet(code(Status::Ok));
  return check;
}

} // namespace skewer::entry
