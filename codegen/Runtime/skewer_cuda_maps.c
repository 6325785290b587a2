/* Makes the tensor maps of a launch, with which a kernel copies boxes of tensors. Compiles as C99 and as C++. */
#include "skewer_cuda_driver.h"

/* The numbers of cuda.h for cuTensorMapEncodeTiled. */
enum { RANK = 3, INTERLEAVE_NONE = 0, L2_PROMOTION_128B = 2, OUTSIDE_IS_ZERO = 0 };

/* Makes one map. Returns 0 if the tensor is none that a map takes, or the driver refuses it: an extent beyond 2^31,
   which coordinates of 32 bits do not reach, or an address that is no multiple of 16. */
static int make_map(const skewer_cuda_map *map, const void *args, const uint64_t *values,
                    skewer_cuda_tensor_map *result) {
  uint64_t extents[RANK], distances[RANK - 1], address;
  uint32_t box[RANK], steps[RANK] = {1, 1, 1};
  int64_t offset, rows, places;
  if (!skewer_cuda_evaluate(&map->offset, args, &offset) || !skewer_cuda_evaluate(&map->rows, args, &rows) ||
      !skewer_cuda_evaluate(&map->places, args, &places))
    return 0;
  address = values[map->argument] + (uint64_t)offset;
  if (address % 16 != 0 || map->columns < 1 || map->columns > INT32_MAX || rows < 1 || rows > INT32_MAX || places < 1 ||
      places > INT32_MAX)
    return 0;
  extents[0] = (uint64_t)map->columns, extents[1] = (uint64_t)rows, extents[2] = (uint64_t)places;
  distances[0] = (uint64_t)map->row_bytes, distances[1] = (uint64_t)map->place_bytes;
  box[0] = map->box_columns, box[1] = map->box_rows, box[2] = 1;
  return skewer_cuda_driver.cuTensorMapEncodeTiled(result, (int)map->type, RANK, (void *)(uintptr_t)address, extents,
                                                   distances, box, steps, INTERLEAVE_NONE, (int)map->swizzle,
                                                   L2_PROMOTION_128B, OUTSIDE_IS_ZERO) == 0;
}

int skewer_cuda_make_maps(const skewer_cuda_launch *launch, const void *args, const uint64_t *values,
                          skewer_cuda_tensor_map *maps) {
  uint32_t k;
  for (k = 0; k < launch->map_count; ++k)
    if (!make_map(&launch->maps[k], args, values, &maps[k]))
      return 0;
  return launch->map_count > 0;
}
