// The class of terms that apply a plugin's function: where no class of the plugin's own says more about them.
#include "dialect/IR/BuiltinFunctions.h"
#include "passes/Analysis/BuiltinTermClasses.h"
#include "passes/Analysis/TermReader.h"

using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
class FunctionOfElements : public TermClass {
public:
  llvm::StringRef name() const override { return "function"; }
  bool isOfFunctions() const override { return true; }

  std::optional<TermAnalysis> match(const TermView &view, const ScoreSpace &space) const override {
    return TermReader(view, space).start(TermKind::Function);
  }
  std::string describe(const TermView &view, const TermAnalysis &) const override {
    std::string text = "the function " + signatureOf(*view.application->function) +
                       (isBuiltinFunction(view.application->function->name()) ? ", of" : " of a plugin, of");
    const char *separator = " ";
    for (const Application::Argument &argument : view.application->arguments) {
      text += separator;
      text += argument.operand >= 0 ? "an element" : print(argument.position);
      separator = ", ";
    }
    return text;
  }
  double flops(const TermView &view, const TermAnalysis &, double pairs) const override {
    return view.application->function->flops() * pairs;
  }
};
} // namespace

void skewer::registerFunctionTermClass(RegisterTermClass registerClass) {
  registerClass(std::make_unique<FunctionOfElements>(), 950);
}
