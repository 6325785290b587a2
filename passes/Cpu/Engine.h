// The interface of an engine, which multiplies packed rows with packed panels on a processor: the formats of both, and
// their products. The kernel, its strategies and matrix products call it. Engines/ has the implementations.
//
// A step of the depth takes one float of a row and one float of each column of a panel. A row has its steps side by
// side. A panel holds `lanes` columns side by side for each step.
#pragma once
#include "passes/Cpu/RegisterTile.h"

namespace skewer {

/// The columns that are packed into panels: memory[base + row*rowStride + step*depthStride] × factor for `rows` columns
/// and `depth` steps. With `reversed`, columns count from the last row of the source down. With `length`, columns
/// behind it are 0, and panels with none of its columns are not written.
struct PanelSource {
  mlir::Value memory, base;
  int64_t rowStride, depthStride, rows, depth;
  double factor = 1;
  bool reversed = false;
  mlir::Value length = {}; // how many of the columns exist; null: all
};
/// The place of panels: panel `panel` begins at base + panel*stride, and packing begins at its step `firstStep`.
struct PanelTarget {
  mlir::Value memory, base;
  int64_t stride, firstStep = 0;
  bool accumulate = false; // add to what is there
  int64_t lineStride = 0;  // floats from a step to the next one; 0: the lanes
};

/// One side of a product: floats of `memory` from `base` on, rows or panels `stride` apart.
struct ProductOperand {
  mlir::Value memory, base;
  int64_t stride;
};
/// Emits instructions besides those of the product in each turn of the depth loop, given the first step of the turn.
using BesideSteps = std::function<void(mlir::Value step)>;

/// The product of a tile: Σ_step rows[r][step] · panels[v][step] for its rows and vectors, over all steps.
struct TileProduct {
  TilePart tile;
  int64_t steps;
  Summation summation;
  ProductOperand rows, panels;
  BesideSteps beside = {};
};
/// The places of the sums of a tile, memory[places[r * vectors + v]]. A product may use them before it is finished.
struct HeldSums {
  mlir::Value memory;
  llvm::ArrayRef<mlir::Value> places;
};

class CpuEngine {
public:
  virtual ~CpuEngine() = default;

  /// Returns the floats from a panel of this many steps to the next one. Each panel has one cache line more than its
  /// steps: panels that are a multiple of 4 KiB apart would share L1 sets (measured: 42-55 % of peak instead of 89 %).
  static int64_t panelStride(int64_t steps, int64_t lanes) { return (steps + 1) * lanes; }
  /// Fills one panel; lanes beyond the last column are 0.
  virtual void packPanel(VectorBuilder &, const PanelSource &, const PanelTarget &, mlir::Value panel) const = 0;
  /// Returns the sums of a product.
  virtual llvm::SmallVector<mlir::Value> multiply(VectorBuilder &, const TileProduct &, const HeldSums &) const = 0;
  /// Stores the sums of a product at target[base + r*stride + v*lanes].
  void multiplyInto(VectorBuilder &, const TileProduct &, const ProductOperand &target) const;
};

/// Returns the engine that multiplies f32 with fused multiply-adds, whose sums stay in vector registers.
const CpuEngine &fmaEngine();

} // namespace skewer
