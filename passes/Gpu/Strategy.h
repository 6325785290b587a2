// How one term, or a group of terms that share their work, is computed while a kernel goes through its tiles of keys.
// The kernel calls each of these at its time and knows no more of a strategy; Strategies/ has one file for each.
#pragma once
#include "passes/Gpu/BlockPlace.h"
#include "passes/Gpu/Engine.h"
#include "passes/Gpu/QueryTiles.h"
#include "passes/Gpu/Softmax.h"

namespace skewer::gpu {

/// What a strategy works in.
struct KernelContext {
  GpuBuilder &b;
  const GpuAttention &shape;
  const GpuTile &tile;
  const GpuLayout &layout;
  Operands &operands;
  const ThreadPlace &at;
  BlockPlace &place;
  Pipeline &pipeline;
  Engine &engine;
  QueryTiles &queries;
  /// Scores stand without this factor, their scale, until they are exponentiated: a multiply-add with the maximum's
  /// subtraction. Only where nothing but products is summed.
  std::optional<double> lateScale;
  /// What a term of this scale is multiplied with, where scores stand as they do until then.
  double unitOf(double scale) const { return scale / lateScale.value_or(1); }
  /// The weight of a key that is hidden or not there: 0, or the direct weight -0, which no key that is seen has.
  float noWeight() const { return shape.attention.direct ? -0.0f : 0.0f; }
};

/// One step: the block's queries meet a tile of keys.
struct Step {
  Value firstKey; // i32
  Value copy;     // of the tiles that it reads
  Value crossed;  // whether a mask may hide some pair of it (i1); null without masks
};

/// Sums of a tile's scores; nothing is added to what has not begun.
struct ScoreSums {
  Tiles tiles;
  bool begun = false;
  void add(GpuBuilder &, const Tiles &);
};

class Strategy {
public:
  explicit Strategy(const KernelContext &in) : in(in), b(in.b) {}
  virtual ~Strategy() = default;

  // At the beginning, in this order.
  /// Where the operands of the steps come from, and numbers of the thread's queries.
  virtual void locate() {}
  virtual void readQueries() {}
  /// Work before the first step, in the places that the steps' operands take later.
  virtual bool hasPrologue() const { return false; }
  virtual void runPrologue() {}

  // A step's tiles, ahead of it.
  virtual void fill(Value /*firstKey*/, Value /*copy*/) {}
  /// Numbers that threads compute for each other.
  virtual bool computesNumbers() const { return false; }
  virtual void computeNumbers(Value /*firstKey*/, Value /*copy*/) {}
  /// Whether all warps of the block meet at a barrier in each step.
  virtual bool meetsInSteps() const { return false; }

  /// Which of the sums that the score is a function of it adds to. Only what is added to each score is another's than
  /// the first.
  virtual uint64_t sum() const { return 0; }

  // A step's scores, in this order.
  virtual void beginScores(const Step &, ScoreSums &) {}
  /// Products are summed with those of the same scale before they are multiplied with it: first what a sum begins with,
  /// then what is added to it.
  virtual std::optional<double> scaleOfProducts() const { return std::nullopt; }
  virtual void beginProducts(const Step &, ScoreSums &) {}
  virtual void addProducts(const Step &, Tiles & /*sums*/) {}
  virtual void addToScores(const Step &, Tiles & /*scores*/) {}
  virtual bool addsToEachScore() const { return false; }
  virtual void addToEachScore(const std::vector<Axes> &, Tiles & /*scores*/) {}
  /// What is added to all scores of a row, for each of the thread's rows; those may be null.
  virtual void addToRows(Value /*firstKey*/, llvm::MutableArrayRef<Value> /*rows*/) {}

  // A step's weights.
  virtual void addToValues(const Step &, const Tiles & /*weights*/, WeightedSums &) {}

protected:
  /// Steps of the depth that are written one after another. Single buffers go with wide heads and few registers, and
  /// ptxas reads ahead in what is written out: rows by offset that are added to keys and values of f32, 192 and 256
  /// wide, spilled in every tile for three of eight pairs of layer and target; as loops for none.
  int64_t stepsTogether() const { return in.queries.stepsTogether(); }

  const KernelContext &in;
  GpuBuilder &b;
};

using Strategies = std::vector<std::unique_ptr<Strategy>>;

} // namespace skewer::gpu
