/* Products of tiles. Sums of bf16 are computed in double and rounded once to f32: the product of two bf16 is exact, and
   a sum of two numbers of at most 24 bits that is rounded to 53 bits and then to 24 is the sum rounded to 24 (Figueroa,
   When is double rounding innocuous?, SIGNUM Newsletter 30 (3), 1995: 53 >= 2*24 + 1). */
#include "skewer_amx.h"
#include "skewer_amx_tiles.h"
#include <fenv.h>
#include <math.h>
#include <string.h>

/* Returns whether the shapes of three tiles fit: m × n, m × k and k × n elements of 32 bits. */
static int fit(const char *instruction, int32_t sums, int32_t a, int32_t b) {
  const skewer_amx_config *config = &skewer_amx_tiles()->config;
  if (!skewer_amx_usable(instruction, sums) || !skewer_amx_usable(instruction, a) || !skewer_amx_usable(instruction, b))
    return 0;
  if (sums == a || sums == b || a == b) {
    skewer_amx_fault("%s: tiles %d, %d and %d are not three different ones", instruction, sums, a, b);
    return 0;
  }
  if (config->rows[sums] == config->rows[a] && config->row_bytes[sums] == config->row_bytes[b] &&
      config->row_bytes[a] / 4 == config->rows[b])
    return 1;
  skewer_amx_fault("%s: %d x %d sums of %d x %d and %d x %d elements", instruction, config->rows[sums],
                   config->row_bytes[sums] / 4, config->rows[a], config->row_bytes[a] / 4, config->rows[b],
                   config->row_bytes[b] / 4);
  return 0;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Returns the bits of a number; of a denormal one, those of 0 with its sign. */
static uint32_t without_denormal(uint32_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

/* Returns a sum rounded to nearest even. If the rounded sum is denormal, it is 0 with its sign. */
static float rounded(double sum) {
  /* 2^-126 - 2^-151 lies between the largest denormal number of 24 bits and FLT_MIN. */
  double size = fabs(sum), least = size >= 0x1p-126 - 0x1p-151 ? 0x1p-126 : 0;
  return (float)(size < 0x1p-126 ? copysign(least, sum) : sum);
}

static int is_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }
static uint32_t quiet(uint32_t bits) { return bits | 0x00400000; }

/* Returns x·y + sum where a result may be NaN. The manual does not say which NaN it is: here it is the first NaN of x,
   y and sum, and a negative one for invalid operations, as for VFMADD231PS. */
static uint32_t multiply_add(uint32_t x, uint32_t y, uint32_t sum) {
  double product = (double)float_of(x) * float_of(y);
  if (is_nan(x))
    return quiet(x);
  if (is_nan(y))
    return quiet(y);
  if (is_nan(sum))
    return quiet(sum);
  if (isnan(product + float_of(sum)))
    return 0xffc00000;
  return bits_of(rounded(product + float_of(sum)));
}

static uint32_t add(uint32_t x, uint32_t y) { return multiply_add(x, 0x3f800000, y); }

/* A row of a, b, a row of sums, and the extents. The bits of b and the row are without denormal numbers. */
typedef struct product {
  uint32_t even[16], odd[16]; /* f32 of the row of a: the first and the second elements of pairs */
  float b_even[16][16], b_odd[16][16];
  int depth, columns;
} product;

/* Adds a row of products where no result is NaN. Returns 0, with sums undefined, if one is. */
static int add_numbers(const product *p, float *sums) {
  float even[16] = {0}, odd[16] = {0};
  int k, n, good = 1;
  for (k = 0; k < p->depth; ++k) {
    double x = float_of(p->even[k]), y = float_of(p->odd[k]);
    for (n = 0; n < p->columns; ++n) {
      even[n] = rounded(x * p->b_even[k][n] + even[n]);
      odd[n] = rounded(y * p->b_odd[k][n] + odd[n]);
    }
  }
  for (n = 0; n < p->columns; ++n) {
    sums[n] = rounded((double)sums[n] + rounded((double)even[n] + odd[n]));
    good &= sums[n] == sums[n];
  }
  return good;
}

static uint32_t sum_with_nan(const product *p, int n, uint32_t before) {
  uint32_t even = 0, odd = 0;
  int k;
  for (k = 0; k < p->depth; ++k) {
    even = multiply_add(p->even[k], bits_of(p->b_even[k][n]), even);
    odd = multiply_add(p->odd[k], bits_of(p->b_odd[k][n]), odd);
  }
  return add(before, add(even, odd));
}

/* Not inlined, so that its arithmetic stays between the calls that set the rounding mode. */
__attribute__((noinline)) static void multiply_bf16(skewer_amx_state *tiles, int32_t sums, int32_t a, int32_t b) {
  product p;
  uint32_t row[16], pairs[16];
  float numbers[16];
  int m, k, n;
  p.depth = tiles->config.rows[b];
  p.columns = tiles->config.row_bytes[sums] / 4;
  for (k = 0; k < p.depth; ++k) {
    memcpy(pairs, tiles->data[b][k], sizeof pairs);
    for (n = 0; n < p.columns; ++n) {
      p.b_even[k][n] = float_of(without_denormal(pairs[n] << 16));
      p.b_odd[k][n] = float_of(without_denormal(pairs[n] & 0xffff0000));
    }
  }
  for (m = 0; m < tiles->config.rows[sums]; ++m) {
    memcpy(pairs, tiles->data[a][m], sizeof pairs);
    for (k = 0; k < p.depth; ++k) {
      p.even[k] = without_denormal(pairs[k] << 16);
      p.odd[k] = without_denormal(pairs[k] & 0xffff0000);
    }
    memcpy(row, tiles->data[sums][m], sizeof row);
    for (n = 0; n < 16; ++n) {
      row[n] = without_denormal(row[n]);
      numbers[n] = float_of(row[n]);
    }
    if (!add_numbers(&p, numbers))
      for (n = 0; n < p.columns; ++n) {
        row[n] = sum_with_nan(&p, n, row[n]);
        numbers[n] = float_of(row[n]);
      }
    memcpy(tiles->data[sums][m], numbers, sizeof numbers);
  }
}

void skewer_amx_tdpbf16ps(int32_t sums, int32_t a, int32_t b) {
  fenv_t environment;
  if (!fit("tdpbf16ps", sums, a, b))
    return;
  /* The instruction neither reads nor changes the rounding mode and the flags of the thread. */
  fegetenv(&environment);
  fesetenv(FE_DFL_ENV);
  multiply_bf16(skewer_amx_tiles(), sums, a, b);
  fesetenv(&environment);
  skewer_amx_finish(sums);
}

static int32_t byte_of(const uint8_t *memory, int is_signed) { return is_signed ? (int8_t)*memory : *memory; }

static void multiply_bytes(const char *instruction, int32_t sums, int32_t a, int32_t b, int signed_a, int signed_b) {
  skewer_amx_state *tiles = skewer_amx_tiles();
  int m, k, n, part;
  if (!fit(instruction, sums, a, b))
    return;
  for (m = 0; m < tiles->config.rows[sums]; ++m) {
    uint32_t row[16];
    memcpy(row, tiles->data[sums][m], sizeof row);
    for (k = 0; k < tiles->config.rows[b]; ++k)
      for (n = 0; n < tiles->config.row_bytes[sums] / 4; ++n)
        for (part = 0; part < 4; ++part)
          row[n] += (uint32_t)(byte_of(&tiles->data[a][m][4 * k + part], signed_a) *
                               byte_of(&tiles->data[b][k][4 * n + part], signed_b));
    memcpy(tiles->data[sums][m], row, sizeof row);
  }
  skewer_amx_finish(sums);
}

void skewer_amx_tdpbssd(int32_t sums, int32_t a, int32_t b) { multiply_bytes("tdpbssd", sums, a, b, 1, 1); }
void skewer_amx_tdpbsud(int32_t sums, int32_t a, int32_t b) { multiply_bytes("tdpbsud", sums, a, b, 1, 0); }
void skewer_amx_tdpbusd(int32_t sums, int32_t a, int32_t b) { multiply_bytes("tdpbusd", sums, a, b, 0, 1); }
void skewer_amx_tdpbuud(int32_t sums, int32_t a, int32_t b) { multiply_bytes("tdpbuud", sums, a, b, 0, 0); }
