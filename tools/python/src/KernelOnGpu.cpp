// Calls kernels with arrays in a GPU's memory: checks them like all calls, and queues them by the launcher
// (docs/gpu.md).
#include "Call.h"
#include "Kernel.h"

namespace skewer::python {

/// A struct with exactly the layout of skewer_cuda_exec (codegen/Runtime/skewer_cuda.h).
struct CudaExec {
  uint32_t size = sizeof(CudaExec), version = 1;
  void *stream = nullptr, *context = nullptr, *workspace = nullptr;
  uint64_t workspaceBytes = 0;
};

nb::object Kernel::callOnGpu(nb::tuple arrays, nb::object outputs, nb::object allocate, nb::object given, int64_t q0,
                             int64_t k0, int64_t head0, uintptr_t stream, nb::object newWorkspace) {
  if (!code.cudaEntry)
    raise(errors("LoadError")("kernel '" + signature.name + "' was not compiled for GPUs: target='host,sm_90a'"));
  Call call(signature, code, /*isOnGpu=*/true, /*isResolved=*/false);
  call.take(arrays, outputs, allocate, given, q0, k0, head0);
  if (call.isEmpty())
    return call.result();
  CudaExec exec;
  exec.stream = reinterpret_cast<void *>(stream);
  // SIZE_MAX: more than can exist; the call then reports the error in the sizes.
  exec.workspaceBytes = code.cudaWorkspaceBytes(call.arguments());
  if (exec.workspaceBytes && exec.workspaceBytes != SIZE_MAX)
    exec.workspace = reinterpret_cast<void *>(nb::cast<uintptr_t>(newWorkspace(exec.workspaceBytes)));
  int32_t status;
  std::string why;
  {
    nb::gil_scoped_release released; // the first call in a context loads the code
    status = code.cudaEntry(call.arguments(), &exec);
    why = status ? skewer_loaded_gpu_error() : "";
  }
  if (status)
    raise(errors("KernelError")(signature.name, status, why));
  return call.result();
}

} // namespace skewer::python
