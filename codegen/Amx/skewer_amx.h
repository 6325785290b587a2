/* AMX without a processor that has it: functions that do what the instructions of the same names do, for one thread
   each. Code whose intrinsics are replaced by calls of these functions runs on any machine. Source: Intel 64 and IA-32
   Architectures Software Developer's Manual, volume 2, instructions LDTILECFG to TILEZERO. Compiles as C and as C++.

   A tile is a number from 0 to 7. Each thread has its own tiles, which begin without a configuration. An instruction
   that the processor would refuse with an exception calls the handler of faults, and does nothing else. */
#ifndef SKEWER_AMX_H
#define SKEWER_AMX_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The memory that LDTILECFG reads and STTILECFG writes. Bytes without a name must be 0. */
typedef struct skewer_amx_config {
  uint8_t palette;   /* 1: eight tiles of at most 16 rows of 64 bytes; 0: no tiles */
  uint8_t start_row; /* where an interrupted load or store goes on; otherwise 0 */
  uint8_t reserved[14];
  uint16_t row_bytes[8];
  uint16_t no_row_bytes[8]; /* of tiles that palette 1 does not have */
  uint8_t rows[8];
  uint8_t no_rows[8];
} skewer_amx_config;

/* Called with a text that names the instruction and what is wrong: "tilezero: tile 3 has no configuration". */
typedef void skewer_amx_fault_handler(const char *text);
/* Sets the handler of all threads and returns the one before. Null: the text goes to stderr and the process aborts. */
skewer_amx_fault_handler *skewer_amx_on_fault(skewer_amx_fault_handler *handler);

/* Does what the system does when a process asks for the permission to use tiles: returns 0, it is given. A program that
   defines this function itself can refuse it with another number. */
int64_t skewer_amx_request(void);

/* Configure the tiles and set all of them to 0; write the configuration; leave no tiles. */
void skewer_amx_ldtilecfg(const void *config);
void skewer_amx_sttilecfg(void *config);
void skewer_amx_tilerelease(void);

/* Set a tile to 0; load its rows, `stride` bytes apart, and set everything behind its rows and columns to 0; store its
   rows. The hint of TILELOADDT1 that lines need not stay in the cache changes no result. */
void skewer_amx_tilezero(int32_t tile);
void skewer_amx_tileloadd(int32_t tile, const void *memory, int64_t stride);
void skewer_amx_tileloaddt1(int32_t tile, const void *memory, int64_t stride);
void skewer_amx_tilestored(int32_t tile, void *memory, int64_t stride);

/* sums[m][n] += Σ_k a[m][k] · b[k][n]. An element of a and b is 32 bits: a pair of bf16 or four bytes, whose products
   are added up; sums are f32 or 32-bit integers that wrap around. The bytes of a and b are signed (s) or not (u), in
   the order of the names' letters. */
void skewer_amx_tdpbf16ps(int32_t sums, int32_t a, int32_t b);
void skewer_amx_tdpbssd(int32_t sums, int32_t a, int32_t b);
void skewer_amx_tdpbsud(int32_t sums, int32_t a, int32_t b);
void skewer_amx_tdpbusd(int32_t sums, int32_t a, int32_t b);
void skewer_amx_tdpbuud(int32_t sums, int32_t a, int32_t b);

#ifdef __cplusplus
}
#endif
#endif
