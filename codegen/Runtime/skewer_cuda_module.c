/* Chooses the code that a GPU gets, loads it, and remembers in which contexts it is loaded. Compiles as C99 and as
   C++. */
#include "skewer_cuda_driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define driver skewer_cuda_driver
#define failed skewer_cuda_failed
#define failed_call skewer_cuda_failed_call
#define name_of_error skewer_cuda_name_of_error
typedef skewer_cuda_loaded loaded_program;

/* Returns the driver's number of a context; 0 if the driver has none. A new context may have the address of a destroyed
   one, but it has another number. */
static unsigned long long identity_of(void *context) {
  unsigned long long identity = 0;
  if (driver.cuCtxGetId && driver.cuCtxGetId(context, &identity) != 0)
    identity = 0;
  return identity;
}

static loaded_program *find_in(const skewer_cuda_program *program, void *context, unsigned long long identity) {
  loaded_program *entry = (loaded_program *)__atomic_load_n(program->loaded, __ATOMIC_ACQUIRE);
  while (entry && (__atomic_load_n(&entry->context, __ATOMIC_ACQUIRE) != context || entry->identity != identity))
    entry = entry->next;
  return entry;
}

/* Return whether a GPU can run the cubin of an image, or compile its PTX. */
static int runs_cubin(const skewer_cuda_image *image, uint32_t capability) {
  if (image->is_exact || image->capability / 10 != capability / 10)
    return image->capability == capability;
  return image->capability <= capability;
}
static int runs_ptx(const skewer_cuda_image *image, uint32_t capability) {
  return image->is_exact ? image->capability == capability : image->capability <= capability;
}

static uint32_t shared_needed(const skewer_cuda_image *image) {
  uint32_t k, most = 0;
  for (k = 0; k < image->launch_count; ++k)
    most = image->launches[k].shared_bytes > most ? image->launches[k].shared_bytes : most;
  return most;
}

/* The properties of the GPU that the choice between images depends on, and the images that were rejected, by reason. */
typedef struct choice {
  uint32_t capability, shared_bytes;
  int driver_version;
  const skewer_cuda_image *too_much_shared, *too_new_ptx;
} choice;

/* Returns the newest image that the GPU can use; an image for exactly its capability comes before others of the same
   number. Null if there is none. */
static const skewer_cuda_image *choose(const skewer_cuda_program *program, choice *how, int is_cubin) {
  const skewer_cuda_image *best = NULL;
  uint32_t k;
  for (k = 0; k < program->image_count; ++k) {
    const skewer_cuda_image *image = &program->images[k];
    if (is_cubin ? !image->cubin || !runs_cubin(image, how->capability)
                 : !image->ptx || !runs_ptx(image, how->capability))
      continue;
    if (shared_needed(image) > how->shared_bytes)
      how->too_much_shared = image;
    else if (!is_cubin && image->ptx_driver > (uint32_t)how->driver_version)
      how->too_new_ptx = image;
    else if (!best || 2 * image->capability + image->is_exact > 2 * best->capability + best->is_exact)
      best = image;
  }
  return best;
}

static skewer_status no_image(const skewer_cuda_program *program, const choice *how) {
  char known[256] = "";
  uint32_t k;
  if (how->too_much_shared)
    return failed(
        SKEWER_CUDA_SHARED_MEMORY,
        "%s: the code for %s needs %u bytes of shared memory a block; this GPU (compute capability %u.%u) has "
        "%u",
        program->name, how->too_much_shared->target, shared_needed(how->too_much_shared), how->capability / 10,
        how->capability % 10, how->shared_bytes);
  if (how->too_new_ptx)
    return failed(SKEWER_CUDA_OLD_DRIVER,
                  "%s: the PTX for %s needs a driver of CUDA %u.%u; this one is of CUDA %d.%d, install a newer one",
                  program->name, how->too_new_ptx->target, how->too_new_ptx->ptx_driver / 1000,
                  how->too_new_ptx->ptx_driver % 1000 / 10, how->driver_version / 1000,
                  how->driver_version % 1000 / 10);
  for (k = 0; k < program->image_count; ++k) {
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", k ? ", " : "", program->images[k].target);
  }
  return failed(SKEWER_CUDA_NO_CODE,
                "%s: this GPU has compute capability %u.%u; the kernel was compiled for %s, compile it for sm_%u too",
                program->name, how->capability / 10, how->capability % 10, known, how->capability);
}

