/* Launches kernels on NVIDIA GPUs: enters a context, launches, and implements the functions that objects call
   (skewer_cuda.h). Compiles as C99 and as C++. */
#include "skewer_cuda_driver.h"

#define driver skewer_cuda_driver
#define failed skewer_cuda_failed
#define failed_call skewer_cuda_failed_call
#define evaluate skewer_cuda_evaluate
#define check_sizes skewer_cuda_check_sizes
#define check_exec skewer_cuda_check_exec
#define check_call skewer_cuda_check_call
#define workspace_needed skewer_cuda_workspace_needed
#define ready skewer_cuda_ready
typedef skewer_cuda_loaded loaded_program;

enum { MAXIMUM_ARGUMENTS = 512 }; /* 4096 bytes, CUDA's limit; `skewer compile` refuses more */

/* Makes a call's context current: the caller's context, else the current one, else the context of the stream. After a
   success the caller must call leave(). */
static skewer_status enter(const skewer_cuda_exec *exec, void **context, int *is_pushed) {
  skewer_status status = skewer_cuda_open();
  int error = 0;
  *is_pushed = 0;
  if (status != SKEWER_OK)
    return status;
  *context = exec->context;
  if (!*context) {
    error = driver.cuCtxGetCurrent(context);
    if (error)
      return failed_call("cuCtxGetCurrent", error);
    if (*context)
      return SKEWER_OK;
    /* The default streams (0, 1 and 2) belong to the current context, so they do not tell a context. */
    if ((uintptr_t)exec->stream > 2 && driver.cuStreamGetCtx &&
        (driver.cuStreamGetCtx(exec->stream, context) != 0 || !*context))
      *context = NULL;
  }
  if (!*context)
    return failed(SKEWER_CUDA_NO_CONTEXT, "no CUDA context is current in this thread, exec->context is null, and "
                                          "exec->stream is of none");
  error = driver.cuCtxPushCurrent(*context);
  if (error)
    return failed_call("cuCtxPushCurrent", error);
  *is_pushed = 1;
  return SKEWER_OK;
}

static void leave(int is_pushed) {
  void *popped;
  if (is_pushed)
    driver.cuCtxPopCurrent(&popped);
}

static __thread uint32_t box_kernels; /* of the last call in this thread */

uint32_t skewer_cuda_box_kernels(void) { return box_kernels; }

static int is_queued(const skewer_cuda_launch *launch, skewer_cuda_part part) {
  return part == SKEWER_CUDA_ALL || (part == SKEWER_CUDA_PREPARING) == (launch->prepares != 0);
}

static skewer_status launch(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec,
                            const loaded_program *entry, skewer_cuda_part part, uint64_t *values) {
  const skewer_cuda_image *image = entry->image;
  skewer_cuda_tensor_map maps[SKEWER_CUDA_MOST_MAPS];
  void *arguments[MAXIMUM_ARGUMENTS + SKEWER_CUDA_MOST_MAPS], *function;
  uint32_t k, n, workspace = program->tensor_count, passed = 0;
  uint32_t count = workspace + 2 + program->size_count + program->origin_count;
  int64_t blocks;
  int error;
  for (k = 0; k < image->launch_count; ++k)
    if (is_queued(&image->launches[k], part) &&
        (!evaluate(&image->launches[k].blocks, args, &blocks) || blocks < 1 || blocks > INT32_MAX))
      return failed(SKEWER_CUDA_GRID, "%s: these sizes ask for more than 2147483647 blocks of kernel '%s'",
                    program->name, image->launches[k].kernel);
  box_kernels = 0;
  values[workspace] += image->prepared_bytes; /* the workspace begins with the memory that a whole call prepares */
  for (k = 0; k < count; ++k)
    if (k != workspace + 1 || image->prepared_bytes)
      arguments[passed++] = &values[k];
  for (k = 0; k < image->launch_count; ++k) {
    if (!is_queued(&image->launches[k], part))
      continue;
    evaluate(&image->launches[k].blocks, args, &blocks);
    function = entry->functions[k];
    if (entry->functions[image->launch_count + k] && skewer_cuda_make_maps(&image->launches[k], args, values, maps)) {
      function = entry->functions[image->launch_count + k];
      ++box_kernels;
      for (n = 0; n < image->launches[k].map_count; ++n)
        arguments[passed + n] = &maps[n];
    }
    error = driver.cuLaunchKernel(function, (unsigned)blocks, 1, 1, image->launches[k].threads, 1, 1,
                                  image->launches[k].shared_bytes, exec->stream, arguments, NULL);
    if (error)
      return failed(SKEWER_CUDA_FAILED, "cuLaunchKernel: %s (%d) for '%s'", skewer_cuda_name_of_error(error), error,
                    image->launches[k].kernel);
  }
  return SKEWER_OK;
}

static skewer_status queue(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec,
                           skewer_cuda_part part, const void *prepared) {
  uint64_t values[MAXIMUM_ARGUMENTS + 1]; /* one of them is not passed if there is no prepared memory */
  skewer_status status = check_call(program, args, exec, part, prepared, values);
  loaded_program *entry = NULL;
  void *context = NULL;
  int is_pushed;
  if (status == SKEWER_OK)
    status = enter(exec, &context, &is_pushed);
  if (status != SKEWER_OK)
    return status;
  status = ready(program, context, &entry);
  if (status == SKEWER_OK)
    status = skewer_cuda_check_memory(program, args, exec, part, prepared);
  if (status == SKEWER_OK)
    status = launch(program, args, exec, entry, part, values);
  leave(is_pushed);
  return status;
}

skewer_status skewer_cuda_call(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec) {
  return queue(program, args, exec, SKEWER_CUDA_ALL, NULL);
}

size_t skewer_cuda_prepared_bytes(const skewer_cuda_program *program) {
  return (size_t)skewer_cuda_most_prepared(program);
}

skewer_status skewer_cuda_prepare_const(const skewer_cuda_program *program, const void *args,
                                        const skewer_cuda_exec *exec, void *prepared) {
  return queue(program, args, exec, SKEWER_CUDA_PREPARING, prepared);
}

skewer_status skewer_cuda_call_prepared(const skewer_cuda_program *program, const void *args,
                                        const skewer_cuda_exec *exec, const void *prepared) {
  return queue(program, args, exec, SKEWER_CUDA_OTHERS, prepared);
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
  int is_pushed;
  if (status == SKEWER_OK)
    status = enter(exec, &context, &is_pushed);
  if (status != SKEWER_OK)
    return status;
  status = ready(program, context, &entry);
  leave(is_pushed);
  return status;
}

skewer_status skewer_cuda_unload(const skewer_cuda_program *program, const skewer_cuda_exec *exec) {
  skewer_status status = check_exec(exec);
  loaded_program *entry;
  void *context = NULL;
  int error = 0, is_pushed;
  if (status == SKEWER_OK)
    status = enter(exec, &context, &is_pushed);
  if (status != SKEWER_OK)
    return status;
  entry = skewer_cuda_find_loaded(program, context);
  if (entry) {
    __atomic_store_n(&entry->context, (void *)NULL, __ATOMIC_RELEASE); /* the entry stays: threads may read it */
    error = driver.cuModuleUnload(entry->module);
  }
  leave(is_pushed);
  return error ? failed_call("cuModuleUnload", error) : SKEWER_OK;
}
