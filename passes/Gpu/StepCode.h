// The code of one step of a kernel, in which the block's queries meet a tile of keys, and of what comes before and
// after all steps. It calls the strategies, and knows which of their functions comes when. GpuKernel.cpp and
// RingKernel.cpp put the steps into loops.
#pragma once
#include "passes/Gpu/Masks.h"
#include "passes/Gpu/Strategy.h"

namespace skewer::gpu {

class StepCode {
public:
  StepCode(KernelContext &, Masks &);

  /// Finds where the strategies' operands come from; `readQueries` reads numbers of the thread's queries.
  void locate();
  void readQueries();
  bool hasPrologue() const {
    return some([](Strategy &strategy) { return strategy.hasPrologue(); });
  }
  void runPrologue();
  void computeBlockNumbers();
  bool computesNumbers() const {
    return some([](Strategy &strategy) { return strategy.computesNumbers(); });
  }
  bool meetsInSteps() const {
    return some([](Strategy &strategy) { return strategy.meetsInSteps(); });
  }
  /// Starts to fill the tiles of a step, unless they are single-buffered, and computes the numbers that belong to it.
  void fill(Value number, Value copy) { fill(number, copy, /*scores=*/true, /*values=*/true); }
  /// Does it for the tiles of the scores, with the numbers, or for those of the values, or for both.
  void fill(Value number, Value copy, bool scores, bool values);
  /// Returns what the masks say of a step; see Masks::seenBits for the bits.
  Step stepAt(Value number, Value copy);
  llvm::SmallVector<Value> seenBits(const Step &);
  /// Returns the state of the rows after the step.
  RowState compute(const Step &, llvm::ArrayRef<Value> bits, const RowState &before);
  /// Returns the weights of the step, and the state without its values. `behindProducts` issues one more product, of
  /// which nothing waits here, behind the first product of the scores; the sums of values then wait for their factors
  /// (Rescaling::Afterwards).
  std::pair<Tiles, RowState> weigh(const Step &, llvm::ArrayRef<Value> bits, const RowState &before,
                                   llvm::function_ref<void()> behindProducts = {});
  /// Adds the weights times the values of the step.
  void addToValues(const Step &, const Tiles &weights, WeightedSums &);
  RowState emptyRows();
  void write(const RowState &);

private:
  bool some(llvm::function_ref<bool(Strategy &)> holds) const {
    return llvm::any_of(strategies, [&](const auto &strategy) { return holds(*strategy); });
  }
  Tiles scores(const Step &, llvm::ArrayRef<Value> bits);
  void addProducts(const Step &, ScoreSums &scores);
  ScoreSums productsOf(const Step &, double scale);
  RowNumbers rowNumbersOf(const Step &);
  void applyFunction(Tiles &scores, llvm::ArrayRef<Tiles> further);

  KernelContext &in;
  Masks &masks;
  GpuBuilder &b;
  Powers powers;
  Strategies strategies;
  llvm::function_ref<void()> issueBehindProducts; // null when it has been called
};

} // namespace skewer::gpu
