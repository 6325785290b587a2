/* Checks the arguments of a call: sizes, pointers, and the owner of their memory. Each error is a status with a text
   that skewer_cuda_error() returns. Compiles as C99 and as C++. */
#include "skewer_cuda_driver.h"
#include <string.h>

#define driver skewer_cuda_driver
#define failed skewer_cuda_failed
#define failed_call skewer_cuda_failed_call
#define evaluate skewer_cuda_evaluate
#define check_sizes skewer_cuda_check_sizes
#define check_exec skewer_cuda_check_exec
#define workspace_needed skewer_cuda_workspace_needed

static int64_t word_of(const void *args, uint32_t word) {
  int64_t value;
  memcpy(&value, (const char *)args + 8 * (size_t)word, sizeof value);
  return value;
}

static int evaluate_factor(const skewer_cuda_factor *factor, const void *args, int64_t *result) {
  int64_t sum = 0, value;
  uint32_t k, n;
  for (k = 0; k < factor->product_count; ++k) {
    value = factor->products[k].coefficient;
    for (n = 0; n < factor->products[k].word_count; ++n)
      if (__builtin_mul_overflow(value, word_of(args, factor->products[k].words[n]), &value))
        return 0;
    if (__builtin_add_overflow(sum, value, &sum))
      return 0;
  }
  *result = sum / factor->divisor; /* sums are not negative */
  return 1;
}

int skewer_cuda_evaluate(const skewer_cuda_count *count, const void *args, int64_t *result) {
  int64_t value = count->scaled, factor;
  uint32_t k;
  for (k = 0; k < count->factor_count; ++k)
    if (!evaluate_factor(&count->factors[k], args, &factor) || __builtin_mul_overflow(value, factor, &value))
      return 0;
  return !__builtin_add_overflow(value, count->fixed, result);
}

