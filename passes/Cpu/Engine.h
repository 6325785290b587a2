// The interface of an engine, which multiplies packed rows with packed panels on a processor: the formats of both, and
// their products. The kernel, its strategies and matrix products call it. Engines/ has the implementations.
//
// A step of the depth takes 32 bits of a row and of each column of a panel: one f32, or several narrower elements. A
// row has its steps side by side. A panel holds `lanes` columns side by side for each step.
#pragma once
#include "passes/Cpu/RegisterTile.h"
#include "passes/Schedule/CpuEngine.h"

namespace skewer {

/// The elements that are packed into a row: memory[base + d*depthStride] × factor.
struct RowSource {
  mlir::Value memory, base;
  int64_t depthStride, depth;
  double factor = 1; // must be 1 for an engine that does not pack floats
};
/// The columns that are packed into panels: memory[base + row*rowStride + d*depthStride] × factor for `rows` columns
/// and `depth` elements. With `reversed`, columns count from the last row of the source down. With `length`, columns
/// behind it are 0, and panels with none of its columns are not written. With `apart`, panels share columns.
struct PanelSource {
  mlir::Value memory, base;
  int64_t rowStride, depthStride, rows, depth;
  double factor = 1;
  bool reversed = false;
  mlir::Value length = {}; // how many of the columns exist; null: all
  int64_t apart = 0;       // columns from the first one of a panel to the first one of the next; 0: the lanes
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

/// The product of a tile: scale × Σ_step rows[r][step] · panels[v][step] for its rows and vectors, over all steps.
struct TileProduct {
  TilePart tile;
  int64_t steps;
  Summation summation;
  ProductOperand rows, panels;
  BesideSteps beside = {};
  double scale = 1;
};
/// The places of the sums of a tile, memory[places[r * vectors + v]]. A product may use them before it is finished.
struct HeldSums {
  mlir::Value memory;
  llvm::ArrayRef<mlir::Value> places;
  int64_t stride = 0; // floats from a row to the next one, if the vectors of a row are adjacent; else 0
};

/// A product that is added to sums in memory: target[r][v] += Σ_step rows[r][step] · panels[v][step], for the rows and
/// vectors of a tile and the steps [first, end), at least one; both are multiples of the lanes. An engine whose sums
/// are in registers emits `beside` in each turn of kStepsOfTurn steps.
struct AddedProduct {
  int64_t rows, vectors;
  mlir::Value first, end;
  ProductOperand weights, values, target;
  BesideSteps beside = {};
};
/// The numbers of which powers are made: what a factor of 2 adds to a number, and the number whose power is 1.
struct PowerScale {
  float octave, one;
};
/// A vector of steps of weights, and a total, a vector of f32, to which these weights are added.
struct PackedPowers {
  mlir::Value steps, total;
};
/// The part of an engine that multiplies weights with values. Rows hold weights, rounded to the elements of the engine;
/// the columns of panels are the width of the values, and a step holds the values of adjacent keys.
class WeightEngine {
public:
  virtual ~WeightEngine() = default;
  /// Returns a vector of steps, made of vectors of consecutive weights: one vector for each element of a step.
  virtual mlir::Value packWeights(VectorBuilder &, llvm::ArrayRef<mlir::Value> weights) const = 0;
  /// Returns the step of `count` columns, whose elements for a key are adjacent in memory: memory[places[e] + column]
  /// for element e of the step.
  virtual mlir::Value packValues(VectorBuilder &, mlir::Value memory, llvm::ArrayRef<mlir::Value> places,
                                 int64_t count) const = 0;
  /// Returns `step` with 0 for the elements for which `exists` is false.
  virtual mlir::Value keepExisting(VectorBuilder &, mlir::Value step, llvm::ArrayRef<mlir::Value> exists) const = 0;
  /// Returns whether `packPowers` can be called. It makes packed weights of exponents, in fewer instructions than an
  /// exponential in f32 and a rounding.
  virtual bool makesPowers(const VectorBuilder &, const Target &) const = 0;
  /// Returns the scale of the numbers that `packPowers` takes.
  virtual PowerScale powerScale() const = 0;
  /// Returns a mask that `packPowers` takes, for all calls in loops that follow.
  virtual mlir::Value maskOfPowers(VectorBuilder &) const = 0;
  /// Returns a vector of steps of weights, for vectors of consecutive numbers: one vector for each element of a step;
  /// and `total` with them. A weight is 0 if its number is NaN, and is below 2^128.
  virtual PackedPowers packPowers(VectorBuilder &, mlir::Value mask, llvm::ArrayRef<mlir::Value> numbers,
                                  mlir::Value total) const = 0;
  /// Returns the first element of a step, which holds consecutive elements: of a row of weights that `packPowers` or
  /// `packWeights` made, and of the values that it is multiplied with.
  virtual mlir::Value elementOfStep(VectorBuilder &, mlir::Value step, bool ofPowers) const = 0;
  virtual void addProduct(VectorBuilder &, const AddedProduct &) const = 0;
};

class CpuEngine {
public:
  explicit CpuEngine(llvm::StringRef name) : cost(cpuEngine(name)) {}
  virtual ~CpuEngine() = default;

