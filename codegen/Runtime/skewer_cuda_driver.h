/* The declarations that the files of the launcher share; no other file includes them. First those of
   skewer_cuda_driver.c: CUDA's driver, found with dlopen, and errors as text. */
#ifndef SKEWER_CUDA_DRIVER_H
#define SKEWER_CUDA_DRIVER_H
#include "skewer_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constants of cuda.h. */
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
  /* Null if the driver is too old to have them. */
  int (*cuCtxGetId)(void *context, unsigned long long *identity);
  int (*cuThreadExchangeStreamCaptureMode)(int *mode);
  int (*cuStreamGetCtx)(void *stream, void **context);
  int (*cuTensorMapEncodeTiled)(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                                const uint64_t *distances, const uint32_t *box, const uint32_t *steps, int interleave,
                                int swizzle, int promotion, int outside);
} skewer_cuda_functions;

extern skewer_cuda_functions skewer_cuda_driver;

/* Opens the driver unless it is open. The first thread opens it and others wait; after a failure the next call tries
   again. */
skewer_status skewer_cuda_open(void);

/* Sets the text of skewer_cuda_error() and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
skewer_status
skewer_cuda_failed(skewer_status status, const char *format, ...);
/* Does the same for an error that a function of the driver, `call`, returned. */
skewer_status skewer_cuda_failed_call(const char *call, int error);
const char *skewer_cuda_name_of_error(int error);

/* Of skewer_cuda_arguments.c. -------------------------------------------------------------------------------------- */

/* Evaluates a number at the sizes of a call. Returns 0 if the number does not fit in 63 bits. */
int skewer_cuda_evaluate(const skewer_cuda_count *count, const void *args, int64_t *result);
/* Checks the argument struct, its sizes and its origins. */
skewer_status skewer_cuda_check_sizes(const skewer_cuda_program *program, const void *args);
/* Sets `needed` to the bytes of workspace that are enough for every image, so that the answer needs no GPU. Returns 0
   if the number does not fit in 63 bits. */
int skewer_cuda_workspace_needed(const skewer_cuda_program *program, const void *args, int64_t *needed);
skewer_status skewer_cuda_check_exec(const skewer_cuda_exec *exec);
/* The kernels that a call queues, and the place of prepared memory: at the beginning of the workspace, before the part
   that kernels get as their workspace, or memory of the caller. */
typedef enum skewer_cuda_part {
  SKEWER_CUDA_ALL,       /* all kernels; prepared memory is in the workspace */
  SKEWER_CUDA_PREPARING, /* the kernels that prepare; they read only const operands */
  SKEWER_CUDA_OTHERS     /* the other kernels, which read prepared memory */
} skewer_cuda_part;

/* Returns the bytes of prepared memory that are enough for every image. */
uint64_t skewer_cuda_most_prepared(const skewer_cuda_program *program);
/* Checks everything about a call that needs no driver. Sets `values` to the arguments of the kernels: tensors,
   workspace, prepared memory, sizes, origins. */
skewer_status skewer_cuda_check_call(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec,
                                     skewer_cuda_part part, const void *prepared, uint64_t *values);
/* Checks that the tensors, the workspace and prepared memory are memory of the current context's GPU. The call has
   passed skewer_cuda_check_call. */
skewer_status skewer_cuda_check_memory(const skewer_cuda_program *program, const void *args,
                                       const skewer_cuda_exec *exec, skewer_cuda_part part, const void *prepared);

/* Of skewer_cuda_maps.c. ------------------------------------------------------------------------------------------- */

/* A CUtensorMap: bytes in a form that only the driver and GPUs know. */
typedef struct skewer_cuda_tensor_map {
  uint64_t words[16];
} __attribute__((aligned(64))) skewer_cuda_tensor_map;

/* Makes the maps of a launch; `values` are the arguments of its kernel, with both the workspace and prepared memory.
   Returns 0 if one of them cannot be made, or there is none. The driver has cuTensorMapEncodeTiled. */
int skewer_cuda_make_maps(const skewer_cuda_launch *launch, const void *args, const uint64_t *values,
                          skewer_cuda_tensor_map *maps);

/* Of skewer_cuda_module.c. ----------------------------------------------------------------------------------------- */

/* A program in one context. Entries are only added, at the front of the list, so that threads read them without a
   lock. */
typedef struct skewer_cuda_loaded {
  struct skewer_cuda_loaded *next;
  void *context; /* null: unloaded */
  unsigned long long identity;
  const skewer_cuda_image *image;
  void *module;
  /* Of each launch its kernel, then of each launch its kernel that copies boxes: null if there is none, or the driver
     makes no tensor maps. There are 2 * image->launch_count. */
  void *functions[1];
} skewer_cuda_loaded;

/* Sets `entry` to the program in the current context; loads it if it is not loaded. If a graph is being captured,
   loading does not become part of it. */
skewer_status skewer_cuda_ready(const skewer_cuda_program *program, void *context, skewer_cuda_loaded **entry);
/* Returns the program in the context; null if it is not loaded there. */
skewer_cuda_loaded *skewer_cuda_find_loaded(const skewer_cuda_program *program, void *context);

#ifdef __cplusplus
}
#endif
#endif
