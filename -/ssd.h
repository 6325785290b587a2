/* ssd: made by skewer 0.1.0 from the spec with hash 25d0cd085bafc7b5. Link its object file, libc and libm. */
#ifndef SKEWER_KERNEL_ssd_H
#define SKEWER_KERNEL_ssd_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SKEWER_ABI_VERSION
#define SKEWER_ABI_VERSION 1

/* The bits of an IEEE binary16 or of a bfloat16; the argument says which. */
typedef uint16_t skewer_half;

/* What an entry returns. Where it is not SKEWER_OK nothing was written, except after SKEWER_BAD_PARALLEL_FOR. */
typedef enum skewer_status {
  SKEWER_OK = 0, /* done */
  SKEWER_NULL_ARGS = 1, /* args is null */
  SKEWER_BAD_ARGS_SIZE = 2, /* args->size is not the size of this kernel's argument struct; use its _args_init() */
  SKEWER_BAD_ARGS_VERSION = 3, /* args->version is not the version of this kernel's header */
  SKEWER_BAD_SIZE = 4, /* a run-time size is below 1, or a tensor or the workspace would exceed 2^63 bytes */
  SKEWER_BAD_ORIGIN = 5, /* q0, k0 or head0 is negative or beyond the last place of its part; 0 where the kernel has no such part */
  SKEWER_NULL_TENSOR = 6, /* the pointer of an input or of the output is null */
  SKEWER_MISALIGNED_TENSOR = 7, /* a tensor's pointer is not a multiple of its element's size */
  SKEWER_NULL_EXEC = 8, /* exec is null */
  SKEWER_BAD_EXEC_SIZE = 9, /* exec->size is not that of its struct; use skewer_exec_init(), for GPUs skewer_cuda_exec_init() */
  SKEWER_BAD_EXEC_VERSION = 10, /* exec->version is not the version of this kernel's header */
  SKEWER_BAD_WORKERS = 11, /* exec->workers is below 1 */
  SKEWER_NULL_WORKSPACE = 12, /* exec->workspace is null, and the kernel needs one; ask its _workspace_bytes() */
  SKEWER_SMALL_WORKSPACE = 13, /* exec->workspace_bytes is less than the kernel's _workspace_bytes() says */
  SKEWER_MISALIGNED_WORKSPACE = 14, /* exec->workspace is not a multiple of 64 */
  SKEWER_OVERLAP = 15, /* the output shares memory with an input, or the workspace with a tensor */
  SKEWER_BAD_PHASE = 16, /* the phase is not one of the kernel's phases */
  SKEWER_BAD_RANGE = 17, /* begin, end or worker is outside the phase's items or exec->workers */
  SKEWER_BAD_PARALLEL_FOR = 18, /* exec->parallel_for passed a range or worker out of bounds, or did not cover all items once */
  SKEWER_UNSUPPORTED_CPU = 19, /* this processor lacks instructions that the kernel was compiled for */
  SKEWER_BAD_INDEX = 20, /* an element of an index operand is outside the range that the kernel declares for it */
  SKEWER_BAD_INDEX_LAST = 51, /* SKEWER_BAD_INDEX + k: the k-th operand with a range; the kernel's _status_text() names it */
  /* of entries for NVIDIA GPUs */
  SKEWER_CUDA_NO_DRIVER = 64, /* no driver: libcuda.so.1 cannot be loaded; install NVIDIA's driver */
  SKEWER_CUDA_NO_GPU = 65, /* NVIDIA's driver finds no GPU */
  SKEWER_CUDA_NO_CONTEXT = 66, /* no CUDA context is current in this thread; make one, call the runtime API once, or set exec->context */
  SKEWER_CUDA_OLD_DRIVER = 67, /* the driver is older than the kernel's PTX; install a newer one */
  SKEWER_CUDA_NO_CODE = 68, /* the kernel has no cubin for this GPU and no PTX that its driver could compile for it */
  SKEWER_CUDA_SHARED_MEMORY = 69, /* the GPU has less shared memory a block than the kernel needs */
  SKEWER_CUDA_HOST_POINTER = 70, /* a tensor or the workspace is no memory of the GPU */
  SKEWER_CUDA_MISALIGNED = 71, /* a tensor is not a multiple of 16, or the workspace of 256, as GPUs need them */
  SKEWER_CUDA_GRID = 72, /* the sizes ask for more blocks than a grid of the GPU can have */
  SKEWER_CUDA_FAILED = 73, /* a call of CUDA's driver failed; skewer_cuda_error() names it and its error */
  SKEWER_CUDA_OTHER_DEVICE = 74 /* a tensor or the workspace is memory of another GPU than the context's */
} skewer_status;

