// Derives which rows of a looked-up table a block reaches, and where their logits are held.
#include "passes/Gpu/Shape/GpuShape.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace skewer;
using namespace skewer::gpu;

LookupUse skewer::gpu::lookupUse(const LookupTerm &term, const AttentionShape &shape, int64_t keys) {
  std::set<std::string> symbols = subscript::symbolsOf(term.row);
  if (term.guard)
    symbols.merge(subscript::symbolsOf(*term.guard));
  bool once = true, every = true;
  for (auto [name, axis] : llvm::zip_equal(shape.space.key, shape.keyAxes)) {
    if (!symbols.count(name))
      continue;
    once &= axis.inner % keys == 0;
    every &= keys % (axis.inner * axis.extent) == 0;
  }
  return once ? LookupUse::OncePerTile : every ? LookupUse::EveryTile : LookupUse::EachScore;
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
