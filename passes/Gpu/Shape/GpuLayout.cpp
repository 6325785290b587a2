// Assigns the places in shared memory, one after another.
#include "passes/Gpu/Shape/GpuLayout.h"
#include "passes/Analysis/FunctionRange.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cassert>

using namespace skewer;
using namespace skewer::gpu;

// Columns of the values are computed in pairs of tiles of 8.
constexpr int64_t kColumnPair = 16;

SharedTile SharedPlaces::place(int64_t rows, int64_t depth, int64_t copies, int64_t multiple) {
  SharedTile result;
  result.offset = end;
  result.rows = rows;
  result.depth = depth;
  result.elementBytes = elementBytes;
  result.width = int64_t(llvm::alignTo(depth, std::max(multiple, 32 / elementBytes)));
  result.copies = copies;
  if (swizzles) {
    int64_t rowBytes = result.width * elementBytes; // a multiple of 32
    result.panel = rowBytes % 128 == 0 ? 128 : rowBytes % 64 == 0 ? 64 : 32;
    result.offset = end = int64_t(llvm::alignTo(end, 8 * result.panel));
  }
  end += copies * result.bytes();
  return result;
}

int64_t SharedPlaces::placeNumbers(int64_t rows, int64_t stride) {
  int64_t offset = end;
  end += int64_t(llvm::alignTo(rows * stride * 4, 16));
  return offset;
}

size_t GpuLayout::numberOf(const Walk &walk, int64_t depth) const {
  auto found = llvm::find_if(queries, [&](const Queries &known) { return known.walk == walk && known.depth == depth; });
  assert(found != queries.end());
  return size_t(found - queries.begin());
}

int64_t skewer::gpu::barrierBytes(const GpuTile &tile) {
  return 16 * tile.stages * (tile.handsOverApart ? 2 : 1); // two barriers of 8 bytes for each copy
}

/// Returns the bytes of the barriers, and of a number of each warp.
static int64_t signalBytes(const GpuTile &tile) {
  return int64_t(llvm::alignTo(barrierBytes(tile) + 4 * tile.warps(), 16));
}

/// Returns whether a score of an existing key may be hidden.
static bool mayHideKeys(const AttentionShape &attention) {
  return attention.visible || attention.bounds.tiles || !attention.masks.empty() || hidesByFunction(attention);
}

namespace {

class Planner {
public:
  /// `begin`: bytes at the beginning that others use.
  Planner(const GpuShape &shape, const GpuTile &tile, int64_t begin = 0)
      : shape(shape), tile(tile), at(shape.element.isF32() ? 4 : 2, tile.facts().swizzles),
        columns(tile.columnsOf(shape.attention.width)) {
    at.end = begin;
  }

  GpuLayout plan() {
    planSignals();
    planResident();
    operandsBegin = operandsEnd = at.end;
    planOperands();
    at.end = std::max(at.end, operandsEnd);
    planNumbers();
    int64_t ofSteps = at.end, beforeSteps = planTables();
    layout.bytes = std::max(ofSteps, beforeSteps);
    return std::move(layout);
  }

private:
  void planQueries(const Walk &walk, int64_t depth) {
    for (const GpuLayout::Queries &known : layout.queries)
      if (known.walk == walk && known.depth == depth)
        return;
    layout.queries.push_back({walk, depth, at.place(tile.rows, depth, 1)});
  }

  void planLookup(const LookupTerm &term) {
    if (!term.numbers)
      planQueries(term.query, term.depth);
    GpuLayout::Lookup part;
    part.use = lookupUse(term, shape.attention, tile.keys);
    part.columns = tile.keys;
    if (part.use == LookupUse::OncePerTile)
      part.columns = keysOfRow(term, shape.attention, tile.keys);
    else if (int64_t period = periodOf(term, shape.attention); part.use == LookupUse::EveryTile && period % 8 == 0)
      part.columns = std::min(tile.keys, period);
    if (part.use == LookupUse::OncePerTile)
      layout.rowColumns = std::min(layout.rowColumns, part.columns);
    part.reached = reachedRows(term, shape.attention, tile.rows);
    bool resident = term.numbers ? part.use == LookupUse::EachScore : part.use != LookupUse::EveryTile;
    part.logits.stride = lookupStride(resident ? part.reached : tile.tableRows());
    if (resident)
      part.logits.offset = at.placeNumbers(tile.rows, part.logits.stride);
    layout.lookups.push_back(part);
  }

