// Ways of computing a term on a processor that say for themselves which terms they fit: a plugin that brings a class
// may bring its strategy by the same door, and then gets a fused, scheduled, explained kernel.
//
//   registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) {
//     skewer::TermStrategies::of(dialect).add(std::make_unique<MyStrategy>(), 50);
//   });
//
// Here is what analysis and cost model ask. What is emitted is an object of passes/Cpu/Strategy.h, which `make` makes.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include <memory>

namespace skewer {
class CpuKernel;
class CpuStrategy;

/// Register tile and blocks for which work is counted.
struct TileSizes {
  int64_t lanes, tileRows, tileVectors, rowBlock, keyBlock;
};
/// Of all pairs of queries and keys of one leading index (a head of one batch row), on one core.
struct TermWork {
  double flops = 0;  // useful ones, for the roofline
  double cycles = 0; // of everything that it emits, packing included
};

class TermStrategy {
public:
  virtual ~TermStrategy() = default;
  /// What schedules and `explain` call it: "separable_line". No built-in strategy is called so.
  virtual llvm::StringRef name() const = 0;
  /// Whether it can compute the term; `shape` has the space, sizes and axes of the attention, and no terms yet.
  virtual bool fits(const OtherTerm &, const AttentionShape &shape) const = 0;
  /// What it costs; the cost model, `explain` and the roofline know nothing else of it.
  virtual TermWork work(const OtherTerm &, const AttentionShape &, const TileSizes &) const = 0;
  /// The object that emits the term. The term lives as long as the kernel.
  virtual std::unique_ptr<CpuStrategy> make(CpuKernel &, const OtherTerm &) const = 0;
};

/// The strategies of one context, held by its attn dialect.
class TermStrategies : public mlir::DialectInterface::Base<TermStrategies> {
public:
  /// With the built-in ones.
  explicit TermStrategies(mlir::Dialect *dialect);
  /// The dialect's; made where there are none yet. Only for extensions, which run while the dialect is loaded.
  static TermStrategies &of(attn::AttnDialect *);
  /// Strategies of this order and above are asked for what would be computed element by element alone; those below are
  /// asked before any class of the analysis.
  static constexpr unsigned kLate = 1000;
  /// The first that fits a term has it: lower orders are asked first, equal ones as added. A second one of a name
  /// replaces the first.
  void add(std::unique_ptr<TermStrategy>, unsigned order);
  bool hasEarly() const { return !strategies.empty() && strategies.begin()->first < kLate; }
  /// Null where none fits. `late`: among those that are asked last.
  const TermStrategy *find(const OtherTerm &, const AttentionShape &shape, bool late) const;

private:
  std::multimap<unsigned, std::unique_ptr<TermStrategy>> strategies;
};

/// The context's; the built-in ones where nothing was added to it.
const TermStrategies &termStrategiesOf(mlir::MLIRContext *);

/// Adds the built-in ones: defined where they are, in passes/Cpu/Strategies/BuiltinStrategies.cpp. Their names are
/// among those that schedules know (dialect/IR/ScheduleVerifiers.cpp).
void addBuiltinStrategies(TermStrategies &);

} // namespace skewer
