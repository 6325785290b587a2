// Ways of computing a term on a processor. Each says which terms it fits, what it costs and what emits it; analysis,
// schedules, cost model, `explain` and kernels ask the registry and know none of them by name. A plugin that brings a
// class may bring its strategy by the same door, and then gets a fused, scheduled, explained kernel.
//
//   registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) {
//     skewer::TermStrategies::of(dialect).add(std::make_unique<MyStrategy>(), 50);
//   });
//
// What is emitted is an object of passes/Cpu/Strategy.h, which `make` makes.
#pragma once
#include "passes/Analysis/TermForm.h"
#include <map>
#include <memory>

namespace skewer {
class CpuKernel;
class CpuStrategy;
struct AttentionSizes;
struct Target;

/// Register tile and blocks for which work is counted, and how much of the score they see.
struct TileSizes {
  int64_t lanes, tileRows, tileVectors, rowBlock, keyBlock;
  double columns = 0; // scores of a query row that tiles compute: keys in whole panels, without tiles that are left out
  double keys = 0;    // keys whose values a row group adds up
};
/// Of all pairs of queries and keys of one leading index (a head of one batch row), on one core.
struct TermWork {
  double flops = 0;  // useful ones, for the roofline
  double cycles = 0; // of everything that it emits, packing included
};

/// Where, among the strategies of a kernel, one adds to the scores: sums of floating-point numbers depend on it.
enum class AddOrder { Offsets, Rows, Own, Prepared, Loads, Elements, Lanes, Values };

class TermStrategy {
public:
  virtual ~TermStrategy() = default;
  /// What schedules and `explain` call it: "separable_line". Unique.
  virtual llvm::StringRef name() const = 0;
  virtual AddOrder order() const { return AddOrder::Own; }
  /// Whether it can compute the term. A plugin's that stands before the built-in ones is asked before analysis has put
  /// the term into a class: then it is an OtherTerm, and `shape` has space, sizes and axes alone.
  virtual bool fits(const TermForm &, const AttentionShape &shape) const = 0;
  /// Whether it keeps to the queries and keys that are there where their number is known at run time only: it reads no
  /// operand behind CpuKernel::queries() and keys().
  virtual bool takesLengths() const { return false; }
  /// Makes of the term in `shape`, which it fits, one that it computes, where analysis meant it for another strategy.
  /// If not overridden it is the `own` strategy of an OtherTerm.
  virtual void take(const TermForm &, AttentionShape &shape) const;
  /// What the choice of tiles and blocks must know of the term.
  virtual void addSizes(const TermForm &, const AttentionShape &, AttentionSizes &) const {}
  /// Why a processor is none for it, if it is not: "16 vector registers are too few". Then it is never chosen; who asks
  /// for it gets it.
  virtual std::string whyNotOn(const Target &) const { return ""; }
  /// Whether the cost model takes it in place of the strategy that analysis meant for a term where the whole attention
  /// is then predicted to take clearly less time. Others are there to be asked for.
  virtual bool competes(const AttentionShape &) const { return false; }
  /// What it costs; the cost model, `explain` and the roofline know nothing else of it.
  virtual TermWork work(const TermForm &, const AttentionShape &, const TileSizes &, const Target &) const = 0;
  /// The object that emits the term; null where there is nothing to emit. The term lives as long as the kernel.
  virtual std::unique_ptr<CpuStrategy> make(CpuKernel &, const TermForm &) const = 0;
  /// Adds objects that emit several terms, or parts of masks, together. Called once a kernel, after `make`.
  virtual void makeShared(CpuKernel &, std::vector<std::unique_ptr<CpuStrategy>> &) const {}
};

/// The strategies of one context, held by its attn dialect.
class TermStrategies : public mlir::DialectInterface::Base<TermStrategies> {
public:
  /// With the built-in ones.
  explicit TermStrategies(mlir::Dialect *dialect);
  /// The dialect's; made where there are none yet. Only for extensions, which run while the dialect is loaded.
  static TermStrategies &of(attn::AttnDialect *);
  /// Strategies of orders below this one are asked before any class of the analysis.
  static constexpr unsigned kBuiltin = 1000;
  /// Strategies of this order and above are asked for what would be computed element by element alone.
  static constexpr unsigned kLate = 2000;
  /// Element by element: fits every summand.
  static constexpr unsigned kLast = 1000000;
  /// The first that fits a term has it: lower orders are asked first, equal ones as added. A second one of a name
  /// replaces the first.
  void add(std::unique_ptr<TermStrategy>, unsigned order);
  bool hasEarly() const { return !strategies.empty() && strategies.begin()->first < kBuiltin; }
  /// The strategy that takes the term before any class does; null where none does.
  const TermStrategy *findEarly(const OtherTerm &, const AttentionShape &) const;
  /// All that fit, the first of which is what analysis meant; at least one.
  std::vector<const TermStrategy *> fitting(const TermForm &, const AttentionShape &) const;
  /// Null where there is none of the name.
  const TermStrategy *named(llvm::StringRef) const;
  /// Calls `visit` for each, in order.
  void forEach(llvm::function_ref<void(const TermStrategy &)> visit) const;

private:
  std::multimap<unsigned, std::unique_ptr<TermStrategy>> strategies;
};

/// The context's; the built-in ones where nothing was added to it.
const TermStrategies &termStrategiesOf(mlir::MLIRContext *);

/// Adds the built-in ones: defined where they are, in passes/Cpu/Strategies/BuiltinStrategies.cpp. Their names are
/// among those that schedules know (dialect/IR/ScheduleVerifiers.cpp).
void addBuiltinStrategies(TermStrategies &);

} // namespace skewer
