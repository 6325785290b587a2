/* The threads of OpenMP compute the layer. */
#include "problem.h"
#include <omp.h>

/* Gives each thread of the team one range. The team may be smaller than omp_get_max_threads(), for instance inside
   another parallel region: the ranges follow the team that is there. */
static void on_openmp(void *context, int64_t count, void (*body)(void *, int64_t, int64_t, int32_t), void *data) {
  (void)context;
#pragma omp parallel
  {
    int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    int64_t begin = count * me / team, end = count * (me + 1) / team;
    if (begin < end)
      body(data, begin, end, (int32_t)me);
  }
}

int main(void) {
  omp_set_num_threads(4);
  return check_parallel_for("openmp", NULL, omp_get_max_threads(), on_openmp);
}
