// The strategy "added_to_values": Σ_j p_ij·(v_j + E[j]). Rows that the key alone picks are added to the packed values.
#include "passes/Cpu/Strategies/ValueRows.h"

using namespace mlir;
using namespace skewer;

namespace {
class KeyValues : public CpuStrategy {
public:
  KeyValues(CpuKernel &kernel, const ValueTerm &term) : CpuStrategy(kernel), term(term) {}

  bool changesValues() const override { return true; }

  void packValues() override {
    Value base = positions.baseOf(term.base);
    b.loop(b.index(0), positions.keys(), 1, [&](Value key) {
      kernel.packer.copyWidth(memory.arguments[term.argument], b.add(base, b.mul(key, term.keyStride)),
                              term.widthStride, term.scale, kernel.values.memory(), b.mul(key, widthVectors * lanes),
                              true);
    });
  }

private:
  const ValueTerm &term;
};

class KeyValuesStrategy : public ValueStrategy {
public:
  KeyValuesStrategy() : ValueStrategy(ValueKind::Key) {}
  StringRef name() const override { return "added_to_values"; }
  void addSizes(const TermForm &, const AttentionShape &, AttentionSizes &sizes) const override {
    sizes.values.areChanged = true;
  }
  TermWork work(const TermForm &, const AttentionShape &shape, const TileSizes &tile, const Target &) const override {
    return {0, double(shape.keys) * widthVectors(shape, tile) * kRowCycles};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<KeyValues>(kernel, *form.as<ValueTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeKeyValues() { return std::make_unique<KeyValuesStrategy>(); }
