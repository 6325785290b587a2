// The strategy "element": terms and masks that no better strategy fits, one element at a time, in the lines of biases.
// A masked key has -inf there.
#include "passes/Cpu/ElementTerms.h"
#include "passes/Cpu/Strategies/Others.h"
#include <limits>

using namespace mlir;
using namespace skewer;

namespace {
class Elements : public CpuStrategy {
public:
  Elements(CpuKernel &kernel, uint64_t sum) : CpuStrategy(kernel) {
    inSum(sum);
    for (const OtherTerm &term : shape.others)
      if (term.bias == BiasKind::Element && !term.own && term.sum == sum)
        terms.push_back(&term);
    for (const MaskPart &part : shape.masks)
      if (part.kind == BiasKind::Element && sum == 0)
        mask = mask ? logicalAnd(*mask, part.predicate) : part.predicate;
  }
  bool isEmpty() const { return terms.empty() && !mask; }
  LineUse lineUse() const override { return mask ? LineUse::Hides : LineUse::Adds; }

  void addToLine(const BiasRow &row) override {
    b.loop(row.lowKey, row.highKey, 1, [&](Value key) {
      Positions::Values at = positions.axesAt(row.position, key);
      Value where = b.add(row.line, b.sub(key, row.lowKey));
      if (!mask)
        return addTerms(at, row.memory, where);
      b.when(
          positions.predicate(*mask, at), [&] { addTerms(at, row.memory, where); },
          [&] { b.storeScalar(b.constantScalar(-std::numeric_limits<float>::infinity()), row.memory, where); });
    });
  }

private:
  void addTerms(const Positions::Values &at, Value lines, Value where) {
    for (const OtherTerm *term : terms) {
      auto add = [&] {
        Value sum = b.addf(b.scalar(lines, where), b.narrow(elementOf(context, *term, at)));
        b.storeScalar(sum, lines, where);
      };
      if (term->guard)
        b.when(positions.predicate(*term->guard, at), add);
      else
        add();
    }
  }

  SmallVector<const OtherTerm *> terms;
  std::optional<subscript::Expr> mask;
};

// Cycles for each element, and for one multiplication and its loads in each contracted step. Counted in the emitted
// loops, whose scalar code runs at about four instructions a cycle on all processors described here.
constexpr double kElementCycles = 6, kStepCycles = 4;

class ElementStrategy : public BiasStrategy {
public:
  ElementStrategy() : BiasStrategy("element", AddOrder::Elements, BiasKind::Element) {}
  /// Fits every summand, and the parts of masks that no other strategy takes.
  bool fits(const TermForm &form, const AttentionShape &) const override {
    return form.as<OtherTerm>() || isMeantFor(form);
  }
  bool takesLengths() const override { return true; }
  void addSizes(const TermForm &, const AttentionShape &, AttentionSizes &sizes) const override {
    sizes.hasLine = true;
  }
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &, const Target &) const override {
    double elements = double(shape.queries) * double(shape.keys), cycles = kElementCycles;
    if (const OtherTerm *term = form.as<OtherTerm>()) {
      double steps = term->contracted.empty() ? 0 : 1;
      for (const auto &[axis, size] : term->contracted)
        steps *= double(size);
      cycles += kStepCycles * steps + (term->application ? term->application->function->flops() : 0);
    }
    return {0, elements * cycles};
  }
  void makeShared(CpuKernel &kernel, std::vector<std::unique_ptr<CpuStrategy>> &strategies) const override {
    for (uint64_t sum = 0; sum < uint64_t(kernel.context.shape.sums); ++sum) {
      auto elements = std::make_unique<Elements>(kernel, sum);
      if (!elements->isEmpty())
        strategies.push_back(std::move(elements));
    }
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeElement() { return std::make_unique<ElementStrategy>(); }
