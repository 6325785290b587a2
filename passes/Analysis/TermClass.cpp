// The registry of term classes, and the queries on it.
#include "passes/Analysis/TermClass.h"
#include "passes/Analysis/BuiltinTermClasses.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Matches everything, so that classification always has an answer.
class Materialised : public TermClass {
public:
  llvm::StringRef name() const override { return "pair by pair"; }
  bool isOf(bool) const override { return true; }
  std::optional<TermAnalysis> match(const Term &) const override {
    TermAnalysis analysis;
    analysis.kind = TermKind::Materialised;
    return analysis;
  }
  std::string describe(const Term &term, const TermAnalysis &) const override {
    return "a number for each query and key: no class fits its subscripts '" + print(term.einsum.spec) + "'";
  }
};

const Materialised materialised;
} // namespace

TermClasses::TermClasses(mlir::Dialect *dialect) : Base(dialect) {
  registerBuiltinTermClasses([&](std::unique_ptr<TermClass> c, unsigned order) { add(std::move(c), order); });
}

TermClasses &TermClasses::of(AttnDialect *dialect) {
  if (!dialect->getRegisteredInterface<TermClasses>())
    dialect->addInterfaces<TermClasses>();
  return *dialect->getRegisteredInterface<TermClasses>();
}

void TermClasses::add(std::unique_ptr<TermClass> termClass, unsigned order) {
  classes.emplace(order, std::move(termClass));
}

void TermClasses::forEach(llvm::function_ref<bool(const TermClass &)> visit) const {
  for (const auto &entry : classes)
    if (visit(*entry.second))
      return;
  visit(materialised);
}

void skewer::forEachTermClass(mlir::MLIRContext *context, llvm::function_ref<bool(const TermClass &)> visit) {
  static const TermClasses builtin(nullptr);
  auto *dialect = context ? context->getLoadedDialect<AttnDialect>() : nullptr;
  const TermClasses *own = dialect ? dialect->getRegisteredInterface<TermClasses>() : nullptr;
  (own ? own : &builtin)->forEach(visit);
}

const TermClass &skewer::classify(const Term &term, TermAnalysis &analysis) {
  const TermClass *found = nullptr;
  forEachTermClass(TermOp(term.op).getContext(), [&](const TermClass &termClass) {
    bool asked = &termClass == &materialised ||
                 (termClass.isOf(term.isOfValues) && termClass.isOfFunctions() == term.application.has_value());
    auto matched = asked ? termClass.match(term) : std::nullopt;
    if (!matched)
      return false;
    analysis = std::move(*matched);
    found = &termClass;
    return true;
  });
  analysis.className = found->name().str();
  analysis.guarded = term.einsum.guard.has_value();
  return *found;
}

TermAnalysis skewer::analyse(const Term &term) {
  TermAnalysis analysis;
  classify(term, analysis);
  return analysis;
}
TermAnalysis skewer::analyse(TermOp op) { return analyse(*termOf(op)); }
std::string skewer::describe(TermOp op) {
  auto term = termOf(op);
  TermAnalysis analysis;
  return classify(*term, analysis).describe(*term, analysis);
}
