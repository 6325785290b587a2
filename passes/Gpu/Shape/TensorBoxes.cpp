// Finds the tiles whose rows are regular, within the limits of tensor maps.
#include "passes/Gpu/Shape/TensorBoxes.h"
#include "passes/Gpu/Shape/GpuLayout.h"
#include <numeric>

using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;
using subscript::Kind;

// Addresses and distances are multiples of 16 bytes, distances are less than 2^40 bytes, and a box has at most 256
// elements of each dimension (CUDA driver API, cuTensorMapEncodeTiled).
static constexpr int64_t kUnitBytes = 16, kEndOfStrides = int64_t(1) << 40, kMostOfBox = 256;
// Chunks are permuted alike in every eighth row, so that a box begins there.
static constexpr int64_t kSwizzledRows = 8;

/// Returns a number of which every value of the expression is a multiple, by its form alone; 0 if all are 0.
static int64_t factorOf(const Expr &expression) {
  auto of = [&](size_t operand) { return factorOf(expression.operands()[operand]); };
  switch (expression.kind()) {
  case Kind::Constant:
    return std::abs(expression.value());
  case Kind::Add:
    return std::gcd(of(0), of(1));
  case Kind::Mul: {
    int64_t product;
    return __builtin_mul_overflow(of(0), of(1), &product) ? 1 : product;
  }
  default:
    return 1;
  }
}

/// Returns the box of a tile whose rows are walked by keys; nothing if the rows are not regular. `isPart`: blocks
/// divide the columns.
static std::optional<TensorBox> boxOf(const GpuShape &shape, const SharedTile &tile, const Walk &walk, bool isPart) {
  int64_t bytes = tile.elementBytes, unit = kUnitBytes / bytes;
  if (!tile.panel || walk.picked || shape.operandTypes[walk.argument] != shape.element)
    return std::nullopt;
  if (tile.depth % unit || (walk.depth != 1 && tile.depth != 1))
    return std::nullopt;
  // Such blocks begin at other columns, which are multiples of a unit.
  int64_t place = std::gcd(factorOf(walk.base), isPart ? unit : 0);
  auto isStride = [&](int64_t stride) { return stride > 0 && stride % unit == 0 && stride < kEndOfStrides / bytes; };
  if (!place)
    place = unit; // all leading indices have the same rows
  if (!isStride(place) || !isStride(walk.key) || (isPart && shape.attention.width % unit))
    return std::nullopt;
  TensorBox box;
  box.tile = tile.offset;
  box.argument = walk.argument;
  box.rowStride = walk.key;
  box.placeStride = place;
  box.columns = tile.depth;
  box.boxesOfPanel = (tile.rows + kMostOfBox - 1) / kMostOfBox;
  box.boxRows = tile.rows / box.boxesOfPanel;
  if (tile.rows % (kSwizzledRows * box.boxesOfPanel))
    return std::nullopt;
  box.boxColumns = tile.panel / bytes;
  box.panels = tile.width * bytes / tile.panel;
  box.tileBytes = tile.bytes();
  return box;
}

/// Returns the box of the rows of a table that a tile of queries and keys reaches; nothing if they are not rows of the
/// table one behind the other, upwards. A row that does not exist is zeros, as what a box has outside of a tensor.
static std::optional<TensorBox> windowOf(const GpuShape &shape, const SharedTile &tile, const BandTerm &term) {
  if (term.offsets || term.sign < 0 || term.rowLength)
    return std::nullopt;
  std::optional<TensorBox> box = boxOf(shape, tile, term.table, /*isPart=*/false);
  if (box) {
    box->rows = term.rows;
    box->isMultiplied = false;
  }
  return box;
}

std::vector<TensorBox> skewer::gpu::tensorBoxesOf(const GpuShape &shape, const GpuTile &tile, const GpuLayout &layout) {
  std::vector<TensorBox> boxes;
  auto add = [&](std::optional<TensorBox> box) {
    if (box && boxes.size() < kMostTensorBoxes)
      boxes.push_back(*box);
  };
  bool isPart = tile.partsOf(shape.attention.width) > 1;
  for (auto [term, where] : llvm::zip_equal(shape.attention.content, layout.content))
    add(boxOf(shape, where, term.key, /*isPart=*/false));
  auto addToValues = [&](const SharedTile &where, const Walk &walk) {
    std::optional<TensorBox> box = boxOf(shape, where, walk, isPart);
    if (box)
      box->isOfValues = true;
    add(box);
  };
  addToValues(layout.values, shape.attention.value);
  for (auto [term, where] : llvm::zip_equal(shape.valueRows, layout.valueRows))
    addToValues(where, term.table);
  for (auto [term, where] : llvm::zip_equal(shape.bands, layout.bands))
    add(windowOf(shape, where.window, term));
  return boxes;
}

std::optional<Refusal> skewer::gpu::refuseBoxes(const GpuShape &shape, const GpuTile &tile) {
  if (tile.copies != kTma)
    return std::nullopt;
  if (!tile.facts().producers)
    return Refusal{"'" + tile.engine.str() + "' has no threads that only fill tiles"};
  if (tensorBoxesOf(shape, tile, layoutOf(shape, tile)).empty())
    return Refusal{
        "no keys, values or tables have rows at fixed distances of whole 16 bytes, of the type that is multiplied"};
  return std::nullopt;
}
