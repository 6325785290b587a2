/* Calls SAM's global attention from C99, with nothing but the object file, libc and libm:
     skewer compile sam_global.attn --target=host -o out
     cc -std=c99 -O2 -Iout use_sam.c out/sam_global.o -lm -o use_sam && ./use_sam
   With all values 1 every output is 1 (weights sum to 1), whatever queries, keys and tables hold. */
#include "sam_global.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ViT-B: 12 heads of 64 on a map of 64 x 64; one relative row for each of 127 offsets along an axis. */
enum { HEADS = 12, DIM = 64, MAP = 64, TENSOR = HEADS * MAP * MAP * DIM, TABLE = (2 * MAP - 1) * DIM };

static float q[TENSOR], k[TENSOR], v[TENSOR], rel_h[TABLE], rel_w[TABLE], out[TENSOR];

int main(void) {
  sam_global_args args = sam_global_args_init();
  skewer_exec exec = skewer_exec_init();
  skewer_status status;
  char *memory;
  float worst = 0;
  int n;
  for (n = 0; n < TENSOR; ++n)
    q[n] = sinf((float)n), k[n] = cosf((float)n), v[n] = 1;
  for (n = 0; n < TABLE; ++n)
    rel_h[n] = sinf(2.0f * (float)n), rel_w[n] = cosf(2.0f * (float)n);
  args.q = q, args.k = k, args.v = v, args.rel_h = rel_h, args.rel_w = rel_w, args.out = out;
  args.batch = 1;

  exec.workspace_bytes = sam_global_workspace_bytes(&args, &exec);
  memory = malloc((size_t)exec.workspace_bytes + 64);
  if (!memory)
    return 1;
  exec.workspace = memory + (64 - (uintptr_t)memory % 64);
  status = sam_global(&args, &exec);
  free(memory);

  for (n = 0; n < TENSOR; ++n)
    worst = fmaxf(worst, fabsf(out[n] - 1));
  printf("%s; %llu bytes of workspace; largest |out - 1| is %g\n", skewer_status_text(status),
         (unsigned long long)exec.workspace_bytes, (double)worst);
  return status == SKEWER_OK && worst < 1e-4f ? 0 : 1;
}
