/* Launches kernels on NVIDIA GPUs: checks, modules, launches. Compiles as C99 and as C++. */
#include "skewer_cuda_driver.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define driver skewer_cuda_driver
#define failed skewer_cuda_failed
#define failed_call skewer_cuda_failed_call
#define name_of_error skewer_cuda_name_of_error

enum { MAXIMUM_ARGUMENTS = 512 }; /* 4096 bytes, CUDA's limit; `skewer compile` refuses more */

/* The context of a call: the caller's, or the one that is current. Whoever succeeds here must leave(). */
static skewer_status enter(const skewer_cuda_exec *exec, void **context) {
  skewer_status status = skewer_cuda_open();
  int error;
  if (status != SKEWER_OK)
    return status;
  if (exec->context) {
    error = driver.cuCtxPushCurrent(exec->context);
    *context = exec->context;
    return error ? failed_call("cuCtxPushCurrent", error) : SKEWER_OK;
  }
  error = driver.cuCtxGetCurrent(context);
  if (error)
    return failed_call("cuCtxGetCurrent", error);
  if (!*context)
    return failed(SKEWER_CUDA_NO_CONTEXT, "no CUDA context is current in this thread, and exec->context is null");
  return SKEWER_OK;
}

static void leave(const skewer_cuda_exec *exec) {
  void *popped;
  if (exec->context)
    driver.cuCtxPopCurrent(&popped);
}

/* Arguments ---------------------------------------------------------------------------------------------------------*/

static int64_t word_of(const void *args, uint32_t word) {
  int64_t value;
  memcpy(&value, (const char *)args + 8 * (size_t)word, sizeof value);
  return value;
}

/* False where the number leaves 63 bits. */
static int evaluate(const skewer_cuda_count *count, const void *args, int64_t *result) {
  int64_t value = count->scaled;
  uint32_t k;
  for (k = 0; k < count->factor_count; ++k)
    if (__builtin_mul_overflow(value, word_of(args, count->factors[k]), &value))
      return 0;
  return !__builtin_add_overflow(value, count->fixed, result);
}

/* The struct, its sizes and origins. */
static skewer_status check_sizes(const skewer_cuda_program *program, const void *args) {
  static const char *const origins[3] = {"q0", "k0", "head0"};
  uint32_t k, head[2];
  int64_t bytes;
  if (!args)
    return failed(SKEWER_NULL_ARGS, "%s: args is null", program->name);
  memcpy(head, args, sizeof head);
  if (head[0] != program->args_bytes)
    return failed(SKEWER_BAD_ARGS_SIZE, "%s: args->size is %u; expected %u", program->name, head[0],
                  program->args_bytes);
  if (head[1] != program->version)
    return failed(SKEWER_BAD_ARGS_VERSION, "%s: args->version is %u; expected %u", program->name, head[1],
                  program->version);
  for (k = 0; k < program->size_count; ++k)
    if (word_of(args, program->sizes[k]) < 1)
      return failed(SKEWER_BAD_SIZE, "%s: run-time size %u is %lld; expected at least 1", program->name, k,
                    (long long)word_of(args, program->sizes[k]));
  for (k = 0; k < program->tensor_count; ++k)
    if (!evaluate(&program->tensors[k].bytes, args, &bytes))
      return failed(SKEWER_BAD_SIZE, "%s: tensor '%s' would exceed 2^63 bytes", program->name,
                    program->tensors[k].name);
  for (k = 0; k < 3; ++k)
    if (word_of(args, program->origin_word + k) < 0 ||
        word_of(args, program->origin_word + k) > program->last_origins[k])
      return failed(SKEWER_BAD_ORIGIN, "%s: %s is %lld; expected 0 to %lld", program->name, origins[k],
                    (long long)word_of(args, program->origin_word + k), (long long)program->last_origins[k]);
  return SKEWER_OK;
}

/* Enough for whichever image is chosen, so that the answer needs no GPU. */
static int workspace_needed(const skewer_cuda_program *program, const void *args, int64_t *needed) {
  int64_t bytes;
  uint32_t k;
  *needed = 0;
  for (k = 0; k < program->image_count; ++k) {
    if (!evaluate(&program->images[k].workspace, args, &bytes))
      return 0;
    *needed = bytes > *needed ? bytes : *needed;
  }
  return 1;
}

