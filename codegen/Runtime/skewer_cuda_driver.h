/* What the files of the launcher share. Of skewer_cuda_driver.c: CUDA's driver, found with dlopen, errors as text. */
#ifndef SKEWER_CUDA_DRIVER_H
#define SKEWER_CUDA_DRIVER_H
#include "skewer_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of cuda.h. */
enum {
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_MEMORYTYPE_HOST = 1,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2
};

/* The driver's functions as cuda.h declares them, with its handles as plain pointers. */
typedef struct skewer_cuda_functions {
  void *library;
  int (*cuInit)(unsigned flags);
  int (*cuDriverGetVersion)(int *version);
  int (*cuGetErrorName)(int error, const char **name);
  int (*cuCtxGetCurrent)(void **context);
  int (*cuCtxGetDevice)(int *device);
  int (*cuCtxPushCurrent)(void *context);
  int (*cuCtxPopCurrent)(void **context);
  int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
  int (*cuModuleLoadDataEx)(void **module, const void *image, unsigned count, int *options, void **values);
  int (*cuModuleUnload)(void *module);
  int (*cuModuleGetFunction)(void **function, void *module, const char *name);
  int (*cuFuncSetAttribute)(void *function, int attribute, int value);
  int (*cuPointerGetAttribute)(void *data, int attribute, unsigned long long pointer);
  int (*cuLaunchKernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                        void **extra);
  /* Null where the driver is too old to have them. */
  int (*cuCtxGetId)(void *context, unsigned long long *identity);
  int (*cuThreadExchangeStreamCaptureMode)(int *mode);
  int (*cuStreamGetCtx)(void *stream, void **context);
} skewer_cuda_functions;

extern skewer_cuda_functions skewer_cuda_driver;

/* Opens the driver where that has not been done. The first thread does it, others wait; where it fails the next call
   tries again. */
skewer_status skewer_cuda_open(void);

/* Writes what skewer_cuda_error() says, and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
skewer_status skewer_cuda_failed(skewer_status status, const char *format, ...);
/* The same for an error of the driver that a call returned. */
skewer_status skewer_cuda_failed_call(const char *call, int error);
const char *skewer_cuda_name_of_error(int error);

/* Of skewer_cuda_arguments.c. -------------------------------------------------------------------------------------- */

/* False where the number leaves 63 bits. */
int skewer_cuda_evaluate(const skewer_cuda_count *count, const void *args, int64_t *result);
/* The struct, its sizes and origins. */
skewer_status skewer_cuda_check_sizes(const skewer_cuda_program *program, const void *args);
/* Enough for whichever image is chosen, so that the answer needs no GPU. */
int skewer_cuda_workspace_needed(const skewer_cuda_program *program, const void *args, int64_t *needed);
skewer_status skewer_cuda_check_exec(const skewer_cuda_exec *exec);
/* Which kernels a call queues, and where prepared memory is: in the workspace, before what kernels know as that, or
   the caller's. */
typedef enum skewer_cuda_part {
  SKEWER_CUDA_ALL,       /* all kernels; prepared memory is the workspace's */
  SKEWER_CUDA_PREPARING, /* those that prepare, which look at const operands alone */
  SKEWER_CUDA_OTHERS     /* those that find it made */
} skewer_cuda_part;

/* The most that any image asks for. */
uint64_t skewer_cuda_most_prepared(const skewer_cuda_program *program);
/* Everything that can be wrong with a call and needs no driver; fills what the kernels take: tensors, workspace,
   prepared memory, sizes, origins. */
skewer_status skewer_cuda_check_call(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec,
                                     skewer_cuda_part part, const void *prepared, uint64_t *values);
/* Whose memory the tensors, the workspace and prepared memory are, of a good call in the current context. */
skewer_status skewer_cuda_check_memory(const skewer_cuda_program *program, const void *args,
                                       const skewer_cuda_exec *exec, skewer_cuda_part part, const void *prepared);

/* Of skewer_cuda_module.c. ----------------------------------------------------------------------------------------- */

/* A program in one context. Entries are only ever added in front, so that they can be read without a lock. */
typedef struct skewer_cuda_loaded {
  struct skewer_cuda_loaded *next;
  void *context; /* null: unloaded */
  unsigned long long identity;
  const skewer_cuda_image *image;
  void *module;
  void *functions[1]; /* image->launch_count */
} skewer_cuda_loaded;

/* The program in the current context, loaded if it was not. Loading is no part of a graph that is being captured. */
skewer_status skewer_cuda_ready(const skewer_cuda_program *program, void *context, skewer_cuda_loaded **entry);
/* Null where it has not been loaded. */
skewer_cuda_loaded *skewer_cuda_find_loaded(const skewer_cuda_program *program, void *context);

#ifdef __cplusplus
}
#endif
#endif
