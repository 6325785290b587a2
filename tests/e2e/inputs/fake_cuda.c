/* A CUDA driver without a GPU, for tests: writes down what it is told, on standard output or in FAKE_CUDA_LOG. What it
   is like stands in FAKE_CUDA: "capability=90 driver=13000 shared=232448 context=1 devices=1", and errors that
   functions return: "cuLaunchKernel=719". FAKE_CUDA_COPY="FROM TO BYTES" is what every kernel does: a copy between two
   of its arguments. Memory of the "GPU" is memory that it gave out, and every address below 2^32: of GPU 0, or of the
   one that the highest of eight digits says. "device=1" is the GPU of the contexts, "streams=2" the context of streams,
   and with "managed=1" all memory is managed. "race=3" changes a bit of what the third launch returns. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread void *current, *stack[8];
static __thread int depth, capture_mode;
static int started;
static unsigned long long identity = 1;
static struct {
  char *begin;
  size_t bytes;
} blocks[256];
static int block_count;

static FILE *log;
__attribute__((constructor)) static void open_log(void) {
  log = getenv("FAKE_CUDA_LOG") ? fopen(getenv("FAKE_CUDA_LOG"), "a") : stdout;
}

static void say(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vfprintf(log, format, values);
  va_end(values);
  fputc('\n', log);
  fflush(log);
}

static int setting(const char *name, int otherwise) {
  const char *text = getenv("FAKE_CUDA");
  size_t length = strlen(name);
  while (text && (text = strstr(text, name))) {
    if (text[length] == '=')
      return atoi(text + length + 1);
    text += length;
  }
  return otherwise;
}
#define FAIL(name)                                                                                                     \
  do {                                                                                                                 \
    int error = setting(#name, 0);                                                                                     \
    if (error)                                                                                                         \
      return error;                                                                                                    \
  } while (0)

/* For tests: what a context that is made anew at the same address looks like. */
void fake_cuda_new_identity(void) { ++identity; }

int cuInit(unsigned flags) {
  (void)flags;
  FAIL(cuInit);
  if (!started++ && setting("context", 1))
    current = &started;
  return setting("devices", 1) ? 0 : 100;
}
int cuDriverGetVersion(int *version) { return *version = setting("driver", 13000), 0; }
int cuGetErrorName(int error, const char **name) {
  *name = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 100 ? "CUDA_ERROR_NO_DEVICE"
          : error == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : error == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
          : error == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
                         : NULL;
  return *name ? 0 : 1;
}
int cuGetErrorString(int error, const char **text) {
  *text = "what it means";
  return (void)error, 0;
}

