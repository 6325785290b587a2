/* The tiles of a thread, and faults. Only the C files in this folder include it. */
#ifndef SKEWER_AMX_TILES_H
#define SKEWER_AMX_TILES_H
#include "skewer_amx.h"

enum { SKEWER_AMX_TILES = 8, SKEWER_AMX_ROWS = 16, SKEWER_AMX_ROW_BYTES = 64 };

typedef struct skewer_amx_state {
  skewer_amx_config config; /* palette 0: the tiles have no configuration */
  _Alignas(64) uint8_t data[SKEWER_AMX_TILES][SKEWER_AMX_ROWS][SKEWER_AMX_ROW_BYTES];
} skewer_amx_state;

/* Returns the tiles of this thread. */
skewer_amx_state *skewer_amx_tiles(void);
/* Calls the handler of faults with a text made as by printf. */
__attribute__((format(printf, 1, 2))) void skewer_amx_fault(const char *format, ...);
/* Returns whether a tile exists and has rows of whole 32-bit elements; otherwise it is a fault of the instruction. */
int skewer_amx_usable(const char *instruction, int32_t tile);
/* Sets to 0 what is behind the rows and columns of a tile, and the row where an interrupted instruction goes on. */
void skewer_amx_finish(int32_t tile);

#endif
