// The registry of term classes and the questions asked of it.
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
  std::optional<TermAnalysis> match(const TermView &view, const ScoreSpace &) const override {
    TermAnalysis analysis;
    analysis.kind = TermKind::Materialised;
    return analysis;
  }
  std::string describe(const TermView &view, const TermAnalysis &) const override {
    return "a number for each query and key: no class fits its subscripts '" + print(view.resolved.spec) + "'";
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

TermView skewer::viewOf(TermOp op, const ScoreSpace &space) {
  TermView view;
  view.resolved = resolve(op);
  view.space = &space;
  if (op.getValue())
    view.value = parse(std::string_view(*op.getValue()));
  view.application = applicationOf(op);
  view.context = op.getContext();
  view.scale = op.getScale().convertToDouble();
  view.valueSide = op.isValueSide();
  for (mlir::Value input : op.getInputs())
    view.shapes.push_back(shapeOf(input));
  return view;
}

const TermClass &skewer::classify(const TermView &view, const ScoreSpace &space, TermAnalysis &analysis) {
  const TermClass *found = nullptr;
  forEachTermClass(view.context, [&](const TermClass &termClass) {
    bool asked = &termClass == &materialised ||
                 (termClass.isOf(view.valueSide) && termClass.isOfFunctions() == view.application.has_value());
    auto matched = asked ? termClass.match(view, space) : std::nullopt;
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
