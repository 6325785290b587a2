// Strategies: ways to compute a term on a processor. Each says which terms it fits, what it costs and which object
// emits it. Schedules, the cost model, `explain` and the kernels ask the registry and know no strategy by name. A
// plugin that brings a class can register its strategy in the same way, and then gets a fused, scheduled, explained
// kernel.
//
//   registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) {
//     skewer::TermStrategies::of(dialect).add(std::make_unique<MyStrategy>(), 50);
//   });
//
// `make` returns the object that emits the term (passes/Cpu/Strategy.h).
#pragma once
#include "passes/Analysis/Refusal.h"
#include "passes/Analysis/TermForm.h"
#include <map>
#include <memory>

namespace skewer {
class CpuKernel;
class CpuStrategy;
struct AttentionSizes;
struct Target;

/// The accumulators of a register tile: `rows` queries by `vectors` vectors of keys.
struct RegisterTile {
  int64_t rows, vectors;
};
/// The register tile and the blocks for which work is counted, and the part of the score that they compute.
struct TileSizes {
  int64_t lanes, tileRows, tileVectors, rowBlock, keyBlock;
  double columns = 0; // scores of a query row that tiles compute: keys in whole panels, without skipped tiles
  double keys = 0;    // keys whose values a row group adds
  RegisterTile registers() const { return {tileRows, tileVectors}; }
};
/// The work for all pairs of queries and keys of one leading index (a head of one batch row), on one core.
struct TermWork {
  double flops = 0;  // useful operations, for the roofline
  double cycles = 0; // cycles of all emitted code, packing included
};

/// The place at which a strategy adds to the scores, among the strategies of a kernel. Sums of floating-point numbers
/// depend on this order.
enum class AddOrder { Offsets, Rows, Own, Prepared, Loads, Elements, Lanes, Values };

class TermStrategy {
public:
  virtual ~TermStrategy() = default;
  /// Returns the unique name of the strategy in schedules and in `explain`: "separable_line".
  virtual llvm::StringRef name() const = 0;
  virtual AddOrder order() const { return AddOrder::Own; }
  /// Returns whether the strategy can compute the term. A plugin's strategy with an order before the built-in ones is
  /// asked before analysis has put the term into a class. The term is an OtherTerm then, and `shape` has only space,
  /// sizes and axes.
  virtual bool fits(const TermForm &, const AttentionShape &shape) const = 0;
  /// Returns whether the strategy supports numbers of queries and keys that are known only at run time: it reads no
  /// operand behind CpuKernel::queries() and keys().
  virtual bool takesLengths() const { return false; }
  /// Changes the term in `shape`, which analysis meant for another strategy, into a form that this strategy computes.
  /// `fits` holds for the term. By default, the strategy becomes the `own` strategy of an OtherTerm.
  virtual void take(const TermForm &, AttentionShape &shape) const;
  /// Returns whether a work item is a phase: one query of every `lanes` of them. The rows of a tile are then `lanes`
  /// queries apart.
  virtual bool isInPhases() const { return false; }
  /// Adds the facts about the term that the choice of tiles and blocks needs.
  virtual void addSizes(const TermForm &, const AttentionShape &, AttentionSizes &) const {}
  /// Returns the reason why a processor is unsuited for the strategy, if it is: "16 vector registers are too few". The
  /// strategy is then never chosen, but can still be requested.
  virtual std::optional<Refusal> whyNotOn(const Target &) const { return std::nullopt; }
  /// Returns whether the cost model uses this strategy in place of the one that analysis meant for a term, if it
  /// predicts clearly less time for the whole attention. Strategies that do not compete are used only on request.
  virtual bool competes(const AttentionShape &) const { return false; }
  /// Returns the cost of the term. The cost model, `explain` and the roofline know nothing else about it.
  virtual TermWork work(const TermForm &, const AttentionShape &, const TileSizes &, const Target &) const = 0;
  /// Returns the object that emits the term; null if there is nothing to emit. The term lives as long as the kernel.
  virtual std::unique_ptr<CpuStrategy> make(CpuKernel &, const TermForm &) const = 0;
  /// Adds objects that emit several terms, or parts of masks, together. Called once per kernel, after `make`.
  virtual void makeShared(CpuKernel &, std::vector<std::unique_ptr<CpuStrategy>> &) const {}
};

/// The strategies of one context. The attn dialect of the context holds them.
class TermStrategies : public mlir::DialectInterface::Base<TermStrategies> {
public:
  /// Creates a registry that contains the built-in strategies.
  explicit TermStrategies(mlir::Dialect *dialect);
  /// Returns the strategies of the dialect, and creates them if there are none. Only for extensions, which run while
  /// the dialect is loaded.
  static TermStrategies &of(attn::AttnDialect *);
  /// Strategies with an order below this one are asked before any class of the analysis.
  static constexpr unsigned kBuiltin = 1000;
  /// Strategies with this order or above are asked only about terms that would otherwise be computed element by
  /// element.
  static constexpr unsigned kLate = 2000;
  /// The order of the element-by-element strategy, which fits every summand.
  static constexpr unsigned kLast = 1000000;
  /// Adds a strategy; the first one that fits a term computes it. Lower orders are asked first, equal orders in the
  /// order of addition. A second strategy of the same name replaces the first.
  void add(std::unique_ptr<TermStrategy>, unsigned order);
  /// Returns all strategies that fit, at least one. The first is the one that analysis meant.
  std::vector<const TermStrategy *> fitting(const TermForm &, const AttentionShape &) const;
  /// Returns the strategy of this name; null if there is none.
  const TermStrategy *named(llvm::StringRef) const;
  /// Calls `visit` for each, in order.
  void forEach(llvm::function_ref<void(const TermStrategy &)> visit) const;

private:
  /// Returns the strategy that takes the term before any class does; null if there is none.
  const TermStrategy *keeperOf(const OtherTerm &, const AttentionShape &) const;

  std::multimap<unsigned, std::unique_ptr<TermStrategy>> strategies;
};

/// Returns the strategies of the context; the built-in ones if nothing was added to it.
const TermStrategies &termStrategiesOf(mlir::MLIRContext *);

/// Adds the built-in strategies (passes/Cpu/Strategies/BuiltinStrategies.cpp).
void addBuiltinStrategies(TermStrategies &);

} // namespace skewer