static skewer_status check_exec(const skewer_cuda_exec *exec) {
  if (!exec)
    return failed(SKEWER_NULL_EXEC, "exec is null");
  if (exec->size != sizeof *exec)
    return failed(SKEWER_BAD_EXEC_SIZE, "exec->size is %u; expected %u", exec->size, (unsigned)sizeof *exec);
  if (exec->version != SKEWER_ABI_VERSION)
    return failed(SKEWER_BAD_EXEC_VERSION, "exec->version is %u; expected %u", exec->version,
                  (unsigned)SKEWER_ABI_VERSION);
  return SKEWER_OK;
}

static int overlap(uint64_t p, int64_t n, uint64_t q, int64_t m) { return p < q + (uint64_t)m && q < p + (uint64_t)n; }

/* Everything that can be wrong with a call and needs no driver; fills what the kernels take. */
static skewer_status check_call(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec,
                                uint64_t *values) {
  skewer_status status = check_sizes(program, args);
  uint64_t workspace;
  int64_t needed, bytes, other;
  uint32_t k, n;
  if (status != SKEWER_OK)
    return status;
  for (k = 0; k < program->tensor_count; ++k) {
    values[k] = (uint64_t)word_of(args, program->tensors[k].word);
    if (!values[k])
      return failed(SKEWER_NULL_TENSOR, "%s: '%s' is null", program->name, program->tensors[k].name);
  }
  for (k = 0; k < program->tensor_count; ++k)
    if (values[k] % 16 != 0)
      return failed(SKEWER_CUDA_MISALIGNED, "%s: '%s' is at 0x%llx; expected a multiple of 16", program->name,
                    program->tensors[k].name, (unsigned long long)values[k]);
  status = check_exec(exec);
  if (status != SKEWER_OK)
    return status;
  if (!workspace_needed(program, args, &needed))
    return failed(SKEWER_BAD_SIZE, "%s: the workspace would exceed 2^63 bytes", program->name);
  workspace = (uint64_t)(uintptr_t)exec->workspace;
  if (needed && !workspace)
    return failed(SKEWER_NULL_WORKSPACE, "%s: exec->workspace is null; expected %lld bytes", program->name,
                  (long long)needed);
  if (exec->workspace_bytes < (uint64_t)needed)
    return failed(SKEWER_SMALL_WORKSPACE, "%s: exec->workspace_bytes is %llu; expected %lld", program->name,
                  (unsigned long long)exec->workspace_bytes, (long long)needed);
  if (needed && workspace % 256 != 0)
    return failed(SKEWER_CUDA_MISALIGNED, "%s: the workspace is at 0x%llx; expected a multiple of 256", program->name,
                  (unsigned long long)workspace);
  for (k = 0; k < program->tensor_count; ++k) {
    evaluate(&program->tensors[k].bytes, args, &bytes);
    if (needed && overlap(values[k], bytes, workspace, needed))
      return failed(SKEWER_OVERLAP, "%s: '%s' shares memory with the workspace", program->name,
                    program->tensors[k].name);
    for (n = 0; n < k && program->tensors[k].is_written; ++n) {
      evaluate(&program->tensors[n].bytes, args, &other);
      if (overlap(values[k], bytes, values[n], other))
        return failed(SKEWER_OVERLAP, "%s: '%s' shares memory with '%s'", program->name, program->tensors[k].name,
                      program->tensors[n].name);
    }
  }
  values[k++] = needed ? workspace : 0;
  for (n = 0; n < program->size_count; ++n)
    values[k++] = (uint64_t)word_of(args, program->sizes[n]);
  for (n = 0; n < program->origin_count; ++n)
    values[k++] = (uint64_t)word_of(args, program->origin_word + program->passed_origins[n]);
  return SKEWER_OK;
}