  /// Places lines that have the numbers of all steps, if they are short.
  void planWholeLines() {
    // Each block computes them once, instead of a window of rows + keys numbers for each step; 8192 offsets of one line
    // take as much memory as two tiles of 128 keys of 64 elements.
    constexpr int64_t kMostNumbers = 8192;
    int64_t numbers = int64_t(llvm::alignTo(shape.attention.keys, tile.keys)) + tile.rows, count = lineCount();
    if (!count || tile.keyParts > 1 || count * numbers > kMostNumbers)
      return;
    layout.hasWholeLines = true;
    for (int64_t line = 0; line < count; ++line)
      layout.lines.push_back(at.placeNumbers(1, numbers));
  }

  int64_t lineCount() const { return int64_t((shape.lines.empty() ? 0 : 1) + shape.gatedLines.size()); }

  void planResident() {
    layout.rowColumns = tile.keys;
    planWholeLines();
    for (const ContentTerm &term : shape.attention.content)
      planQueries(term.query, term.depth);
    for (const BandTerm &term : shape.bands)
      if (!term.ofKey)
        planQueries(term.query, term.depth);
    for (const LookupTerm &term : shape.lookups)
      planLookup(term);
  }

  /// Moves on to the next operand. Single-buffered operands all begin at the same place.
  void next() {
    operandsEnd = std::max(operandsEnd, at.end);
    if (tile.isSingleBuffered())
      at.end = operandsBegin;
  }

  GpuLayout::Band bandOf(const BandTerm &term) {
    GpuLayout::Band part;
    part.window = at.place(tile.window(), term.depth, tile.stages);
    if (!term.ofKey)
      return part;
    for (auto [number, known] : llvm::enumerate(shape.attention.content))
      if (!tile.isSingleBuffered() && known.key == term.query && known.depth == term.depth) {
        part.keys = layout.content[number];
        part.sharedWith = number;
      }
    if (!part.sharedWith)
      part.keys = at.place(tile.keys, term.depth, tile.stages);
    // 16 keys and the block's queries have rows + 15 offsets. With a stride of 3 banks (mod 16) from key to key, the
    // lanes that read a tile of scores have no bank conflict.
    part.logits.stride = int64_t(llvm::alignTo(tile.rows + 16, 16)) + 3;
    part.logits.offset = at.placeNumbers(tile.keys, part.logits.stride);
    return part;
  }

  void planOperands() {
    for (const ContentTerm &term : shape.attention.content) {
      next();
      layout.content.push_back(at.place(tile.keys, term.depth, tile.stages));
    }
    next();
    layout.values = at.place(tile.keys, columns, tile.stages, kColumnPair);
    for (size_t term = 0; term < shape.valueRows.size(); ++term) {
      next();
      layout.valueRows.push_back(at.place(tile.keys, columns, tile.stages, kColumnPair));
    }
    for (size_t term = 0; term < shape.valueBands.size(); ++term) {
      next();
      layout.valueBands.push_back(at.place(tile.window(), columns, tile.stages, kColumnPair));
    }
    for (const BandTerm &term : shape.bands) {
      next();
      layout.bands.push_back(bandOf(term));
    }
  }

  void planNumbers() {
    for (int64_t line = 0; line < lineCount() && !layout.hasWholeLines; ++line) {
      layout.lines.push_back(at.end);
      at.end += tile.stages * tile.window() * 4;
    }
    if (shape.valueElements.empty())
      return;
    layout.weights = {at.end, tile.keys + 8};
    at.end += tile.rows * layout.weights.stride * 4;
  }

  void planSignals() {
    if (!tile.facts().producers)
      return;
    layout.signals = at.end;
    at.end += signalBytes(tile);
  }