skewer_status skewer_cuda_check_sizes(const skewer_cuda_program *program, const void *args) {
  static const char *const origins[3] = {"q0", "k0", "head0"};
  uint32_t k, head[2];
  int64_t bytes;
  if (!args)
    return failed(SKEWER_NULL_ARGS, "%s: args is null", program->name);
  memcpy(head, args, sizeof head);
  if (head[0] != program->args_bytes)
    return failed(SKEWER_BAD_ARGS_SIZE, "%s: args->size is %u; expected %u", program->name, head[0],
                  program->args_bytes);
  if ((head[1] & 0xff) != (program->version & 0xff))
    return failed(SKEWER_BAD_ARGS_VERSION, "%s: args->version is %u; expected %u", program->name, head[1] & 0xff,
                  program->version & 0xff);
  if (head[1] >> 8 && program->version >> 8 && head[1] >> 8 != program->version >> 8)
    return failed(SKEWER_BAD_ARGS_LAYER,
                  "%s: args is of the layer with hash %06x..., the object of the one with hash %06x...; compile header "
                  "and object together, and give layers of one program different names",
                  program->name, head[1] >> 8, program->version >> 8);
  for (k = 0; k < program->size_count; ++k)
    if (word_of(args, program->sizes[k]) < 1)
      return failed(SKEWER_BAD_SIZE, "%s: run-time size %u is %lld; expected at least 1", program->name, k,
                    (long long)word_of(args, program->sizes[k]));
    else if (word_of(args, program->sizes[k]) > program->bounds[k])
      return failed(SKEWER_BAD_SIZE, "%s: run-time size %u is %lld; expected at most %lld", program->name, k,
                    (long long)word_of(args, program->sizes[k]), (long long)program->bounds[k]);
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

uint64_t skewer_cuda_most_prepared(const skewer_cuda_program *program) {
  uint64_t most = 0;
  uint32_t k;
  for (k = 0; k < program->image_count; ++k)
    most = program->images[k].prepared_bytes > most ? program->images[k].prepared_bytes : most;
  return most;
}

int skewer_cuda_workspace_needed(const skewer_cuda_program *program, const void *args, int64_t *needed) {
  int64_t bytes;
  uint32_t k;
  *needed = 0;
  for (k = 0; k < program->image_count; ++k) {
    if (!evaluate(&program->images[k].workspace, args, &bytes) ||
        __builtin_add_overflow(bytes, (int64_t)program->images[k].prepared_bytes, &bytes))
      return 0;
    *needed = bytes > *needed ? bytes : *needed;
  }
  return 1;
}

skewer_status skewer_cuda_check_exec(const skewer_cuda_exec *exec) {
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

/* Returns whether a call uses a tensor: preparing uses only operands that are the same at every call. */
static int is_used(const skewer_cuda_tensor *tensor, skewer_cuda_part part) {
  return part != SKEWER_CUDA_PREPARING || tensor->kind == SKEWER_CUDA_CONST;
}

/* Checks that no tensor is null or misaligned. Sets `values` to their addresses. */
static skewer_status check_tensors(const skewer_cuda_program *program, const void *args, skewer_cuda_part part,
                                   uint64_t *values) {
  uint32_t k;
  for (k = 0; k < program->tensor_count; ++k) {
    values[k] = (uint64_t)word_of(args, program->tensors[k].word);
    if (!values[k] && is_used(&program->tensors[k], part))
      return failed(SKEWER_NULL_TENSOR, "%s: '%s' is null", program->name, program->tensors[k].name);
  }
  for (k = 0; k < program->tensor_count; ++k)
    if (values[k] % 16 != 0 && is_used(&program->tensors[k], part))
      return failed(SKEWER_CUDA_MISALIGNED, "%s: '%s' is at 0x%llx; expected a multiple of 16", program->name,
                    program->tensors[k].name, (unsigned long long)values[k]);
  return SKEWER_OK;
}

static skewer_status check_workspace(const skewer_cuda_program *program, const skewer_cuda_exec *exec,
                                     int64_t needed) {
  uint64_t workspace = (uint64_t)(uintptr_t)exec->workspace;
  if (needed && !workspace)
    return failed(SKEWER_NULL_WORKSPACE, "%s: exec->workspace is null; expected %lld bytes", program->name,
                  (long long)needed);
  if (exec->workspace_bytes < (uint64_t)needed)
    return failed(SKEWER_SMALL_WORKSPACE, "%s: exec->workspace_bytes is %llu; expected %lld", program->name,
                  (unsigned long long)exec->workspace_bytes, (long long)needed);
  if (needed && workspace % 256 != 0)
    return failed(SKEWER_CUDA_MISALIGNED, "%s: the workspace is at 0x%llx; expected a multiple of 256", program->name,
                  (unsigned long long)workspace);
  return SKEWER_OK;
}

static skewer_status check_overlaps(const skewer_cuda_program *program, const void *args, skewer_cuda_part part,
                                    const uint64_t *values, uint64_t workspace, int64_t needed) {
  int64_t bytes, other;
  uint32_t k, n;
  for (k = 0; k < program->tensor_count; ++k) {
    if (!is_used(&program->tensors[k], part))
      continue;
    evaluate(&program->tensors[k].bytes, args, &bytes);
    if (needed && overlap(values[k], bytes, workspace, needed))
      return failed(SKEWER_OVERLAP, "%s: '%s' shares memory with the workspace", program->name,
                    program->tensors[k].name);
    for (n = 0; n < k && program->tensors[k].kind == SKEWER_CUDA_WRITTEN; ++n) {
      evaluate(&program->tensors[n].bytes, args, &other);
      if (overlap(values[k], bytes, values[n], other))
        return failed(SKEWER_OVERLAP, "%s: '%s' shares memory with '%s'", program->name, program->tensors[k].name,
                      program->tensors[n].name);
    }
  }
  return SKEWER_OK;
}

static skewer_status check_prepared(const skewer_cuda_program *program, const void *args, skewer_cuda_part part,
                                    const uint64_t *values, uint64_t prepared, uint64_t workspace, int64_t needed) {
  int64_t bytes, own = (int64_t)skewer_cuda_most_prepared(program);
  uint32_t k;
  if (!own)
    return SKEWER_OK;
  if (!prepared)
    return failed(SKEWER_NULL_PREPARED, "%s: prepared memory is null; expected %lld bytes", program->name,
                  (long long)own);
  if (prepared % 256 != 0)
    return failed(SKEWER_CUDA_MISALIGNED, "%s: prepared memory is at 0x%llx; expected a multiple of 256",
                  program->name, (unsigned long long)prepared);
  if (overlap(prepared, own, workspace, needed))
    return failed(SKEWER_OVERLAP, "%s: prepared memory shares memory with the workspace", program->name);
  for (k = 0; k < program->tensor_count; ++k) {
    evaluate(&program->tensors[k].bytes, args, &bytes);
    if (is_used(&program->tensors[k], part) && overlap(prepared, own, values[k], bytes))
      return failed(SKEWER_OVERLAP, "%s: '%s' shares memory with prepared memory", program->name,
                    program->tensors[k].name);
  }
  return SKEWER_OK;
}

/* Checks that no range of an index operand is empty at these lengths. The elements themselves stay on the GPU and are
   not checked. */
static skewer_status check_ranges(const skewer_cuda_program *program, const void *args, skewer_cuda_part part) {
  int64_t low, high;
  uint32_t k;
  for (k = 0; k < program->range_count; ++k) {
    const skewer_cuda_range *range = &program->ranges[k];
    if (part == SKEWER_CUDA_PREPARING && !range->is_const)
      continue;
    if (evaluate(&range->low, args, &low) && evaluate(&range->high, args, &high) && low > high)
      return failed((skewer_status)range->status,
                    "%s: the range of '%s' is %lld..%lld at these sizes, in which no element can lie", program->name,
                    range->name, (long long)low, (long long)high);
  }
  return SKEWER_OK;
}

skewer_status skewer_cuda_check_call(const skewer_cuda_program *program, const void *args, const skewer_cuda_exec *exec,
                                     skewer_cuda_part part, const void *prepared, uint64_t *values) {
  skewer_status status = check_sizes(program, args);
  uint64_t workspace;
  int64_t needed = 0;
  uint32_t k = program->tensor_count, n;
  if (status == SKEWER_OK)
    status = check_tensors(program, args, part, values);
  if (status == SKEWER_OK)
    status = check_exec(exec);
  if (status != SKEWER_OK)
    return status;
  if (!workspace_needed(program, args, &needed))
    return failed(SKEWER_BAD_SIZE, "%s: the workspace would exceed 2^63 bytes", program->name);
  workspace = (uint64_t)(uintptr_t)exec->workspace;
  status = check_workspace(program, exec, needed);
  if (status == SKEWER_OK)
    status = check_overlaps(program, args, part, values, workspace, needed);
  if (status == SKEWER_OK && part != SKEWER_CUDA_ALL)
    status = check_prepared(program, args, part, values, (uint64_t)(uintptr_t)prepared, workspace, needed);
  if (status == SKEWER_OK)
    status = check_ranges(program, args, part);
  if (status != SKEWER_OK)
    return status;
  values[k++] = needed ? workspace : 0;
  values[k++] = part == SKEWER_CUDA_ALL ? values[program->tensor_count] : (uint64_t)(uintptr_t)prepared;
  for (n = 0; n < program->size_count; ++n)
    values[k++] = (uint64_t)word_of(args, program->sizes[n]);
  for (n = 0; n < program->origin_count; ++n)
    values[k++] = (uint64_t)word_of(args, program->origin_word + program->passed_origins[n]);
  return SKEWER_OK;
}

/* Checks that a pointer is memory of the context's GPU, or managed memory: kernels access nothing else. */
static skewer_status check_memory(const skewer_cuda_program *program, int device, const char *name, uint64_t pointer) {
  unsigned type = 0, is_managed = 0;
  int ordinal = device;
  int error = driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  if (!error)
    driver.cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer);
  if (error || (type == CU_MEMORYTYPE_HOST && !is_managed))
    return failed(SKEWER_CUDA_HOST_POINTER, "%s: '%s' is at 0x%llx, which is no memory of the GPU", program->name, name,
                  (unsigned long long)pointer);
  if (is_managed)
    return SKEWER_OK;
  error = driver.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
  if (!error && ordinal >= 0 && ordinal != device) /* negative: it belongs to no single GPU */
    return failed(SKEWER_CUDA_OTHER_DEVICE, "%s: '%s' is memory of GPU %d; the kernel would run on GPU %d",
                  program->name, name, ordinal, device);
  return SKEWER_OK;
}

skewer_status skewer_cuda_check_memory(const skewer_cuda_program *program, const void *args,
                                       const skewer_cuda_exec *exec, skewer_cuda_part part, const void *prepared) {
  skewer_status status = SKEWER_OK;
  uint32_t k;
  int64_t needed = 0;
  int device, error = driver.cuCtxGetDevice(&device);
  if (error)
    return failed_call("cuCtxGetDevice", error);
  for (k = 0; k < program->tensor_count && status == SKEWER_OK; ++k)
    if (is_used(&program->tensors[k], part))
      status =
          check_memory(program, device, program->tensors[k].name, (uint64_t)word_of(args, program->tensors[k].word));
  if (status == SKEWER_OK && workspace_needed(program, args, &needed) && needed)
    status = check_memory(program, device, "exec->workspace", (uint64_t)(uintptr_t)exec->workspace);
  if (status == SKEWER_OK && part != SKEWER_CUDA_ALL && skewer_cuda_most_prepared(program))
    status = check_memory(program, device, "prepared memory", (uint64_t)(uintptr_t)prepared);
  return status;
}