/* The kernels read and write memory of the GPU (or managed memory) only. */
static skewer_status check_memory(const skewer_cuda_program *program, const char *name, uint64_t pointer) {
  unsigned type = 0, is_managed = 0;
  int error = driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  if (!error && type == CU_MEMORYTYPE_HOST)
    driver.cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
  if (error || (type == CU_MEMORYTYPE_HOST && !is_managed))
    return failed(SKEWER_CUDA_HOST_POINTER, "%s: '%s' is at 0x%llx, which is no memory of the GPU", program->name, name,
                  (unsigned long long)pointer);
  return SKEWER_OK;
}

/* Modules -----------------------------------------------------------------------------------------------------------*/

/* A program in one context. Entries are only ever added in front, so that they can be read without a lock. */
typedef struct loaded_program {
  struct loaded_program *next;
  void *context; /* null: unloaded */
  unsigned long long identity;
  const skewer_cuda_image *image;
  void *module;
  void *functions[1]; /* image->launch_count */
} loaded_program;

/* A context that is made where another one was destroyed has its address, but not its number. */
static unsigned long long identity_of(void *context) {
  unsigned long long identity = 0;
  if (driver.cuCtxGetId && driver.cuCtxGetId(context, &identity) != 0)
    identity = 0;
  return identity;
}

static loaded_program *find_loaded(const skewer_cuda_program *program, void *context, unsigned long long identity) {
  loaded_program *entry = (loaded_program *)__atomic_load_n(program->loaded, __ATOMIC_ACQUIRE);
  while (entry && (__atomic_load_n(&entry->context, __ATOMIC_ACQUIRE) != context || entry->identity != identity))
    entry = entry->next;
  return entry;
}

/* Whether a GPU can run the cubin, or compile the PTX, of an image. */
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

/* What a choice between images depends on, and why those that could not be chosen could not. */
typedef struct choice {
  uint32_t capability, shared_bytes;
  int driver_version;
  const skewer_cuda_image *too_much_shared, *too_new_ptx;
} choice;

/* The newest image that the GPU can take, of those for one capability alone the first; null if there is none. */
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

/* Loads one image. An error of the driver is returned in `error`. */
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
    /* A cubin of a toolkit that is newer than the driver: its PTX may do. */
    if (status == SKEWER_OK || (error != CUDA_ERROR_INVALID_IMAGE && error != CUDA_ERROR_NO_BINARY_FOR_GPU &&
                                error != CUDA_ERROR_UNSUPPORTED_PTX_VERSION))
      return status;
  }
  ptx = choose(program, how, 0);
  if (ptx) {
    *chosen = ptx;
    return load_image(ptx, 0, module, &error);
  }
  return cubin ? status : no_image(program, how);
}