int cuDeviceGetCount(int *count) { return *count = setting("devices", 1), 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char *name, int length, int device) {
  (void)device;
  snprintf(name, (size_t)length, "Fake GPU");
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 75   ? setting("capability", 80) / 10
           : attribute == 76 ? setting("capability", 80) % 10
           : attribute == 97 ? setting("shared", 166912)
           : attribute == 13 ? 1410000 /* clock, kHz */
                             : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { return (void)device, *context = &started, 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, 0; }
int cuCtxSetCurrent(void *context) { return current = context, 0; }
int cuCtxGetCurrent(void **context) { return *context = current, 0; }
int cuCtxGetDevice(int *device) { return *device = setting("device", 0), 0; }
int cuCtxGetId(void *context, unsigned long long *number) { return *number = identity + (uintptr_t)context % 97, 0; }
int cuCtxPushCurrent_v2(void *context) {
  stack[depth++] = current;
  current = context;
  return 0;
}
int cuCtxPopCurrent_v2(void **context) {
  *context = current;
  current = stack[--depth];
  return 0;
}
int cuCtxSynchronize(void) { return setting("cuCtxSynchronize", 0); }
int cuThreadExchangeStreamCaptureMode(int *mode) {
  int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  const char *text = image, *target = strstr(text, ".target");
  int is_cubin = memcmp(text, "\177ELF", 4) == 0, error;
  unsigned k;
  if (is_cubin)
    say("cuModuleLoadDataEx cubin%s", text[4] == ' ' ? text + 4 : "");
  else
    say("cuModuleLoadDataEx PTX %.*s", target ? (int)strcspn(target, ",\n") : 7, target ? target : "unknown");
  if (capture_mode != 2)
    say("loaded in a mode that a graph would notice");
  error = setting(is_cubin ? "cubin" : "ptx", 0);
  for (k = 0; k < count && error; ++k)
    if (options[k] == 5)
      strcpy(values[k], "line 7: unknown instruction");
  *module = &started;
  return error;
}
int cuModuleUnload(void *module) { return (void)module, say("cuModuleUnload"), 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  (void)module;
  FAIL(cuModuleGetFunction);
  say("cuModuleGetFunction %s", name);
  *function = (void *)(uintptr_t)name;
  return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  (void)function;
  say("cuFuncSetAttribute %d = %d", attribute, value);
  return 0;
}
int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer) {
  int k, is_mine = pointer < (1ULL << 32);
  for (k = 0; k < block_count; ++k)
    is_mine |=
        (char *)(uintptr_t)pointer >= blocks[k].begin && (char *)(uintptr_t)pointer < blocks[k].begin + blocks[k].bytes;
  if (!is_mine)
    return 1; /* CUDA_ERROR_INVALID_VALUE: never registered */
  *(unsigned *)data = attribute == 2 ? 2 : attribute == 8 ? (unsigned)setting("managed", 0) : 0;
  if (attribute == 9 && pointer < (1ULL << 32))
    *(unsigned *)data = (unsigned)(pointer >> 28);
  return 0;
}
#ifndef WITHOUT_TENSOR_MAPS
/* Writes the number of the map into its first word. */
int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents,
                           const uint64_t *distances, const uint32_t *box, const uint32_t *steps, int interleave,
                           int swizzle, int promotion, int outside) {
  static unsigned long long number;
  FAIL(cuTensorMapEncodeTiled);
  if (rank != 3 || (uintptr_t)map % 64 || steps[0] != 1 || steps[1] != 1 || steps[2] != 1 || interleave || outside)
    return 1;
  say("cuTensorMapEncodeTiled type %d, 0x%llx, extents %llu %llu %llu, distances %llu %llu, box %u %u %u, swizzle %d, "
      "promotion %d",
      type, (unsigned long long)(uintptr_t)address, (unsigned long long)extents[0], (unsigned long long)extents[1],
      (unsigned long long)extents[2], (unsigned long long)distances[0], (unsigned long long)distances[1], box[0],
      box[1], box[2], swizzle, promotion);
  memset(map, 0, 128);
  *(unsigned long long *)map = 0xb0c5000 + ++number;
  return 0;
}
#endif
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
  const char *copy = getenv("FAKE_CUDA_COPY");
  int from, to, bytes;
  static int launches;
  (void)extra;
  FAIL(cuLaunchKernel);
  if (gy != 1 || gz != 1 || by != 1 || bz != 1)
    return 1;
  if (copy && sscanf(copy, "%d %d %d", &from, &to, &bytes) == 3)
    memcpy(*(void **)arguments[to], *(void **)arguments[from], (size_t)bytes);
  if (++launches == setting("race", 0) && copy)
    (*(char **)arguments[to])[6] ^= 1;
  say("cuLaunchKernel %s: %u blocks of %u, %u bytes, stream %lld%s", (const char *)function, gx, bx, shared,
      (long long)(intptr_t)stream, current == (void *)2 ? ", context 0x2" : "");
  for (from = 0; from < setting("arguments", 0); ++from)
    say("  0x%llx", *(unsigned long long *)arguments[from]);
  return 0;
}

int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
  void *memory;
  FAIL(cuMemAlloc);
  if (block_count == 256 || posix_memalign(&memory, 256, bytes ? bytes : 1))
    return 2;
  blocks[block_count].begin = memory;
  blocks[block_count++].bytes = bytes;
  *pointer = (unsigned long long)(uintptr_t)memory;
  return 0;
}
int cuMemFree_v2(unsigned long long pointer) {
  int k;
  for (k = 0; k < block_count; ++k)
    if (blocks[k].begin == (char *)(uintptr_t)pointer) {
      free(blocks[k].begin);
      blocks[k] = blocks[--block_count];
      return 0;
    }
  return 1;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return 0;
}
int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes) {
  memset((void *)(uintptr_t)to, value, bytes);
  return 0;
}
int cuStreamGetCtx(void *stream, void **context) {
  (void)stream;
  *context = (void *)(uintptr_t)setting("streams", 0);
  return *context ? 0 : 400;
}
int cuStreamCreate(void **stream, unsigned flags) { return (void)flags, *stream = (void *)5, 0; }
int cuStreamDestroy_v2(void *stream) { return (void)stream, 0; }
int cuEventCreate(void **event, unsigned flags) { return (void)flags, *event = (void *)6, 0; }
int cuEventDestroy_v2(void *event) { return (void)event, 0; }
int cuEventRecord(void *event, void *stream) { return (void)event, (void)stream, 0; }
int cuEventSynchronize(void *event) { return (void)event, 0; }
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  return (void)from, (void)to, *milliseconds = 2.0f, 0;
}
