// The registry of term classes and the questions asked of it.
#include "passes/Fusion/TermClass.h"
#include "passes/Fusion/BuiltinTermClasses.h"
#include <mutex>

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Matches everything, so that classification always has an answer.
class Materialised : public TermClass {
public:
  llvm::StringRef name() const override { return "materialised"; }
  bool isOf(bool) const override { return true; }
  std::optional<TermAnalysis> match(const TermView &view, const ScoreSpace &) const override {
    TermAnalysis analysis;
    analysis.kind = TermKind::Materialised;
    return analysis;
  }
  std::string describe(const TermView &view, const TermAnalysis &) const override {
    return "no class fits its subscripts '" + print(view.resolved.spec) + "'";
  }
};

struct Registry {
  std::mutex mutex;
  std::multimap<unsigned, std::unique_ptr<TermClass>> classes; // equal orders: as registered
  Materialised last;
  Registry() {
    registerBuiltinTermClasses(
        [&](std::unique_ptr<TermClass> c, unsigned order) { classes.emplace(order, std::move(c)); });
  }
};
Registry &registry() {
  static Registry instance;
  return instance;
}
} // namespace

void skewer::registerTermClass(std::unique_ptr<TermClass> termClass, unsigned order) {
  Registry &r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  r.classes.emplace(order, std::move(termClass));
}

void skewer::forEachTermClass(llvm::function_ref<bool(const TermClass &)> visit) {
  Registry &r = registry();
  std::vector<const TermClass *> ordered;
  {
    std::lock_guard<std::mutex> lock(r.mutex);
    for (const auto &entry : r.classes)
      ordered.push_back(entry.second.get());
  }
  ordered.push_back(&r.last);
  for (const TermClass *termClass : ordered)
    if (visit(*termClass))
      return;
}

TermView skewer::viewOf(TermOp op, const ScoreSpace &space) {
  TermView view;
  view.resolved = resolve(op);
  view.space = &space;
  if (op.getValue())
    view.value = parse(std::string_view(*op.getValue()));
  view.scale = op.getScale().convertToDouble();
  view.valueSide = op.isValueSide();
  for (mlir::Value input : op.getInputs())
    view.shapes.push_back(shapeOf(input));
  return view;
}

const TermClass &skewer::classify(const TermView &view, const ScoreSpace &space, TermAnalysis &analysis) {
  const TermClass *found = nullptr;
  forEachTermClass([&](const TermClass &termClass) {
    auto matched = termClass.isOf(view.valueSide) ? termClass.match(view, space) : std::nullopt;
    if (!matched)
      return false;
    analysis = std::move(*matched);
    found = &termClass;
    return true;
  });
  analysis.className = found->name().str();
  analysis.guarded = view.resolved.guard.has_value();
  return *found;
}

const TermClass &skewer::classify(TermOp op) {
  ScoreSpace space = scoreSpace(op->getParentOfType<AttentionOp>());
  TermAnalysis analysis;
  return classify(viewOf(op, space), space, analysis);
}
TermAnalysis skewer::analyse(TermOp op) { return analyse(op, scoreSpace(op->getParentOfType<AttentionOp>())); }
TermAnalysis skewer::analyse(TermOp op, const ScoreSpace &space) {
  TermAnalysis analysis;
  classify(viewOf(op, space), space, analysis);
  return analysis;
}
std::string skewer::describe(TermOp op) {
  ScoreSpace space = scoreSpace(op->getParentOfType<AttentionOp>());
  TermView view = viewOf(op, space);
  TermAnalysis analysis;
  return classify(view, space, analysis).describe(view, analysis);
}
