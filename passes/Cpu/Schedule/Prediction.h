// Predicts the cost of a schedule by the cost model: arithmetic, tiles that a mask leaves, and time. `explain` prints
// it.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Cpu/Schedule/ChosenStrategies.h"
#include "passes/Cpu/Schedule/CostModel.h"

namespace skewer {

/// Returns the sizes of an attention that the cost model needs: its own sizes, with the additions of its strategies.
AttentionSizes sizesOf(const AttentionShape &, const ChosenStrategies &);

/// The predicted work of one leading index (a head of one batch row), on one core.
struct PredictedWork {
  double matmulFlops = 0; // products for content, table windows and values, rounded up to whole vectors as in tiles
  double cycles = 0;
  double productsOverFma = 1; // the peak of the fastest engine that multiplies, as a multiple of that of FMAs
  bool sumsIntegers = false;  // the products of queries and keys are summed up as integers
};
/// Predicts the work for the strategies and the blocking of a schedule: the work of the common loops, and the work that
/// the strategies report.
PredictedWork predictWork(const AttentionShape &, const ChosenStrategies &, const Blocking &, const Target &);

/// Returns the predicted cycles, in the best blocks for the strategies.
double predictedCycles(const AttentionShape &, const ChosenStrategies &, const Target &);

/// Returns the cycles that an operation of arith or math takes for one vector of `lanes` numbers.
double cyclesOfArithmetic(mlir::Operation &, int64_t lanes);

/// Return the number of key blocks for each block of queries, and the number of query blocks; at least one. Strategies
/// use them.
double keyBlocksOf(const AttentionShape &, const TileSizes &);
double rowBlocksOf(const AttentionShape &, const TileSizes &);

} // namespace skewer
