/* Calls a kernel of each library; a library of another size has another name. */
#include "alone.h"
#include "eight_first.h"
#include "first.h"
#include "four_one.h"
#include "order_second.h"
#include "several_second.h"
#include <stdio.h>

#define CALL(kernel, elements, factor)                                                                                 \
  do {                                                                                                                 \
    float q[elements], out[elements];                                                                                  \
    kernel##_args args = kernel##_args_init();                                                                         \
    skewer_exec exec = skewer_exec_init();                                                                             \
    skewer_status status;                                                                                              \
    char text[200];                                                                                                    \
    int k;                                                                                                             \
    for (k = 0; k < elements; ++k)                                                                                     \
      q[k] = (float)k;                                                                                                 \
    args.q = q;                                                                                                        \
    args.out = out;                                                                                                    \
    status = kernel(&args, &exec);                                                                                     \
    if (status != SKEWER_OK)                                                                                           \
      return fprintf(stderr, "%s\n", kernel##_explain(&args, &exec, status, text, sizeof text)), 1;                    \
    for (k = 0; k < elements; ++k)                                                                                     \
      if (out[k] != (float)(factor * k))                                                                               \
        return fprintf(stderr, #kernel ": element %d is %g, expected %d\n", k, out[k], factor * k), 1;                 \
  } while (0)

int main(void) {
  CALL(first, 16, 2);
  CALL(order_second, 16, 3);
  CALL(several_second, 16, 3);
  CALL(alone, 4, 5);
  CALL(eight_first, 8, 2);
  CALL(four_one, 4, 2);
  puts("all right");
  return 0;
}
