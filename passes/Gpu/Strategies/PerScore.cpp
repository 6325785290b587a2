// A term of any other class. The strategy evaluates its index expressions for each score, in the registers of the
// score.
#include "passes/Gpu/Strategies/Strategies.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

class PerScore : public Strategy {
public:
  PerScore(const KernelContext &in, const ElementTerm &term) : Strategy(in), term(term) {}

  uint64_t sum() const override { return term.sum; }
  bool addsToEachScore() const override { return true; }
  void addToEachScore(Value /*firstKey*/, const std::vector<Axes> &at, Tiles &scores) override {
    SmallVector<Value> added;
    if (term.contracted.empty())
      for (const Axes &where : at)
        added.push_back(termAt(b, in.operands, term, where));
    else
      added = contractedTermAt(b, in.operands, term, at);
    for (auto [number, held] : llvm::enumerate(in.place.scores.numbers())) {
      Value &score = scores[held.tile][held.part];
      score = b.addf(score, added[number]);
    }
  }

private:
  const ElementTerm &term;
};

} // namespace

namespace skewer::gpu {
void addPerScore(const KernelContext &in, Strategies &all) {
  for (const ElementTerm &term : in.shape.elements)
    all.push_back(std::make_unique<PerScore>(in, term));
}
} // namespace skewer::gpu
