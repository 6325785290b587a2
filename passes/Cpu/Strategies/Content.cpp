// The strategy "matmul": q_i · k_j. The kernel computes these products itself (ContentProducts.h); other strategies add
// to its register tiles.
#include "passes/Analysis/ByteRows.h"
#include "passes/Cpu/Schedule/CostModel.h"
#include "passes/Cpu/Strategy.h"

using namespace skewer;

namespace {
class MatmulStrategy : public TermStrategy {
public:
  llvm::StringRef name() const override { return "matmul"; }
  bool fits(const TermForm &form, const AttentionShape &) const override {
    auto *term = form.as<ContentTerm>();
    return term && !term->key.picked;
  }
  bool takesLengths() const override { return true; }
  void addSizes(const TermForm &form, const AttentionShape &shape, AttentionSizes &sizes) const override {
    const ContentTerm &term = *form.as<ContentTerm>();
    ElementType own = term.query.element == term.key.element ? term.key.element : ElementType::F32;
    if (mayMultiplyBytes(shape))
      own = ElementType::I8;
    sizes.element = sizes.depth == 0 || sizes.element == own ? own : ElementType::F32;
    sizes.depth += term.depth;
  }
  TermWork work(const TermForm &, const AttentionShape &, const TileSizes &, const Target &) const override {
    return {};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &, const TermForm &) const override { return nullptr; }
};
} // namespace

std::unique_ptr<TermStrategy> makeMatmul() { return std::make_unique<MatmulStrategy>(); }