  /// Places the looked-up tables, one after another. They are used before the first tile of keys, in the place of the
  /// operands.
  int64_t planTables() {
    int64_t most = 0;
    for (auto [term, part] : llvm::zip_equal(shape.lookups, layout.lookups)) {
      if (term.numbers)
        continue;
      at.end = operandsBegin;
      part.staging = at.place(tile.tableRows(), term.depth, 1);
      if (part.use == LookupUse::EveryTile)
        part.logits.offset = at.placeNumbers(tile.rows, part.logits.stride);
      most = std::max(most, at.end);
    }
    return most;
  }

  const GpuShape &shape;
  const GpuTile &tile;
  SharedPlaces at;
  int64_t columns; // columns of the values in a block
  int64_t operandsBegin = 0, operandsEnd = 0;
  GpuLayout layout;
};

} // namespace

/// Returns what fills the tiles of the scores, or of the values.
static GpuLayout::Filling fillingOf(const GpuShape &shape, const GpuLayout &layout, bool ofValues) {
  auto count = [&](bool isMultiplied) {
    return size_t(llvm::count_if(layout.boxes, [&](const TensorBox &box) {
      return box.isOfValues == ofValues && box.isMultiplied == isMultiplied;
    }));
  };
  size_t multiplied = count(true), windows = count(false);
  GpuLayout::Filling filling{!ofValues, ofValues};
  filling.boxes = multiplied + windows > 0;
  if (ofValues) {
    filling.threadsMultiplied = multiplied < 1 + layout.valueRows.size();
    filling.threads = filling.threadsMultiplied || !layout.valueBands.empty();
    return filling;
  }
  auto ownKeys =
      llvm::count_if(layout.bands, [](const GpuLayout::Band &band) { return band.keys.rows && !band.sharedWith; });
  bool ofKeys = llvm::any_of(shape.bands, [](const BandTerm &term) { return term.ofKey; });
  bool computesNumbers = !layout.lines.empty() && !layout.hasWholeLines;
  filling.threadsMultiplied = multiplied < layout.content.size();
  filling.threads = filling.threadsMultiplied || windows < layout.bands.size() || ownKeys || computesNumbers ||
                    !filling.boxes; // somebody says that there is nothing to fill
  filling.warpsReadBoxes = windows || (ofKeys && multiplied);
  return filling;
}

/// Sets what fills the tiles that producers hand over.
static void planFillings(const GpuShape &shape, const GpuTile &tile, GpuLayout &layout) {
  GpuLayout::Filling scores = fillingOf(shape, layout, false), values = fillingOf(shape, layout, true);
  if (tile.handsOverApart) {
    layout.fillings = {scores, values};
    return;
  }
  layout.fillings = {{true, true, scores.threads || values.threads,
                      scores.threadsMultiplied || values.threadsMultiplied, scores.boxes || values.boxes,
                      scores.warpsReadBoxes}};
}

GpuLayout skewer::gpu::layoutOf(const GpuShape &shape, const GpuTile &tile) {
  GpuLayout layout = Planner(shape, tile).plan();
  if (tile.facts().producers && mayHideKeys(shape.attention))
    layout.bytes = std::max(layout.bytes, carefulLayoutOf(shape, tile).bytes);
  if (tile.copies == kTma)
    layout.boxes = tensorBoxesOf(shape, tile, layout);
  planFillings(shape, tile, layout);
  return layout;
}

GpuLayout skewer::gpu::carefulLayoutOf(const GpuShape &shape, const GpuTile &tile) {
  return Planner(shape, carefulTileOf(tile), signalBytes(tile)).plan();
}

GpuTile skewer::gpu::carefulTileOf(const GpuTile &tile) {
  // Few keys, so that the registers suffice that the warps of the block have.
  constexpr int64_t kFewKeys = 16;
  GpuTile careful{tile.rows,    std::min(tile.keys, kFewKeys), 2, /*keepQueries=*/false, tile.columns, 16, kMmaSync,
                  tile.keyParts};
  if (tile.keyParts > 1)
    careful.partKeys = tile.keys;
  return careful;
}
