/* What an object says of itself at run time: its manifest, then a line for some sizes: batch, workers, workspace, items. */
#include "attend.h"
#include <inttypes.h>
#include <stdio.h>

int main(void) {
  printf("%s\n-----\n", attend_info());
  const int64_t batches[] = {1, 2, 3, 100, 1 << 20};
  for (int n = 0; n < 5; ++n)
    for (int32_t workers = 1; workers <= 64; workers *= 4) {
      attend_args args = attend_args_init();
      args.batch = batches[n];
      skewer_exec exec = skewer_exec_init();
      exec.workers = workers;
      printf("%" PRId64 " %" PRId32 " %zu", args.batch, workers, attend_workspace_bytes(&args, &exec));
      for (int32_t phase = 0; phase < attend_phases(); ++phase)
        printf(" %" PRId64, attend_items(&args, phase));
      printf("\n");
    }
  return 0;
}
