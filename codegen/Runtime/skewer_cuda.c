/* Launches kernels through CUDA's driver API, found with dlopen. */
#define _POSIX_C_SOURCE 200809L
#include "skewer_cuda.h"
#include <dlfcn.h>
#include <string.h>

/* The driver's functions as cuda.h declares them, with its handles as plain pointers. */
typedef int (*get_context)(void **context);
typedef int (*load_module)(void **module, const void *image);
typedef int (*unload_module)(void *module);
typedef int (*find_function)(void **function, void *module, const char *name);
typedef int (*set_attribute)(void *function, int attribute, int value);
typedef int (*launch_kernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                             void **extra);

enum { MAXIMUM_ARGUMENTS = 64, MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 /* CU_FUNC_ATTRIBUTE_… */ };

static struct {
  void *library;
  get_context context;
  load_module load;
  unload_module unload;
  find_function find;
  set_attribute set;
  launch_kernel launch;
} driver;
static int last_error;

/* ISO C knows no conversion from void * to a function; POSIX promises that their bits are the same. */
static int take(const char *name, void *function) {
  void *symbol = dlsym(driver.library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* Threads that come at the same time find the same functions. */
static int open_driver(void) {
  if (driver.launch)
    return 1;
  if (!driver.library)
    driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver.library && take("cuCtxGetCurrent", &driver.context) && take("cuModuleLoadData", &driver.load) &&
         take("cuModuleUnload", &driver.unload) && take("cuModuleGetFunction", &driver.find) &&
         take("cuFuncSetAttribute", &driver.set) && take("cuLaunchKernel", &driver.launch);
}

static skewer_cuda_status failed(int error, skewer_cuda_status status) {
  last_error = error;
  return status;
}

skewer_cuda_status skewer_cuda_load(skewer_cuda_kernel *kernel, const skewer_gpu_launch *launch, const void *image) {
  void *context = NULL;
  int error;
  memset(kernel, 0, sizeof *kernel);
  if (!launch || !image)
    return SKEWER_CUDA_NO_KERNEL;
  if (!open_driver())
    return SKEWER_CUDA_NO_DRIVER;
  error = driver.context(&context);
  if (error || !context)
    return failed(error, SKEWER_CUDA_NO_CONTEXT);
  error = driver.load(&kernel->module, image);
  if (error)
    return failed(error, SKEWER_CUDA_NO_KERNEL);
  error = driver.find(&kernel->function, kernel->module, launch->kernel);
  /* Up to 48 KiB a block may have without asking. */
  if (!error && launch->shared_bytes > 48 * 1024)
    error = driver.set(kernel->function, MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)launch->shared_bytes);
  if (error) {
    skewer_cuda_unload(kernel);
    return failed(error, SKEWER_CUDA_NO_KERNEL);
  }
  kernel->launch = launch;
  return SKEWER_CUDA_OK;
}

skewer_cuda_status skewer_cuda_run(const skewer_cuda_kernel *kernel, void *const *pointers, int pointer_count,
                                   const int64_t *sizes, int size_count, int64_t blocks, void *stream) {
  void *arguments[MAXIMUM_ARGUMENTS];
  int count = 0, k, error;
  if (!kernel->function)
    return SKEWER_CUDA_NO_KERNEL;
  if (pointer_count < 0 || size_count < 0 || pointer_count > MAXIMUM_ARGUMENTS ||
      size_count > MAXIMUM_ARGUMENTS - pointer_count || blocks < 1 || blocks > INT32_MAX)
    return SKEWER_CUDA_BAD_SIZE;
  for (k = 0; k < pointer_count; ++k) {
    int is_workspace = k == pointer_count - 1;
    if ((!pointers[k] && !is_workspace) || (uintptr_t)pointers[k] % (is_workspace ? 256 : 16) != 0)
      return SKEWER_CUDA_MISALIGNED;
    arguments[count++] = (void *)(uintptr_t)&pointers[k]; /* the driver reads them, though it takes no const */
  }
  for (k = 0; k < size_count; ++k) {
    if (sizes[k] < 1)
      return SKEWER_CUDA_BAD_SIZE;
    arguments[count++] = (void *)(uintptr_t)&sizes[k];
  }
  error = driver.launch(kernel->function, (unsigned)blocks, 1, 1, kernel->launch->threads, 1, 1,
                        kernel->launch->shared_bytes, stream, arguments, NULL);
  return error ? failed(error, SKEWER_CUDA_FAILED) : SKEWER_CUDA_OK;
}

void skewer_cuda_unload(skewer_cuda_kernel *kernel) {
  if (kernel->module)
    driver.unload(kernel->module);
  memset(kernel, 0, sizeof *kernel);
}

const char *skewer_cuda_status_text(skewer_cuda_status status) {
  switch (status) {
  case SKEWER_CUDA_OK:
    return "done";
  case SKEWER_CUDA_NO_DRIVER:
    return "libcuda.so.1 is not there; install NVIDIA's driver";
  case SKEWER_CUDA_NO_CONTEXT:
    return "no CUDA context is current in this thread";
  case SKEWER_CUDA_NO_KERNEL:
    return "the image is not for this GPU, or holds no kernel of that name";
  case SKEWER_CUDA_MISALIGNED:
    return "a pointer is null or no multiple of 16 bytes, or the workspace of 256";
  case SKEWER_CUDA_BAD_SIZE:
    return "a size is below 1, or there are too many blocks or arguments";
  case SKEWER_CUDA_FAILED:
    break;
  }
  return "the driver refused the launch";
}

int skewer_cuda_error(void) { return last_error; }
