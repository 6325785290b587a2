// Terms in which a query meets one of a few rows: the logits of all rows that the block reaches are computed before its
// first step. How a row changes from key to key says where they stand then.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuKernel.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

// Steps of the depth that are written one after another in what is done before the first tile.
constexpr int64_t kLogitSteps = 4;

/// The first row that the block's queries reach.
static Value firstRowOf(GpuBuilder &b, const LookupTerm &term, const AttentionShape &shape, Value blockRow,
                        int64_t rows) {
  if (!term.reach || reachedRows(term, shape, rows) == term.rows)
    return {};
  const LookupReach &reach = *term.reach;
  int64_t values = reach.valuesOf(rows, shape.queries);
  Value low = b.i32(0);
  if (values < reach.query.extent)
    low = b.remainder(b.divide(blockRow, reach.query.inner), reach.query.extent);
  Value first;
  if (reach.sign > 0) // key - query
    first = b.sub(b.i32(reach.constant), b.minimum(b.add(low, values - 1), b.i32(reach.query.extent - 1)));
  else
    first = b.add(low, reach.constant - (reach.keyExtent - 1));
  return b.minimum(b.maximum(first, b.i32(0)), b.i32(term.rows - 1));
}

void GpuKernel::planLookup(const LookupTerm &term, const GpuLayout::Lookup &places) {
  LookupPlan part;
  part.term = &term;
  part.queries = planQueries(term.query, term.depth);
  part.source = sourceOf(term.table, false, term.depth);
  part.use = places.use;
  part.reached = places.reached;
  part.first = firstRowOf(b, term, shape.attention, blockRow, tile.rows);
  subscript::Domain domain = subscript::domainOf(shape.attention.space.sizes);
  part.inside = subscript::proveWithin(term.row, {0, term.rows - 1}, domain).outcome == subscript::Proof::Proven;
  part.stride = places.logits.stride;
  part.logits = places.logits.offset;
  part.staging = places.staging;
  lookups.push_back(std::move(part));
}

void GpuKernel::storeLogits(const LookupPlan &part, Value firstRow) {
  b.barrier(); // the rows before have been read
  loadRows(part.staging, part.source, part.first ? b.add(firstRow, part.first) : firstRow, part.term->rows);
  b.commitCopies();
  b.waitForCopies(0);
  b.barrier();
  Value scale = b.f32(unitOf(part.term->scale)), zero = b.f32(0);
  std::vector<Accumulator> sums(tile.tableRows() / 8, {zero, zero, zero, zero});
  sums = productsOf(queries[part.queries], {part.staging, {}, {}}, sums, kLogitSteps);
  Value column = b.shiftLeft(inGroup, 1);
  if (part.use != LookupUse::EveryTile)
    column = b.add(column, firstRow);
  for (size_t n = 0; n < sums.size(); ++n)
    for (size_t k = 0; k < 4; ++k) // only the warp that owns the query reads them again
      b.store(b.mulf(sums[n][k], scale), logitAt(part, k / 2, b.add(column, int64_t(8 * n + k % 2))));
}

Value GpuKernel::logitAt(const LookupPlan &part, size_t row, Value place) {
  Value query = b.add(b.add(b.shiftLeft(warp, 4), group), int64_t(8 * row));
  return b.sharedAt(b.add(b.shiftLeft(b.add(b.mul(query, part.stride), place), 2), part.logits));
}

Value GpuKernel::lookupPlace(const LookupPlan &part, const std::map<std::string, Value> &at) {
  Value place = b.toI32(emitIndex(part.term->row, at));
  if (part.first)
    place = b.sub(place, part.first);
  if (part.inside)
    return place;
  // A row that only a masked pair, or one that the guard leaves out, would read.
  return b.minimum(b.maximum(place, b.i32(0)), b.i32(part.reached - 1));
}

Value GpuKernel::lookedUp(const LookupPlan &part, size_t row, const std::map<std::string, Value> &at) {
  Value logit = b.load(logitAt(part, row, lookupPlace(part, at)), b.getF32Type());
  return part.term->guard ? b.select(emitPredicate(*part.term->guard, at), logit, b.f32(0)) : logit;
}

void GpuKernel::prepareLookup(const LookupPlan &part) {
  int64_t chunks = (part.reached + tile.tableRows() - 1) / tile.tableRows();
  if (part.use != LookupUse::EveryTile) {
    b.loop(b.i32(0), b.i32(chunks), 1, {}, [&](Value chunk, ValueRange) {
      storeLogits(part, b.mul(chunk, tile.tableRows()));
      return SmallVector<Value>();
    });
    return;
  }
  if (everyTile.empty())
    everyTile.assign(size_t(tile.keys / 8), {b.f32(0), b.f32(0), b.f32(0), b.f32(0)});
  // Any tile will do.
  std::vector<std::map<std::string, Value>> at = axesOfTile(b.i32(0));
  SmallVector<Value> sums = b.loop(b.i32(0), b.i32(chunks), 1, flattened(everyTile), [&](Value chunk, ValueRange sums) {
    Value firstRow = b.mul(chunk, tile.tableRows());
    storeLogits(part, firstRow);
    b.warpBarrier();
    SmallVector<Value> next;
    for (auto [n, sum] : llvm::enumerate(sums)) {
      Value place = b.sub(lookupPlace(part, at[n]), firstRow);
      Value here = b.both(b.lessEqual(b.i32(0), place), b.less(place, b.i32(tile.tableRows())));
      if (part.term->guard)
        here = b.both(here, emitPredicate(*part.term->guard, at[n]));
      Value logit = b.load(logitAt(part, n % 4 / 2, b.select(here, place, b.i32(0))), b.getF32Type());
      next.push_back(b.addf(sum, b.select(here, logit, b.f32(0))));
    }
    return next;
  });
  everyTile = gathered(sums);
}

void GpuKernel::addLookups(std::vector<Accumulator> &scores, ArrayRef<std::map<std::string, Value>> at) {
  for (const LookupPlan &part : lookups)
    for (size_t n = 0; part.use == LookupUse::EachScore && n < at.size(); ++n)
      scores[n / 4][n % 4] = b.addf(scores[n / 4][n % 4], lookedUp(part, n % 4 / 2, at[n]));
}

std::array<Value, 2> GpuKernel::logitsOfTile(Value firstKey) {
  std::array<Value, 2> sums;
  for (const LookupPlan &part : lookups)
    for (size_t row = 0; part.use == LookupUse::OncePerTile && row < 2; ++row) {
      Value logit = lookedUp(part, row, axesAt(unsigned(row), firstKey));
      sums[row] = sums[row] ? b.addf(sums[row], logit) : logit;
    }
  return sums;
}