static skewer_status find_kernels(loaded_program *entry) {
  uint32_t k;
  int error;
  for (k = 0; k < entry->image->launch_count; ++k) {
    const skewer_cuda_launch *launch = &entry->image->launches[k];
    error = driver.cuModuleGetFunction(&entry->functions[k], entry->module, launch->kernel);
    if (error)
      return failed_call("cuModuleGetFunction", error);
    if (launch->shared_bytes <= 48 * 1024) /* so much is given without asking */
      continue;
    error = driver.cuFuncSetAttribute(entry->functions[k], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      (int)launch->shared_bytes);
    if (error)
      return failed_call("cuFuncSetAttribute", error);
  }
  return SKEWER_OK;
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
  entry = (loaded_program *)calloc(1, sizeof *entry + image->launch_count * sizeof(void *));
  if (!entry) {
    driver.cuModuleUnload(module);
    return failed(SKEWER_CUDA_FAILED, "%s: no memory", program->name);
  }
  entry->context = context;
  entry->identity = identity;
  entry->image = image;
  entry->module = module;
  status = find_kernels(entry);
  /* Of threads that load at the same time the first one's module is kept. */
  head = __atomic_load_n(program->loaded, __ATOMIC_ACQUIRE);
  do {
    other = status == SKEWER_OK ? find_loaded(program, context, identity) : NULL;
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

/* The program in the current context, loaded if it was not. Loading is no part of a graph that is being captured. */
static skewer_status ready(const skewer_cuda_program *program, void *context, loaded_program **entry) {
  unsigned long long identity = identity_of(context);
  skewer_status status;
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED, is_changed;
  *entry = find_loaded(program, context, identity);
  if (*entry)
    return SKEWER_OK;
  is_changed = driver.cuThreadExchangeStreamCaptureMode && driver.cuThreadExchangeStreamCaptureMode(&mode) == 0;
  status = load(program, context, identity, entry);
  if (is_changed)
    driver.cuThreadExchangeStreamCaptureMode(&mode);
  return status;
}

/* Entries -----------------------------------------------------------------------------------------------------------*/

static skewer_status launch(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec,
                            const loaded_program *entry, uint64_t *values) {
  const skewer_cuda_image *image = entry->image;
  void *arguments[MAXIMUM_ARGUMENTS];
  uint32_t k, count = program->tensor_count + 1 + program->size_count + program->origin_count;
  int64_t blocks;
  int error;
  for (k = 0; k < image->launch_count; ++k)
    if (!evaluate(&image->launches[k].blocks, args, &blocks) || blocks < 1 || blocks > INT32_MAX)
      return failed(SKEWER_CUDA_GRID, "%s: these sizes ask for more than 2147483647 blocks of kernel '%s'",
                    program->name, image->launches[k].kernel);
  for (k = 0; k < count; ++k)
    arguments[k] = &values[k];
  for (k = 0; k < image->launch_count; ++k) {
    evaluate(&image->launches[k].blocks, args, &blocks);
    error = driver.cuLaunchKernel(entry->functions[k], (unsigned)blocks, 1, 1, image->launches[k].threads, 1, 1,
                                  image->launches[k].shared_bytes, exec->stream, arguments, NULL);
    if (error)
      return failed(SKEWER_CUDA_FAILED, "cuLaunchKernel: %s (%d) for '%s'", name_of_error(error), error,
                    image->launches[k].kernel);
  }
  return SKEWER_OK;
}

skewer_status skewer_cuda_call(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec) {
  uint64_t values[MAXIMUM_ARGUMENTS];
  skewer_status status = check_call(program, args, exec, values);
  loaded_program *entry = NULL;
  void *context = NULL;
  uint32_t k;
  int64_t needed = 0;
  if (status == SKEWER_OK)
    status = enter(exec, &context);
  if (status != SKEWER_OK)
    return status;
  status = ready(program, context, &entry);
  for (k = 0; k < program->tensor_count && status == SKEWER_OK; ++k)
    status = check_memory(program, program->tensors[k].name, values[k]);
  if (status == SKEWER_OK && workspace_needed(program, args, &needed) && needed)
    status = check_memory(program, "exec->workspace", (uint64_t)(uintptr_t)exec->workspace);
  if (status == SKEWER_OK)
    status = launch(program, args, exec, entry, values);
  leave(exec);
  return status;
}

size_t skewer_cuda_workspace(const skewer_cuda_program *program, const void *args) {
  int64_t needed;
  if (check_sizes(program, args) != SKEWER_OK || !workspace_needed(program, args, &needed))
    return SIZE_MAX;
  return (size_t)needed;
}

skewer_status skewer_cuda_load(const skewer_cuda_program *program, const skewer_cuda_exec *exec) {
  skewer_status status = check_exec(exec);
  loaded_program *entry = NULL;
  void *context = NULL;
  if (status == SKEWER_OK)
    status = enter(exec, &context);
  if (status != SKEWER_OK)
    return status;
  status = ready(program, context, &entry);
  leave(exec);
  return status;
}

skewer_status skewer_cuda_unload(const skewer_cuda_program *program, const skewer_cuda_exec *exec) {
  skewer_status status = check_exec(exec);
  loaded_program *entry;
  void *context = NULL;
  int error = 0;
  if (status == SKEWER_OK)
    status = enter(exec, &context);
  if (status != SKEWER_OK)
    return status;
  entry = find_loaded(program, context, identity_of(context));
  if (entry) {
    __atomic_store_n(&entry->context, (void *)NULL, __ATOMIC_RELEASE); /* the entry stays: others may be reading it */
    error = driver.cuModuleUnload(entry->module);
  }
  leave(exec);
  return error ? failed_call("cuModuleUnload", error) : SKEWER_OK;
}
