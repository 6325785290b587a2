// Builds the entries of a kernel with `const` operands. They compute once, into memory of the caller, the results that
// depend on those operands alone.
#include "codegen/ABI/EntryBuilder.h"

using namespace llvm;

namespace skewer::entry {

/// Emits the checks of prepared memory: it must not be null, misaligned, or shared with a tensor or the workspace.
void EntryBuilder::checkPrepared(Value *arguments, Value *how, Value *prepared, bool constAlone) {
  Value *start = b.CreatePtrToInt(prepared, i64), *size = b.getInt64(plan.preparedBytes);
  require(b.CreateIsNotNull(prepared), Status::NullPrepared);
  require(b.CreateIsNull(b.CreateAnd(start, b.getInt64(63))), Status::MisalignedPrepared);
  Value *needed = b.CreateCall(neededBytes, {arguments, field(exec, how, ExecWorkers)});
  Value *shared = overlaps(start, size, b.CreatePtrToInt(field(exec, how, ExecWorkspace), i64), needed);
  for (auto [index, tensor] : tensors(constAlone))
    shared = b.CreateOr(
        shared, overlaps(start, size, word(arguments, index, i64), evaluate(bytesOfTensor(*tensor), arguments)));
  require(b.CreateNot(shared), Status::Overlap);
}

/// Builds size_t NAME_prepared_bytes(void), status NAME_prepare(args, exec, prepared) and status NAME_prepared(args,
/// exec, prepared).
void EntryBuilder::buildPrepared() {
  checkConst = buildCheck(".check_const", true);
  begin(declare("_prepared_bytes", i64, {}));
  b.CreateRet(b.getInt64(plan.preparedBytes));
  buildCall("_prepare", Phases::Preparing);
  buildCall("_prepared", Phases::Others);
}

} // namespace skewer::entry
