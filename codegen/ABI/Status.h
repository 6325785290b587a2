// The statuses that a kernel's entry returns. The generated code, the header and the driver all read this one list.
#pragma once
#include <cstdint>

namespace skewer {

// Each entry: the name in C (after SKEWER_), the name here, the text.
#define SKEWER_STATUSES(X)                                                                                             \
  X(OK, Ok, "done")                                                                                                    \
  X(NULL_ARGS, NullArgs, "args is null")                                                                               \
  X(BAD_ARGS_SIZE, BadArgsSize, "args->size is not the size of this kernel's argument struct; use its _args_init()")   \
  X(BAD_ARGS_VERSION, BadArgsVersion, "args->version is not the version of this kernel's header")                      \
  X(BAD_SIZE, BadSize,                                                                                                 \
    "a run-time size is below 1 or above its bound, or a tensor or the workspace would exceed 2^63 bytes")             \
  X(BAD_ORIGIN, BadOrigin,                                                                                             \
    "q0, k0 or head0 is negative or beyond the last place of its part; 0 where the kernel has no such part")           \
  X(NULL_TENSOR, NullTensor, "the pointer of an input or of the output is null")                                       \
  X(MISALIGNED_TENSOR, MisalignedTensor, "a tensor's pointer is not a multiple of its element's size")                 \
  X(NULL_EXEC, NullExec, "exec is null")                                                                               \
  X(BAD_EXEC_SIZE, BadExecSize,                                                                                        \
    "exec->size is not that of its struct; use skewer_exec_init(), for GPUs skewer_cuda_exec_init()")                  \
  X(BAD_EXEC_VERSION, BadExecVersion, "exec->version is not the version of this kernel's header")                      \
  X(BAD_WORKERS, BadWorkers, "exec->workers is below 1")                                                               \
  X(NULL_WORKSPACE, NullWorkspace, "exec->workspace is null, and the kernel needs one; ask its _workspace_bytes()")    \
  X(SMALL_WORKSPACE, SmallWorkspace, "exec->workspace_bytes is less than the kernel's _workspace_bytes() says")        \
  X(MISALIGNED_WORKSPACE, MisalignedWorkspace, "exec->workspace is not a multiple of 64")                              \
  X(OVERLAP, Overlap, "the output shares memory with an input, or the workspace with a tensor")                        \
  X(BAD_PHASE, BadPhase, "the phase is not one of the kernel's phases")                                                \
  X(BAD_RANGE, BadRange, "begin, end or worker is outside the phase's items or exec->workers")                         \
  X(BAD_PARALLEL_FOR, BadParallelFor,                                                                                  \
    "exec->parallel_for passed a range or worker out of bounds, or not as many items were done as there are")          \
  X(UNSUPPORTED_CPU, UnsupportedCpu, "this processor lacks instructions that the kernel was compiled for")             \
  X(BAD_INDEX, BadIndex, "an element of an index operand is outside the range that the kernel declares for it")

// Statuses of entries that take prepared memory, from kFirstPreparedStatus on, after the statuses of index operands.
#define SKEWER_PREPARED_STATUSES(X)                                                                                    \
  X(NULL_PREPARED, NullPrepared, "prepared memory is null, and the kernel needs some; ask its _prepared_bytes()")      \
  X(MISALIGNED_PREPARED, MisalignedPrepared, "prepared memory is not a multiple of 64")

// More statuses of all entries, from kFirstLayerStatus on.
#define SKEWER_LAYER_STATUSES(X)                                                                                       \
  X(BAD_ARGS_LAYER, BadArgsLayer,                                                                                      \
    "args is of another layer than the object's: header and object come from different specs, parameters or "     \
    "versions of skewer; compile both together, and give layers of one program different names")

// Statuses of the entries for NVIDIA GPUs, from kFirstCudaStatus on. skewer_cuda_error() of a kernel's header gives
// details.
#define SKEWER_CUDA_STATUSES(X)                                                                                        \
  X(CUDA_NO_DRIVER, CudaNoDriver, "no driver: libcuda.so.1 cannot be loaded; install NVIDIA's driver")                 \
  X(CUDA_NO_GPU, CudaNoGpu, "NVIDIA's driver finds no GPU")                                                            \
  X(CUDA_NO_CONTEXT, CudaNoContext,                                                                                    \
    "no CUDA context is current in this thread; make one, call the runtime API once, or set exec->context")            \
  X(CUDA_OLD_DRIVER, CudaOldDriver, "the driver is older than the kernel's PTX; install a newer one")                  \
  X(CUDA_NO_CODE, CudaNoCode, "the kernel has no cubin for this GPU and no PTX that its driver could compile for it")  \
  X(CUDA_SHARED_MEMORY, CudaSharedMemory, "the GPU has less shared memory a block than the kernel needs")              \
  X(CUDA_HOST_POINTER, CudaHostPointer, "a tensor or the workspace is no memory of the GPU")                           \
  X(CUDA_MISALIGNED, CudaMisaligned,                                                                                   \
    "a tensor is not a multiple of 16, or the workspace or prepared memory of 256, as GPUs need them")                 \
  X(CUDA_GRID, CudaGrid, "the sizes ask for more blocks than a grid of the GPU can have")                              \
  X(CUDA_FAILED, CudaFailed, "a call of CUDA's driver failed; skewer_cuda_error() names it and its error")             \
  X(CUDA_OTHER_DEVICE, CudaOtherDevice, "a tensor or the workspace is memory of another GPU than the context's")

/// BadIndex + k concerns the k-th index operand with a range. This is the maximum number of such operands.
constexpr unsigned kMaximumBadIndices = 32;
constexpr int32_t kFirstPreparedStatus = 52;
constexpr int32_t kFirstLayerStatus = 54;
constexpr int32_t kFirstCudaStatus = 64;

enum class Status : int32_t {
#define SKEWER_STATUS(c, cpp, text) cpp,
  SKEWER_STATUSES(SKEWER_STATUS)
#undef SKEWER_STATUS
      BeforePrepared = kFirstPreparedStatus - 1,
#define SKEWER_STATUS(c, cpp, text) cpp,
  SKEWER_PREPARED_STATUSES(SKEWER_STATUS)
#undef SKEWER_STATUS
#define SKEWER_STATUS(c, cpp, text) cpp,
  SKEWER_LAYER_STATUSES(SKEWER_STATUS)
#undef SKEWER_STATUS
      BeforeCuda = kFirstCudaStatus - 1,
#define SKEWER_STATUS(c, cpp, text) cpp,
  SKEWER_CUDA_STATUSES(SKEWER_STATUS)
#undef SKEWER_STATUS
};

static_assert(int32_t(Status::BadIndex) + int32_t(kMaximumBadIndices) <= kFirstPreparedStatus);
static_assert(int32_t(Status::BadArgsLayer) == kFirstLayerStatus);

} // namespace skewer
