/* Launches kernels that `skewer compile --target=sm_…` made, through CUDA's driver, which is loaded when it is first
   needed: a program that has this compiled in links and starts without CUDA and without a GPU. C99, and C++ clean. */
#ifndef SKEWER_CUDA_H
#define SKEWER_CUDA_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As in NAME.gpu.h. */
#ifndef SKEWER_GPU_LAUNCH
#define SKEWER_GPU_LAUNCH
typedef struct skewer_gpu_launch {
  const char *target;    /* as ptxas names it */
  const char *kernel;    /* its symbol */
  uint32_t threads;      /* of a block, in x */
  uint32_t shared_bytes; /* of a block, dynamic */
} skewer_gpu_launch;
#endif

typedef enum skewer_cuda_status {
  SKEWER_CUDA_OK = 0,
  SKEWER_CUDA_NO_DRIVER,  /* libcuda.so.1 is not there or lacks a function */
  SKEWER_CUDA_NO_CONTEXT, /* no context is current in this thread: create one, or call the runtime API once */
  SKEWER_CUDA_NO_KERNEL,  /* the image is not for this GPU, or holds no kernel of that name */
  SKEWER_CUDA_MISALIGNED, /* a pointer is null or no multiple of 16 bytes, or the workspace of 256 */
  SKEWER_CUDA_BAD_SIZE,   /* a size is below 1, or there are more than 2^31 - 1 blocks or 64 arguments */
  SKEWER_CUDA_FAILED      /* the driver refused the launch: skewer_cuda_error() says which of its errors */
} skewer_cuda_status;

/* A kernel in the context that was current when it was loaded. */
typedef struct skewer_cuda_kernel {
  void *module, *function;
  const skewer_gpu_launch *launch;
} skewer_cuda_kernel;

/* `image`: the bytes of NAME.TARGET.cubin, or the text of NAME.TARGET.ptx with its terminating null. `launch`, one of
   NAME_gpu_launch(…), must outlive the kernel. */
skewer_cuda_status skewer_cuda_load(skewer_cuda_kernel *kernel, const skewer_gpu_launch *launch, const void *image);
/* Queues one run on `stream` (a CUstream or cudaStream_t; null: the default one) and returns. `pointers`: device memory
   of the inputs, the outputs, and last the workspace, which may be null; `sizes`: the run-time sizes; `blocks`: NAME_gpu_blocks(…). */
skewer_cuda_status skewer_cuda_run(const skewer_cuda_kernel *kernel, void *const *pointers, int pointer_count,
                                   const int64_t *sizes, int size_count, int64_t blocks, void *stream);
void skewer_cuda_unload(skewer_cuda_kernel *kernel);

const char *skewer_cuda_status_text(skewer_cuda_status status);
/* The driver's error number (CUresult) of the last call in this process that failed; 0 if none did. */
int skewer_cuda_error(void);

#ifdef __cplusplus
}
#endif
#endif