static inline const char *skewer_status_text(skewer_status status) {
  if (status > SKEWER_BAD_INDEX && status <= SKEWER_BAD_INDEX_LAST)
    status = SKEWER_BAD_INDEX;
  switch (status) {
  case SKEWER_OK: return "done";
  case SKEWER_NULL_ARGS: return "args is null";
  case SKEWER_BAD_ARGS_SIZE: return "args->size is not the size of this kernel's argument struct; use its _args_init()";
  case SKEWER_BAD_ARGS_VERSION: return "args->version is not the version of this kernel's header";
  case SKEWER_BAD_SIZE: return "a run-time size is below 1, or a tensor or the workspace would exceed 2^63 bytes";
  case SKEWER_BAD_ORIGIN: return "q0, k0 or head0 is negative or beyond the last place of its part; 0 where the kernel has no such part";
  case SKEWER_NULL_TENSOR: return "the pointer of an input or of the output is null";
  case SKEWER_MISALIGNED_TENSOR: return "a tensor's pointer is not a multiple of its element's size";
  case SKEWER_NULL_EXEC: return "exec is null";
  case SKEWER_BAD_EXEC_SIZE: return "exec->size is not that of its struct; use skewer_exec_init(), for GPUs skewer_cuda_exec_init()";
  case SKEWER_BAD_EXEC_VERSION: return "exec->version is not the version of this kernel's header";
  case SKEWER_BAD_WORKERS: return "exec->workers is below 1";
  case SKEWER_NULL_WORKSPACE: return "exec->workspace is null, and the kernel needs one; ask its _workspace_bytes()";
  case SKEWER_SMALL_WORKSPACE: return "exec->workspace_bytes is less than the kernel's _workspace_bytes() says";
  case SKEWER_MISALIGNED_WORKSPACE: return "exec->workspace is not a multiple of 64";
  case SKEWER_OVERLAP: return "the output shares memory with an input, or the workspace with a tensor";
  case SKEWER_BAD_PHASE: return "the phase is not one of the kernel's phases";
  case SKEWER_BAD_RANGE: return "begin, end or worker is outside the phase's items or exec->workers";
  case SKEWER_BAD_PARALLEL_FOR: return "exec->parallel_for passed a range or worker out of bounds, or did not cover all items once";
  case SKEWER_UNSUPPORTED_CPU: return "this processor lacks instructions that the kernel was compiled for";
  case SKEWER_BAD_INDEX: return "an element of an index operand is outside the range that the kernel declares for it";
  case SKEWER_CUDA_NO_DRIVER: return "no driver: libcuda.so.1 cannot be loaded; install NVIDIA's driver";
  case SKEWER_CUDA_NO_GPU: return "NVIDIA's driver finds no GPU";
  case SKEWER_CUDA_NO_CONTEXT: return "no CUDA context is current in this thread; make one, call the runtime API once, or set exec->context";
  case SKEWER_CUDA_OLD_DRIVER: return "the driver is older than the kernel's PTX; install a newer one";
  case SKEWER_CUDA_NO_CODE: return "the kernel has no cubin for this GPU and no PTX that its driver could compile for it";
  case SKEWER_CUDA_SHARED_MEMORY: return "the GPU has less shared memory a block than the kernel needs";
  case SKEWER_CUDA_HOST_POINTER: return "a tensor or the workspace is no memory of the GPU";
  case SKEWER_CUDA_MISALIGNED: return "a tensor is not a multiple of 16, or the workspace of 256, as GPUs need them";
  case SKEWER_CUDA_GRID: return "the sizes ask for more blocks than a grid of the GPU can have";
  case SKEWER_CUDA_FAILED: return "a call of CUDA's driver failed; skewer_cuda_error() names it and its error";
  case SKEWER_CUDA_OTHER_DEVICE: return "a tensor or the workspace is memory of another GPU than the context's";
  default: break;
  }
  return "unknown status";
}

/* How a kernel runs: its scratch memory and its workers. Fill it with skewer_exec_init() first. */
typedef struct skewer_exec {
  uint32_t size;            /* sizeof(skewer_exec) */
  uint32_t version;         /* SKEWER_ABI_VERSION */
  void *workspace;          /* scratch memory at a multiple of 64; its contents need not outlive the call */
  uint64_t workspace_bytes; /* at least what the kernel's _workspace_bytes() says for these workers */
  int32_t workers;          /* number of distinct worker indices that parallel_for may pass; 1 without it */
  int32_t reserved;
  void *context;            /* passed to parallel_for */
  /* Null: the calling thread does everything. Else: calls body(data, begin, end, worker) for disjoint ranges that
     together cover 0 ... count-1, in any order and on any threads, and returns when all calls have returned. No two
     calls that run at the same time have the same worker, and 0 <= worker < workers. */
  void (*parallel_for)(void *context, int64_t count,
                       void (*body)(void *data, int64_t begin, int64_t end, int32_t worker), void *data);
} skewer_exec;

