/* The same layer on the processor and on a GPU: without NVIDIA's driver the second is a status, not a crash. */
#include "alone.h"
#include "halves.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 2 * 16 * 32 };

int main(void) {
  static union {
    long double alignment;
    skewer_half values[4 * COUNT];
  } memory;
  halves_args args = halves_args_init();
  alone_args other = alone_args_init();
  skewer_exec exec = skewer_exec_init();
  skewer_cuda_exec cuda = skewer_cuda_exec_init();
  skewer_status status, beside;
  char *scratch;
  int k;
  for (k = 0; k < 2 * COUNT; ++k)
    memory.values[k] = 0;
  for (k = 2 * COUNT; k < 3 * COUNT; ++k)
    memory.values[k] = 0x3c00; /* 1: and so is every mean of them */
  args.q = memory.values, args.k = memory.values + COUNT, args.v = memory.values + 2 * COUNT;
  args.out = memory.values + 3 * COUNT;
  exec.workspace_bytes = halves_workspace_bytes(&args, &exec);
  scratch = malloc((size_t)exec.workspace_bytes + 64);
  exec.workspace = scratch + (64 - (uintptr_t)scratch % 64);
  status = halves(&args, &exec);
  free(scratch);
  if (status != SKEWER_OK || args.out[COUNT - 1] != 0x3c00)
    return printf("on the processor: %s\n", halves_status_text(status)), 1;

  if (halves_cuda_workspace_bytes(&args) == SIZE_MAX)
    return puts("the workspace is not known"), 1;
  other.q = args.q, other.k = args.k, other.v = args.v, other.out = args.out;
  status = halves_cuda(&args, &cuda);
  beside = alone_cuda(&other, &cuda);
  printf("%s: %s\n", halves_status_text(status), skewer_cuda_error());
  return status != beside || status != SKEWER_CUDA_NO_DRIVER || !strstr(halves_status_text(status), "no driver");
}
