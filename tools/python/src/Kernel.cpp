// Runs a kernel on the processor's threads.
#include "Kernel.h"
#include "Call.h"
#include "Exec.h"
#include "OpenMp.h"

namespace skewer::python {

void Kernel::run(Call &call, int threads, bool ofFramework, const Entry &enter) {
  if (!code.workspaceBytes) // no operand was there for checkPlace to refuse
    raise(errors("LoadError")("kernel '" + signature.name + "' was compiled for GPUs alone"));
  ofFramework = ofFramework && threads > 1 && openmp::isUsable();
  std::unique_ptr<Workspace> workspace = workspaces.take(threads, !ofFramework);
  if (!workspace)
    raise(errors("KernelError")(signature.name, -1, "the system gives no " + std::to_string(threads) + " threads"));
  Exec exec;
  exec.workers = threads;
  exec.context = ofFramework ? reinterpret_cast<void *>(uintptr_t(threads)) : workspace->team;
  exec.parallelFor = ofFramework       ? &openmp::parallelFor
                     : workspace->team ? &skewer_team_parallel_for
                                       : nullptr;
  int32_t status = 0;
  bool hasMemory = true;
  {
    nb::gil_scoped_release released;
    exec.workspaceBytes = code.workspaceBytes(call.arguments(), &exec);
    if (exec.workspaceBytes != SIZE_MAX)
      hasMemory = workspace->grow(exec.workspaceBytes);
    exec.workspace = workspace->memory;
    if (hasMemory)
      status = enter(call.arguments(), &exec);
    if (hasMemory && !status)
      call.copyBack();
  }
  workspaces.give(std::move(workspace));
  if (!hasMemory)
    throw std::bad_alloc();
  if (status)
    call.refuseStatus(status);
}

int Kernel::threadsOf(nb::handle given) const {
  int threads = 0;
  if (!nb::try_cast(given, threads) || threads < 1 || threads > 1024)
    signature.refuse("threads", nb::none(), "1 to 1024", nb::cast<std::string>(nb::repr(given)));
  return threads;
}

nb::object Kernel::call(nb::tuple arrays, nb::object outputs, nb::handle threadCount, nb::object allocate,
                        nb::object given, int64_t q0, int64_t k0, int64_t head0, const Prepared *prepared,
                        bool ofFramework, bool isResolved) {
  Call call(signature, code, /*isOnGpu=*/false, isResolved);
  int threads = threadsOf(threadCount);
  call.take(arrays, outputs, allocate, given, q0, k0, head0);
  if (call.isEmpty())
    return call.result();
  if (prepared)
    run(call, threads, ofFramework,
        [&](const void *args, const void *exec) { return code.preparedEntry(args, exec, prepared->memory.get()); });
  else
    run(call, threads, ofFramework, code.entry);
  return call.result();
}

Prepared Kernel::prepare(nb::tuple arrays, nb::handle threadCount, nb::object given) {
  int threads = threadsOf(threadCount);
  Prepared prepared;
  if (!code.preparedBytes || !code.prepareEntry || !code.preparedEntry)
    raise(errors("LoadError")("kernel '" + signature.name + "' has no entries for const operands; compile it anew"));
  prepared.bytes = code.preparedBytes();
  if (prepared.bytes) {
    prepared.memory.reset(std::aligned_alloc(64, prepared.bytes));
    if (!prepared.memory)
      throw std::bad_alloc();
  }
  Call call(signature, code, /*isOnGpu=*/false, /*isResolved=*/false);
  call.takeConst(arrays, given);
  run(call, threads, /*ofFramework=*/false,
      [&](const void *args, const void *exec) { return code.prepareEntry(args, exec, prepared.memory.get()); });
  return prepared;
}

} // namespace skewer::python
