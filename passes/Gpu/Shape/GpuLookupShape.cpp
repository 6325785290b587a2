// Derives which rows of a looked-up table a block reaches, and where their logits are held.
#include "passes/Gpu/Shape/GpuShape.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace skewer;
using namespace skewer::gpu;

/// Returns the axes of the key that a term's row depends on.
static std::vector<MapAxis> keyAxesOf(const LookupTerm &term, const AttentionShape &shape) {
  std::set<std::string> symbols = subscript::symbolsOf(term.row);
  if (term.guard)
    symbols.merge(subscript::symbolsOf(*term.guard));
  std::vector<MapAxis> axes;
  for (auto [name, axis] : llvm::zip_equal(shape.space.key, shape.keyAxes))
    if (symbols.count(name))
      axes.push_back(axis);
  return axes;
}

/// Returns keysOfRow; 0 if each part would have fewer keys than pay for a number of their own.
static int64_t keysOfRow(const std::vector<MapAxis> &axes, int64_t keys) {
  constexpr int64_t kMostParts = 4, kLeastKeys = 16;
  for (int64_t parts = 1; parts <= kMostParts; parts *= 2) {
    int64_t part = keys / parts;
    if (keys % parts || (parts > 1 && (part % 8 || part < kLeastKeys)))
      break;
    if (llvm::all_of(axes, [&](const MapAxis &axis) { return axis.inner % part == 0; }))
      return part;
  }
  return 0;
}

int64_t skewer::gpu::keysOfRow(const LookupTerm &term, const AttentionShape &shape, int64_t keys) {
  return ::keysOfRow(keyAxesOf(term, shape), keys);
}

int64_t skewer::gpu::periodOf(const LookupTerm &term, const AttentionShape &shape) {
  int64_t period = 1;
  for (const MapAxis &axis : keyAxesOf(term, shape))
    period = std::max(period, axis.inner * axis.extent);
  return period;
}

LookupUse skewer::gpu::lookupUse(const LookupTerm &term, const AttentionShape &shape, int64_t keys) {
  std::vector<MapAxis> axes = keyAxesOf(term, shape);
  if (::keysOfRow(axes, keys))
    return LookupUse::OncePerTile;
  bool every = llvm::all_of(axes, [&](const MapAxis &axis) { return keys % (axis.inner * axis.extent) == 0; });
  return every ? LookupUse::EveryTile : LookupUse::EachScore;
}

int64_t LookupReach::valuesOf(int64_t block, int64_t queries) const {
  int64_t period = query.inner * query.extent;
  if (period % block != 0 && period < queries)
    return query.extent;
  int64_t values = block % query.inner == 0   ? block / query.inner
                   : query.inner % block == 0 ? 1
                                              : (block - 1) / query.inner + 2;
  return std::min(values, query.extent);
}

int64_t skewer::gpu::reachedRows(const LookupTerm &term, const AttentionShape &shape, int64_t queries) {
  if (!term.reach)
    return term.rows;
  return std::min(term.rows, term.reach->valuesOf(queries, shape.queries) + term.reach->keyExtent - 1);
}

double FarRows::nearShare(int64_t queries, int64_t keys, int64_t ofTile) const {
  return std::min(1.0, double(above - below + queries + ofTile) / double(keys));
}

int64_t skewer::gpu::lookupStride(int64_t rows) { return int64_t(llvm::alignTo(rows, 64)) + 9; }
