/* A kernel for levels of x86-64 and for a processor with AMX. REFUSES_AMX: the program never uses tiles. */
#include "bf16_layer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef REFUSES_AMX
int skewer_refuse_amx = 1;
#endif

enum { count = 2 * 64 * 64 };

int main(void) {
  static skewer_half ones[count], out[count];
  bf16_layer_args args = bf16_layer_args_init();
  skewer_exec exec = skewer_exec_init();
  skewer_status status;
  char *memory;
  int wrong = 0, n;
  for (n = 0; n < count; ++n)
    ones[n] = 0x3f80;
  args.q = args.k = args.v = ones;
  args.out = out;
  exec.workspace_bytes = bf16_layer_workspace_bytes(&args, &exec);
  memory = malloc(exec.workspace_bytes + 64);
  exec.workspace = memory + (64 - (uintptr_t)memory % 64);
  status = bf16_layer(&args, &exec);
  for (n = 0; n < count; ++n)
    wrong |= out[n] != 0x3f80;
  printf("%s: %s\n", bf16_layer_code(), bf16_layer_status_text(status));
#ifdef REFUSES_AMX
  wrong |= strstr(bf16_layer_code(), "/amx") != NULL;
#endif
  free(memory);
  return status != SKEWER_OK || wrong;
}
