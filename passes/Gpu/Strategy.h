// A strategy computes one term, or a group of terms that share work, while a kernel goes through its tiles of keys. The
// kernel calls each of these functions at its time and knows no more of a strategy. Strategies/ has one file for each.
#pragma once
#include "passes/Gpu/BlockPlace.h"
#include "passes/Gpu/Engine.h"
#include "passes/Gpu/Memory.h"
#include "passes/Gpu/QueryTiles.h"
#include "passes/Gpu/Softmax.h"

namespace skewer::gpu {

/// The threads that fill tiles and compute numbers for them.
struct Filler {
  Value thread; // among these threads, i32
  int64_t threads = 0;
};

/// The parts of the kernel that a strategy uses.
struct KernelContext {
  GpuBuilder &b;
  const BlockMemory &shared;
  const GpuAttention &shape;
  const GpuTile &tile;
  const GpuLayout &layout;
  Operands &operands;
  const ThreadPlace &at;
  BlockPlace &place;
  Pipeline &pipeline;
  Engine &engine;
  QueryTiles &queries;
  Filler filler;
  /// The scale that scores lack until they are exponentiated: the multiply-add that subtracts the maximum applies it.
  /// Set only if nothing but products is summed.
  std::optional<double> lateScale;
  /// If true, all warps that compute meet at a barrier when a step begins.
  bool stepsBeginTogether = true;
  /// Returns the factor of a term with this scale, if scores lack `lateScale`.
  double unitOf(double scale) const { return scale / lateScale.value_or(1); }
};

/// One step: the block's queries meet a tile of keys.
struct Step {
  Value firstKey; // i32
  Value copy;     // which copy of the tiles the step reads
  Value crossed;  // whether a mask may hide some pair of the tile (i1); null without masks
};

/// Sums of a tile's scores. While a sum has not begun, the first summand is stored instead of added.
struct ScoreSums {
  Tiles tiles;
  bool begun = false;
  void add(GpuBuilder &, const Tiles &);
};

class Strategy {
public:
  explicit Strategy(const KernelContext &in) : in(in), b(in.b) {}
  virtual ~Strategy() = default;

  // Called at the beginning, in this order.
  /// Finds where the operands of the steps come from; `readQueries` reads numbers of the thread's queries.
  virtual void locate() {}
  virtual void readQueries() {}
  /// Returns whether there is work before the first step; `runPrologue` does it, in the memory where the steps'
  /// operands stand later.
  virtual bool hasPrologue() const { return false; }
  virtual void runPrologue() {}
  /// Computes numbers that all steps read, while the queries are copied. A barrier follows.
  virtual void computeBlockNumbers() {}

  /// Returns whether the tiles that the strategy fills are read for the values alone, behind the weights.
  virtual bool fillsValues() const { return false; }

  // Called ahead of a step, to fill its tiles.
  virtual void fill(Value /*firstKey*/, Value /*copy*/) {}
  /// Returns whether threads compute numbers for each other; `computeNumbers` computes those of one tile.
  virtual bool computesNumbers() const { return false; }
  virtual void computeNumbers(Value /*firstKey*/, Value /*copy*/) {}
  /// Returns whether all warps of the block meet at a barrier in each step.
  virtual bool meetsInSteps() const { return false; }

  /// Returns the number of the sum to which the strategy adds, if the score is a function of several sums. Only
  /// `addToEachScore` adds to other sums than the first.
  virtual uint64_t sum() const { return 0; }

  // Called for a step's scores, in this order.
  virtual void beginScores(const Step &, ScoreSums &) {}
  /// Returns the scale of the strategy's products. Products with the same scale are summed before they are multiplied
  /// with it: `beginProducts` of all strategies comes first, then `addProducts`.
  virtual std::optional<double> scaleOfProducts() const { return std::nullopt; }
  virtual void beginProducts(const Step &, ScoreSums &) {}
  virtual void addProducts(const Step &, Tiles & /*sums*/) {}
  virtual void addToScores(const Step &, Tiles & /*scores*/) {}
  virtual bool addsToEachScore() const { return false; }
  virtual void addToEachScore(Value /*firstKey*/, const std::vector<Axes> &, Tiles & /*scores*/) {}
  /// Adds numbers that hold for all scores of a row, or of a part of it.
  virtual void addToRows(Value /*firstKey*/, RowNumbers & /*rows*/) {}

  // Called for a step's weights.
  virtual void addToValues(const Step &, const Tiles & /*weights*/, WeightedSums &) {}

protected:
  /// Returns how many steps of the depth are unrolled. Single buffers go with wide heads and few registers, and ptxas
  /// reads ahead in unrolled code. With rows by offset that are added to keys and values of f32, 192 and 256 wide,
  /// unrolled code spilled in every tile for three of eight pairs of layer and target; loops spilled for none.
  int64_t stepsTogether() const { return in.queries.stepsTogether(); }

  const KernelContext &in;
  GpuBuilder &b;
};

using Strategies = std::vector<std::unique_ptr<Strategy>>;

} // namespace skewer::gpu
