/* The configuration of tiles, what moves them, and faults. */
#include "skewer_amx.h"
#include "skewer_amx_tiles.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(skewer_amx_config) == 64, "LDTILECFG reads 64 bytes");

static _Thread_local skewer_amx_state tiles;
static _Atomic(skewer_amx_fault_handler *) fault_handler;

skewer_amx_state *skewer_amx_tiles(void) { return &tiles; }

skewer_amx_fault_handler *skewer_amx_on_fault(skewer_amx_fault_handler *handler) {
  return atomic_exchange(&fault_handler, handler);
}

void skewer_amx_fault(const char *format, ...) {
  char text[128];
  va_list values;
  skewer_amx_fault_handler *handler = atomic_load(&fault_handler);
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (handler) {
    handler(text);
    return;
  }
  fprintf(stderr, "skewer: AMX: %s\n", text);
  abort();
}

int skewer_amx_usable(const char *instruction, int32_t tile) {
  if (tile < 0 || tile >= SKEWER_AMX_TILES)
    skewer_amx_fault("%s: there is no tile %d", instruction, tile);
  else if (tiles.config.palette == 0)
    skewer_amx_fault("%s: this thread has not configured its tiles", instruction);
  else if (tiles.config.rows[tile] == 0)
    skewer_amx_fault("%s: tile %d has no configuration", instruction, tile);
  else if (tiles.config.row_bytes[tile] % 4 != 0)
    skewer_amx_fault("%s: tile %d has rows of %d bytes; expected a multiple of 4", instruction, tile,
                     tiles.config.row_bytes[tile]);
  else
    return 1;
  return 0;
}

void skewer_amx_finish(int32_t tile) {
  int row, rows = tiles.config.rows[tile], bytes = tiles.config.row_bytes[tile];
  for (row = 0; row < rows; ++row)
    memset(tiles.data[tile][row] + bytes, 0, (size_t)(SKEWER_AMX_ROW_BYTES - bytes));
  memset(tiles.data[tile][rows], 0, (size_t)(SKEWER_AMX_ROWS - rows) * SKEWER_AMX_ROW_BYTES);
  tiles.config.start_row = 0;
}

/* Returns whether the processor takes a configuration of palette 1. */
static int valid(const skewer_amx_config *config) {
  static const uint8_t zeros[16];
  int k;
  if (memcmp(config->reserved, zeros, sizeof config->reserved) != 0 ||
      memcmp(config->no_row_bytes, zeros, sizeof config->no_row_bytes) != 0 ||
      memcmp(config->no_rows, zeros, sizeof config->no_rows) != 0) {
    skewer_amx_fault("ldtilecfg: reserved bytes are not 0");
    return 0;
  }
  for (k = 0; k < SKEWER_AMX_TILES; ++k) {
    int rows = config->rows[k], bytes = config->row_bytes[k];
    if (rows > SKEWER_AMX_ROWS || bytes > SKEWER_AMX_ROW_BYTES || (rows == 0) != (bytes == 0)) {
      skewer_amx_fault("ldtilecfg: tile %d has %d rows of %d bytes; expected at most 16 of at most 64, or none", k,
                       rows, bytes);
      return 0;
    }
  }
  return 1;
}

void skewer_amx_ldtilecfg(const void *memory) {
  skewer_amx_config config;
  memcpy(&config, memory, sizeof config);
  if (config.palette > 1) {
    skewer_amx_fault("ldtilecfg: there is no palette %d", config.palette);
    return;
  }
  if (config.palette == 1 && !valid(&config))
    return;
  memset(&tiles, 0, sizeof tiles);
  if (config.palette == 1)
    tiles.config = config;
}

void skewer_amx_sttilecfg(void *memory) { memcpy(memory, &tiles.config, sizeof tiles.config); }

__attribute__((weak)) int64_t skewer_amx_request(void) { return 0; }

void skewer_amx_tilerelease(void) { memset(&tiles, 0, sizeof tiles); }

void skewer_amx_tilezero(int32_t tile) {
  if (!skewer_amx_usable("tilezero", tile))
    return;
  memset(tiles.data[tile], 0, sizeof tiles.data[tile]);
  tiles.config.start_row = 0;
}

/* Returns whether a load or store of a tile has a row to begin with. */
static int has_rows(const char *instruction, int32_t tile) {
  if (!skewer_amx_usable(instruction, tile))
    return 0;
  if (tiles.config.start_row < tiles.config.rows[tile])
    return 1;
  skewer_amx_fault("%s: start_row is %d, but tile %d has %d rows", instruction, tiles.config.start_row, tile,
                   tiles.config.rows[tile]);
  return 0;
}

static void load(const char *instruction, int32_t tile, const void *memory, int64_t stride) {
  int row;
  if (!has_rows(instruction, tile))
    return;
  for (row = tiles.config.start_row; row < tiles.config.rows[tile]; ++row)
    memcpy(tiles.data[tile][row], (const char *)memory + row * stride, tiles.config.row_bytes[tile]);
  skewer_amx_finish(tile);
}

void skewer_amx_tileloadd(int32_t tile, const void *memory, int64_t stride) { load("tileloadd", tile, memory, stride); }

void skewer_amx_tileloaddt1(int32_t tile, const void *memory, int64_t stride) {
  load("tileloaddt1", tile, memory, stride);
}

void skewer_amx_tilestored(int32_t tile, void *memory, int64_t stride) {
  int row;
  if (!has_rows("tilestored", tile))
    return;
  for (row = tiles.config.start_row; row < tiles.config.rows[tile]; ++row)
    memcpy((char *)memory + row * stride, tiles.data[tile][row], tiles.config.row_bytes[tile]);
  tiles.config.start_row = 0;
}
