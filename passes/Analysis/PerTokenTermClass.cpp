// The class of terms that depend on query and key through run-time index operands: segments, documents, bucket rows.
#include "passes/Analysis/BuiltinTermClasses.h"
#include "passes/Analysis/TermReader.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// q_i·E[h, seg[b, i] != seg[b, j]], T[bucket[b, j - i + N - 1], h], -100 * (region[b, i] != region[b, j]). The indices
/// are read for each query and each key; nothing of the size of the score is made from them.
class PerToken : public TermClass {
public:
  llvm::StringRef name() const override { return "per-token index"; }

  std::optional<TermAnalysis> match(const Term &term) const override {
    const ScoreSpace &space = *term.space;
    TermReader reader(term);
    TermAnalysis analysis = reader.start(TermKind::PerToken);
    bool found = term.factor && !readsOf(withoutUniformReads(*term.factor)).empty(), query = false, key = false;
    auto dependsOn = [&](const Expr &e) {
      for (const std::string &symbol : symbolsOf(e)) {
        query |= contains(space.query, symbol);
        key |= contains(space.key, symbol);
      }
    };
    if (term.factor)
      dependsOn(*term.factor);
    for (size_t operand = 0; operand < term.shapes.size(); ++operand)
      for (size_t d = 0; d < term.shapes[operand].size(); ++d) {
        const Expr &subscript = term.einsum.subscripts[operand][d];
        dependsOn(subscript);
        if (readsOf(withoutUniformReads(subscript)).empty()) // a run-time origin is the same for all pairs
          continue;
        found = true;
        analysis.other = int(operand);
        analysis.rowDimension = int(d);
        analysis.row = simplify(subscript, reader.domain, term.einsum.guard);
        analysis.rows = term.shapes[operand][d];
      }
    if (!found || !query || !key)
      return std::nullopt;
    if (analysis.other >= 0)
      analysis.otherLeading = reader.read(analysis.other).leading;
    for (int operand = 0; operand < int(term.shapes.size()); ++operand)
      if (Reading reading = reader.read(operand); operand != analysis.other && reading.plain && reading.query) {
        analysis.query = operand;
        analysis.queryLeading = reading.leading;
      }
    return analysis;
  }

  std::string describe(const Term &term, const TermAnalysis &a) const override {
    if (a.other < 0)
      return print(*term.factor) + ", read for each query and key";
    return "row " + print(a.row) + " of " + std::to_string(a.rows) + ", read for each query and key" +
           (a.query >= 0 ? ", query side" : "");
  }
};
} // namespace

void skewer::registerPerTokenTermClass(RegisterTermClass registerClass) {
  registerClass(std::make_unique<PerToken>(), 150);
}
