// Strategies for summands without a contraction, and for parts of masks that are not an interval: for all that does not
// depend on the query vectors.
#pragma once
#include "passes/Cpu/Strategy.h"
#include "passes/Cpu/Schedule/Prediction.h"

namespace skewer {

/// The base class of strategies for summands without a query vector and for parts of masks: all that such a strategy
/// says about itself, except its costs.
class BiasStrategy : public TermStrategy {
public:
  BiasStrategy(llvm::StringRef label, AddOrder place, BiasKind kind) : kind(kind), label(label), place(place) {}
  llvm::StringRef name() const override { return label; }
  AddOrder order() const override { return place; }
  bool fits(const TermForm &form, const AttentionShape &) const override { return isMeantFor(form); }
  void take(const TermForm &form, AttentionShape &shape) const override;
  /// Counts nothing: values are prepared once a call or a head, and are then part of a line.
  TermWork work(const TermForm &, const AttentionShape &, const TileSizes &, const Target &) const override {
    return {};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &, const TermForm &) const override { return nullptr; }

protected:
  /// Returns whether the analysis found the term, or the part of a mask, to be of this kind.
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
/// Adds the strategies for differences on a map of run-time width (MapLines.cpp). "difference_line" calls it after it
/// has made its other strategies.
void addMapLines(CpuKernel &, std::vector<std::unique_ptr<CpuStrategy>> &);
/// Rows of operands, loaded where they are needed (RowLoads.cpp).
std::unique_ptr<TermStrategy> makeRowLoad();
/// Terms and masks that no better strategy fits, one element at a time (Elements.cpp).
std::unique_ptr<TermStrategy> makeElement();
/// Terms and masks that are computed for a vector of keys at a time (Lanes.cpp).
std::unique_ptr<TermStrategy> makeGatheredScalars();
/// Parts of masks that are known at compile time, pair by pair (LiveTilesStrategy.cpp).
std::unique_ptr<TermStrategy> makeLiveTiles();
/// Contents that count only where a guard holds; the guard is known pair by pair (LiveProducts.cpp).
std::unique_ptr<TermStrategy> makeLiveProducts();
/// Contractions that no class of terms takes apart (GatheredProducts.cpp).
std::unique_ptr<TermStrategy> makeGatheredProducts();

} // namespace skewer