/* Loads one image; sets `error` to the driver's error, 0 if there is none. */
static skewer_status load_image(const skewer_cuda_image *image, int is_cubin, void **module, int *error) {
  char log[384] = "";
  int options[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[2];
  values[0] = log;
  values[1] = (void *)(uintptr_t)(sizeof log - 1);
  *error = is_cubin ? driver.cuModuleLoadDataEx(module, image->cubin, 0, NULL, NULL)
                    : driver.cuModuleLoadDataEx(module, image->ptx, 2, options, values);
  if (!*error)
    return SKEWER_OK;
  return failed(*error == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ? SKEWER_CUDA_OLD_DRIVER : SKEWER_CUDA_FAILED,
                "cuModuleLoadDataEx: %s (%d) for the %s of %s%s%s", name_of_error(*error), *error,
                is_cubin ? "cubin" : "PTX", image->target, log[0] ? ": " : "", log);
}

static skewer_status load_module(const skewer_cuda_program *program, choice *how, const skewer_cuda_image **chosen,
                                 void **module) {
  const skewer_cuda_image *cubin = choose(program, how, 1), *ptx;
  skewer_status status = SKEWER_OK;
  int error = 0;
  if (cubin) {
    *chosen = cubin;
    status = load_image(cubin, 1, module, &error);
    /* A driver has many errors for a cubin of a newer toolkit; it may still compile the PTX. After a lack of memory PTX
       does not help, because it needs no less. */
    if (status == SKEWER_OK || error == CUDA_ERROR_OUT_OF_MEMORY)
      return status;
  }
  ptx = choose(program, how, 0);
  if (ptx) {
    *chosen = ptx;
    return load_image(ptx, 0, module, &error);
  }
  return cubin ? status : no_image(program, how);
}

static skewer_status find_kernel(const loaded_program *entry, const char *name, uint32_t shared_bytes,
                                 void **function) {
  int error = driver.cuModuleGetFunction(function, entry->module, name);
  if (error)
    return failed_call("cuModuleGetFunction", error);
  if (shared_bytes <= 48 * 1024) /* a kernel gets this much without a request */
    return SKEWER_OK;
  error = driver.cuFuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes);
  return error ? failed_call("cuFuncSetAttribute", error) : SKEWER_OK;
}

static skewer_status find_kernels(loaded_program *entry) {
  const skewer_cuda_image *image = entry->image;
  skewer_status status = SKEWER_OK;
  uint32_t k;
  for (k = 0; k < image->launch_count && status == SKEWER_OK; ++k) {
    const skewer_cuda_launch *launch = &image->launches[k];
    status = find_kernel(entry, launch->kernel, launch->shared_bytes, &entry->functions[k]);
    if (status == SKEWER_OK && launch->map_count && driver.cuTensorMapEncodeTiled)
      status = find_kernel(entry, launch->box_kernel, launch->shared_bytes, &entry->functions[image->launch_count + k]);
  }
  return status;
}

static skewer_status describe_gpu(choice *how) {
  int device, major, minor, shared, error;
  error = driver.cuCtxGetDevice(&device);
  if (error)
    return failed_call("cuCtxGetDevice", error);
  error = driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (!error)
    error = driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  if (!error)
    error = driver.cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  if (error)
    return failed_call("cuDeviceGetAttribute", error);
  error = driver.cuDriverGetVersion(&how->driver_version);
  if (error)
    return failed_call("cuDriverGetVersion", error);
  how->capability = (uint32_t)(10 * major + minor);
  how->shared_bytes = (uint32_t)shared;
  return SKEWER_OK;
}

static skewer_status load(const skewer_cuda_program *program, void *context, unsigned long long identity,
                          loaded_program **result) {
  choice how;
  const skewer_cuda_image *image = NULL;
  loaded_program *entry, *other;
  void *module = NULL, *head;
  skewer_status status;
  memset(&how, 0, sizeof how);
  status = describe_gpu(&how);
  if (status == SKEWER_OK)
    status = load_module(program, &how, &image, &module);
  if (status != SKEWER_OK)
    return status;
  entry = (loaded_program *)calloc(1, sizeof *entry + 2 * image->launch_count * sizeof(void *));
  if (!entry) {
    driver.cuModuleUnload(module);
    return failed(SKEWER_CUDA_FAILED, "%s: no memory", program->name);
  }
  entry->context = context;
  entry->identity = identity;
  entry->image = image;
  entry->module = module;
  status = find_kernels(entry);
  /* If several threads load at the same time, the module of the first one is kept. */
  head = __atomic_load_n(program->loaded, __ATOMIC_ACQUIRE);
  do {
    other = status == SKEWER_OK ? find_in(program, context, identity) : NULL;
    if (status != SKEWER_OK || other) {
      driver.cuModuleUnload(module);
      free(entry);
      *result = other;
      return status;
    }
    entry->next = (loaded_program *)head;
  } while (!__atomic_compare_exchange_n(program->loaded, &head, (void *)entry, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  *result = entry;
  return SKEWER_OK;
}

skewer_status skewer_cuda_ready(const skewer_cuda_program *program, void *context, loaded_program **entry) {
  unsigned long long identity = identity_of(context);
  skewer_status status;
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED, is_changed;
  *entry = find_in(program, context, identity);
  if (*entry)
    return SKEWER_OK;
  is_changed = driver.cuThreadExchangeStreamCaptureMode && driver.cuThreadExchangeStreamCaptureMode(&mode) == 0;
  status = load(program, context, identity, entry);
  if (is_changed)
    driver.cuThreadExchangeStreamCaptureMode(&mode);
  return status;
}

loaded_program *skewer_cuda_find_loaded(const skewer_cuda_program *program, void *context) {
  return find_in(program, context, identity_of(context));
}