static inline skewer_exec skewer_exec_init(void) {
  skewer_exec exec;
  exec.size = sizeof(skewer_exec);
  exec.version = SKEWER_ABI_VERSION;
  exec.workspace = NULL;
  exec.workspace_bytes = 0;
  exec.workers = 1;
  exec.reserved = 0;
  exec.context = NULL;
  exec.parallel_for = NULL;
  return exec;
}

#elif SKEWER_ABI_VERSION != 1
#error "kernels of different Skewer ABI versions; compile them with one compiler"
#endif

/* ssd(x : f32[batch, 71, 4, 20],
       dt : f32[batch, 71, 4],
       B : f32[batch, 71, 16],
       C : f32[batch, 71, 16],
       A_log : f32[4],
       dt_bias : f32[4],
       D : f32[4]) -> out : f32[batch, 71, 4, 20]

     ssd_args args = ssd_args_init();
     args.x = x;
     args.dt = dt;
     args.B = B;
     args.C = C;
     args.A_log = A_log;
     args.dt_bias = dt_bias;
     args.D = D;
     args.out = out;
     args.batch = batch;
     skewer_exec exec = skewer_exec_init();
     exec.workspace_bytes = (ssd_workspace_bytes(&args, &exec) + 63) / 64 * 64;
     exec.workspace = aligned_alloc(64, exec.workspace_bytes);
     skewer_status status = ssd(&args, &exec);
     if (status != SKEWER_OK) fprintf(stderr, "%s\n", ssd_status_text(status)); */

#define SKEWER_HASH_ssd "25d0cd085bafc7b5"

/* Tensors are row-major and contiguous; a pointer is a multiple of its element's size. */
typedef struct ssd_args {
  uint32_t size;    /* sizeof(ssd_args) */
  uint32_t version; /* SKEWER_ABI_VERSION */
  const float *x; /* f32[batch, 71, 4, 20] */
  const float *dt; /* f32[batch, 71, 4] */
  const float *B; /* f32[batch, 71, 16] */
  const float *C; /* f32[batch, 71, 16] */
  const float *A_log; /* f32[4] */
  const float *dt_bias; /* f32[4] */
  const float *D; /* f32[4] */
  float *out; /* f32[batch, 71, 4, 20], written; shares no memory with another tensor */
  int64_t batch; /* elements of the dimension 'batch', at least 1 */
  int64_t q0; /* position of the first query in the whole layer: 0 */
  int64_t k0; /* position of the first key in the whole layer: 0 */
  int64_t head0; /* position of the first head in the whole layer: 0 */
} ssd_args;

static inline ssd_args ssd_args_init(void) {
  ssd_args args;
  args.size = sizeof(ssd_args);
  args.version = SKEWER_ABI_VERSION;
  args.x = NULL;
  args.dt = NULL;
  args.B = NULL;
  args.C = NULL;
  args.A_log = NULL;
  args.dt_bias = NULL;
  args.D = NULL;
  args.out = NULL;
  args.batch = 1;
  args.q0 = 0;
  args.k0 = 0;
  args.head0 = 0;
  return args;
}

/* Computes args->out. exec says where its scratch memory is and, with parallel_for, on which threads it runs;
   the result has the same bits for any number of workers. */
skewer_status ssd(const ssd_args *args, const skewer_exec *exec);

/* Bytes of workspace for these sizes and exec->workers (exec null: one worker). SIZE_MAX where args or exec is
   wrong; pointers of tensors are not looked at. */
size_t ssd_workspace_bytes(const ssd_args *args, const skewer_exec *exec);

/* For callers that schedule by themselves: phase after phase, in each the items begin ... end-1 of
   _items(args, phase), with a worker index that no call has that runs at the same time. A phase may begin when
   the one before it is done; the workspace must keep its contents between them.
     phase 0: elementwise, 71 * batch items
     phase 1: elementwise, 1 items
     phase 2: elementwise, 71 * batch items
     phase 3: einsum, 4 * batch items
     phase 4: elementwise, 284 * batch items
     phase 5: einsum, 284 * batch items
     phase 6: elementwise, 284 * batch items
     phase 7: einsum, 71 * batch items
     phase 8: elementwise, 71 * batch items */
int32_t ssd_phases(void);
int64_t ssd_items(const ssd_args *args, int32_t phase); /* -1: an argument is wrong */
skewer_status ssd_raw(const ssd_args *args, const skewer_exec *exec, int32_t phase, int64_t begin,
    int64_t end, int32_t worker);

/* The manifest as JSON text: arguments, sizes, target, workspace. */
const char *ssd_info(void);

/* What a status means; of an index out of range also which operand has it. */
static inline const char *ssd_status_text(skewer_status status) {
  switch ((int)status - (int)SKEWER_BAD_INDEX) {
  default: return skewer_status_text(status);
  }
}

#ifdef __cplusplus
}
#endif
#endif