  const CpuEngineCost &cost;
  /// Returns whether a step is one f32, so that factors can be packed, panels can be added up, and other code may read
  /// what is packed. If not, rows and columns are packed as they are in memory.
  virtual bool packsFloats() const = 0;
  /// Return the parts of a factor of products that are packed with one operand, and that are applied to the sums.
  double packedFactor(double factor) const { return packsFloats() ? factor : 1; }
  double factorOfSums(double factor) const { return packsFloats() ? 1 : factor; }
  /// Returns whether the sums of a product of this scale go to memory as they are. Such an engine takes several groups
  /// of rows at once; scaled sums pass through registers, which hold those of one group.
  bool storesSums(double scale, bool compensated) const {
    return cost.rowsInMemory() && !compensated && factorOfSums(scale) == 1;
  }
  int64_t stepsOf(int64_t depth) const { return cost.stepsOf(depth); }
  /// Emit what the engine needs before the first product of a phase and after the last one, for a range of work items.
  virtual void begin(VectorBuilder &) const {}
  virtual void end(VectorBuilder &) const {}
  /// Returns the floats from a panel of this many steps to the next one. Each panel has one cache line more than its
  /// steps: panels that are a multiple of 4 KiB apart would share L1 sets (measured: 42-55 % of peak instead of 89 %).
  static int64_t panelStride(int64_t steps, int64_t lanes) { return (steps + 1) * lanes; }
  /// Fills one panel; lanes beyond the last column are 0.
  virtual void packPanel(VectorBuilder &, const PanelSource &, const PanelTarget &, mlir::Value panel) const = 0;
  /// Packs a row, from `to` on in the target.
  virtual void packRow(VectorBuilder &, const RowSource &, mlir::Value target, mlir::Value to) const = 0;
  /// Returns the sums of a product.
  virtual llvm::SmallVector<mlir::Value> multiply(VectorBuilder &, const TileProduct &, const HeldSums &) const = 0;
  /// Returns the part of the engine that multiplies weights with values; null if it does not.
  virtual const WeightEngine *forWeights() const { return nullptr; }
  /// Returns the numbers of a vector of sums that `multiplyInto` or `multiplyColumns` stored.
  virtual mlir::Value numbersOf(VectorBuilder &, mlir::Value stored) const { return stored; }
  /// Stores the sums of a product at target[base + r*stride + v*lanes], in the form that the engine adds them up in.
  virtual void multiplyInto(VectorBuilder &, const TileProduct &, const ProductOperand &target) const;
  /// Does the same for `vectors` vectors, tile after tile: the last tile may have more of them.
  virtual void multiplyColumns(VectorBuilder &, const TileProduct &, mlir::Value vectors,
                               const ProductOperand &target) const;
};

/// Returns the engine that multiplies f32 with FMAs. It takes operands of all types.
const CpuEngine &fmaEngine();
/// Returns the fastest engine for operands of this type in memory; f32 if they have different types, or no memory.
const CpuEngine &engineFor(ElementType element, const Target &);
/// Returns the engine that has this cost.
const CpuEngine &engineOfCost(const CpuEngineCost &);

} // namespace skewer
