// "element": terms and masks that nothing better is known for, one element at a time, in the lines of biases. A masked
// key's value is -inf.
#include "passes/Cpu/ElementTerms.h"
#include "passes/Cpu/Strategies/Others.h"
#include <limits>

using namespace mlir;
using namespace skewer;

namespace {
class Elements : public CpuStrategy {
public:
  explicit Elements(CpuKernel &kernel) : CpuStrategy(kernel) {
    for (const OtherTerm &term : shape.others)
      if (term.bias == BiasKind::Element)
        terms.push_back(&term);
    for (const MaskPart &part : shape.masks)
      if (part.kind == BiasKind::Element)
        mask = mask ? logicalAnd(*mask, part.predicate) : part.predicate;
  }
  bool isEmpty() const { return terms.empty() && !mask; }
  LineUse lineUse() const override { return mask ? LineUse::Hides : LineUse::Adds; }

  void addToLine(const BiasRow &row) override {
    b.loop(row.lowKey, row.highKey, 1, [&](Value key) {
      Positions::Values at = axesAt(row.position, key);
      Value where = b.add(row.line, b.sub(key, row.lowKey));
      if (!mask)
        return addTerms(at, where);
      b.when(
          predicate(*mask, at), [&] { addTerms(at, where); },
          [&] { b.storeScalar(b.constantScalar(-std::numeric_limits<float>::infinity()), memory.line, where); });
    });
  }

private:
  void addTerms(const Positions::Values &at, Value where) {
    for (const OtherTerm *term : terms) {
      auto add = [&] {
        Value sum = b.addf(b.scalar(memory.line, where), b.narrow(elementOf(kernel, *term, at)));
        b.storeScalar(sum, memory.line, where);
      };
      if (term->guard)
        b.when(predicate(*term->guard, at), add);
      else
        add();
    }
  }

  SmallVector<const OtherTerm *> terms;
  std::optional<subscript::Expr> mask;
};
} // namespace

std::unique_ptr<CpuStrategy> skewer::makeElements(CpuKernel &kernel) {
  auto elements = std::make_unique<Elements>(kernel);
  return elements->isEmpty() ? nullptr : std::move(elements);
}
