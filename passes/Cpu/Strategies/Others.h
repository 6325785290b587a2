// Ways to compute summands without a contraction, and parts of masks that are no interval: what does not depend on the
// queries' vectors.
#pragma once
#include "passes/Cpu/Strategy.h"
#include "passes/Schedule/Prediction.h"

namespace skewer {

/// What a strategy for summands without a query's vector, and for parts of masks, says of itself, but for its costs.
class BiasStrategy : public TermStrategy {
public:
  BiasStrategy(llvm::StringRef label, AddOrder place, BiasKind kind) : kind(kind), label(label), place(place) {}
  llvm::StringRef name() const override { return label; }
  AddOrder order() const override { return place; }
  bool fits(const TermForm &form, const AttentionShape &) const override { return isMeantFor(form); }
  void take(const TermForm &form, AttentionShape &shape) const override;
  /// What is prepared is prepared once a call or a head, and then part of a line.
  TermWork work(const TermForm &, const AttentionShape &, const TileSizes &, const Target &) const override {
    return {};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &, const TermForm &) const override { return nullptr; }

protected:
  /// Whether analysis found the term, or the part of a mask, to be of this kind.
  bool isMeantFor(const TermForm &form) const {
    const OtherTerm *term = form.as<OtherTerm>();
    const MaskPart *part = form.as<MaskPart>();
    return (term && term->bias == kind) || (part && part->kind == kind);
  }
  BiasKind kind;

private:
  llvm::StringRef label;
  AddOrder place;
};

/// Values that are prepared before the scores are computed (PreparedLines.cpp).
std::unique_ptr<TermStrategy> makeDifferenceLine();
std::unique_ptr<TermStrategy> makeKeyLine();
std::unique_ptr<TermStrategy> makeScoreTable();
/// Those of differences on a map of run-time width (MapLines.cpp), which "difference_line" makes beside others.
void addMapLines(CpuKernel &, std::vector<std::unique_ptr<CpuStrategy>> &);
/// Rows of operands, loaded where they are needed (RowLoads.cpp).
std::unique_ptr<TermStrategy> makeRowLoad();
/// What nothing better is known for: one element at a time (Elements.cpp).
std::unique_ptr<TermStrategy> makeElement();
/// What is computed for a vector of keys at a time (Lanes.cpp).
std::unique_ptr<TermStrategy> makeGatheredScalars();
/// Parts of masks that are known at compile time, pair by pair (LiveTilesStrategy.cpp).
std::unique_ptr<TermStrategy> makeLiveTiles();
/// Contents that count only where a guard holds that is known pair by pair (LiveProducts.cpp).
std::unique_ptr<TermStrategy> makeLiveProducts();
/// Contractions that no class takes apart (GatheredProducts.cpp).
std::unique_ptr<TermStrategy> makeGatheredProducts();

} // namespace skewer
