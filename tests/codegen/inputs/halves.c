/* A kernel whose operands are halves of both kinds: whole numbers go in, their products come out exactly, and what cannot
   be held is rounded once, to even. */
#include "halves.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, N = 12, DIM = 8, WIDTH = 4 };
static skewer_half x[BATCH * N * DIM], w[DIM * WIDTH], out[BATCH * N * WIDTH];
static float b[WIDTH];

static skewer_half brain(float value) { /* exact for what has 8 bits */
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return (skewer_half)(bits >> 16);
}
static skewer_half half(int value) { /* of whole numbers up to 65504, rounded to 11 bits, ties to even */
  unsigned sign = value < 0 ? 0x8000u : 0, magnitude = value < 0 ? (unsigned)-value : (unsigned)value;
  if (!magnitude)
    return (skewer_half)sign;
  unsigned exponent = 0;
  while (magnitude >> (exponent + 1))
    ++exponent;
  unsigned shift = exponent > 10 ? exponent - 10 : 0, rest = magnitude & ((1u << shift) - 1), tie = shift ? 1u << (shift - 1) : 0;
  unsigned significand = magnitude >> shift;
  if (rest > tie || (shift && rest == tie && (significand & 1)))
    ++significand;
  significand <<= exponent < 10 ? 10 - exponent : 0;
  return (skewer_half)(sign + ((exponent + 15) << 10) + (significand - 1024)); /* a carry goes into the exponent */
}

int main(void) {
  int wrong = 0;
  for (int scale = 1; scale <= 64; scale *= 8) { /* sums of up to 2^15: more than 11 bits hold */
    for (int e = 0; e < BATCH * N * DIM; ++e)
      x[e] = half((e * 7 % 17 - 8) * scale);
    for (int e = 0; e < DIM * WIDTH; ++e)
      w[e] = brain((float)(e * 5 % 13 - 6));
    for (int e = 0; e < WIDTH; ++e)
      b[e] = (float)(e - 1);
    halves_args args = halves_args_init();
    args.x = x, args.double_ = w, args.version_ = b, args.out = out, args.batch = BATCH;
    skewer_exec exec = skewer_exec_init();
    exec.workspace_bytes = (halves_workspace_bytes(&args, &exec) + 63) / 64 * 64;
    exec.workspace = exec.workspace_bytes ? aligned_alloc(64, exec.workspace_bytes) : NULL;
    memset(out, 0xff, sizeof(out));
    skewer_status status = halves(&args, &exec);
    if (status != SKEWER_OK)
      printf("status %d\n", (int)status), ++wrong;
    for (int row = 0; row < BATCH * N; ++row)
      for (int column = 0; column < WIDTH; ++column) {
        int sum = column - 1;
        for (int d = 0; d < DIM; ++d)
          sum += ((row * DIM + d) * 7 % 17 - 8) * scale * ((d * WIDTH + column) * 5 % 13 - 6);
        if (out[row * WIDTH + column] != half(sum))
          printf("scale %d, [%d, %d]: %#06x, expected %#06x of %d\n", scale, row, column, (unsigned)out[row * WIDTH + column],
                 (unsigned)half(sum), sum), ++wrong;
      }
    /* An odd address is no half's. */
    args.x = (const skewer_half *)((const char *)x + 1);
    if (halves(&args, &exec) != SKEWER_MISALIGNED_TENSOR)
      printf("an odd pointer is accepted\n"), ++wrong;
    free(exec.workspace);
  }
  printf("%d wrong\n", wrong);
  return 0;
}
