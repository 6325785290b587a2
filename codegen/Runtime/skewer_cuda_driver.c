/* Finds CUDA's driver and its functions with dlopen, at the first call that needs them, and keeps the text of the last
   error for each thread. Compiles as C99 and as C++. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "skewer_cuda_driver.h"
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

skewer_cuda_functions skewer_cuda_driver;
static int driver_state; /* 0: not open, 1: a thread opens it, 2: open */

/* The text of the last error in this thread. */
static __thread char last_error[768];

const char *skewer_cuda_error(void) { return last_error; }

skewer_status skewer_cuda_failed(skewer_status status, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(last_error, sizeof last_error, format, values);
  va_end(values);
  return status;
}

const char *skewer_cuda_name_of_error(int error) {
  const char *name = NULL;
  if (!skewer_cuda_driver.cuGetErrorName || skewer_cuda_driver.cuGetErrorName(error, &name) != 0 || !name)
    return "an unknown error";
  return name;
}

skewer_status skewer_cuda_failed_call(const char *call, int error) {
  return skewer_cuda_failed(SKEWER_CUDA_FAILED, "%s: %s (%d)", call, skewer_cuda_name_of_error(error), error);
}

/* Copies the address of a function of the driver to `function`; returns 0 if there is none. ISO C has no conversion
   from void * to a function pointer; POSIX promises that their bits are the same. */
static int take(const char *name, void *function) {
  void *symbol = dlsym(skewer_cuda_driver.library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

static skewer_status find_functions(void) {
  const char *missing = NULL;
  int error;
#define TAKE(name, symbol)                                                                                             \
  if (!take(symbol, &skewer_cuda_driver.name) && !missing)                                                             \
  missing = symbol
  if (!skewer_cuda_driver.library)
    skewer_cuda_driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!skewer_cuda_driver.library)
    return skewer_cuda_failed(SKEWER_CUDA_NO_DRIVER, "libcuda.so.1, NVIDIA's driver, cannot be loaded: %s", dlerror());
  TAKE(cuInit, "cuInit");
  TAKE(cuDriverGetVersion, "cuDriverGetVersion");
  TAKE(cuGetErrorName, "cuGetErrorName");
  TAKE(cuCtxGetCurrent, "cuCtxGetCurrent");
  TAKE(cuCtxGetDevice, "cuCtxGetDevice");
  TAKE(cuCtxPushCurrent, "cuCtxPushCurrent_v2");
  TAKE(cuCtxPopCurrent, "cuCtxPopCurrent_v2");
  TAKE(cuDeviceGetAttribute, "cuDeviceGetAttribute");
  TAKE(cuModuleLoadDataEx, "cuModuleLoadDataEx");
  TAKE(cuModuleUnload, "cuModuleUnload");
  TAKE(cuModuleGetFunction, "cuModuleGetFunction");
  TAKE(cuFuncSetAttribute, "cuFuncSetAttribute");
  TAKE(cuPointerGetAttribute, "cuPointerGetAttribute");
  TAKE(cuLaunchKernel, "cuLaunchKernel");
#undef TAKE
  if (missing)
    return skewer_cuda_failed(SKEWER_CUDA_NO_DRIVER, "libcuda.so.1 has no function %s; install a newer driver",
                              missing);
  take("cuCtxGetId", &skewer_cuda_driver.cuCtxGetId);
  take("cuThreadExchangeStreamCaptureMode", &skewer_cuda_driver.cuThreadExchangeStreamCaptureMode);
  take("cuStreamGetCtx", &skewer_cuda_driver.cuStreamGetCtx);
  take("cuTensorMapEncodeTiled", &skewer_cuda_driver.cuTensorMapEncodeTiled);
  error = skewer_cuda_driver.cuInit(0);
  if (error == CUDA_ERROR_NO_DEVICE)
    return skewer_cuda_failed(SKEWER_CUDA_NO_GPU, "cuInit: %s: NVIDIA's driver finds no GPU",
                              skewer_cuda_name_of_error(error));
  if (error)
    return skewer_cuda_failed(SKEWER_CUDA_NO_DRIVER, "cuInit: %s (%d)", skewer_cuda_name_of_error(error), error);
  return SKEWER_OK;
}

skewer_status skewer_cuda_open(void) {
  skewer_status status;
  int expected = 0;
  if (__atomic_load_n(&driver_state, __ATOMIC_ACQUIRE) == 2)
    return SKEWER_OK;
  while (!__atomic_compare_exchange_n(&driver_state, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    if (expected == 2)
      return SKEWER_OK;
    expected = 0;
    sched_yield();
  }
  status = find_functions();
  __atomic_store_n(&driver_state, status == SKEWER_OK ? 2 : 0, __ATOMIC_RELEASE);
  return status;
}
