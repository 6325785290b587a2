// The class of terms that apply a plugin's function. It is used if no class of the plugin matches them.
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

  std::optional<TermAnalysis> match(const Term &term) const override {
    return TermReader(term).start(TermKind::Function);
  }
  std::string describe(const Term &term, const TermAnalysis &) const override {
    std::string text = "the function " + signatureOf(*term.application->function) +
                       (isBuiltinFunction(term.application->function->name()) ? ", of" : " of a plugin, of");
    const char *separator = " ";
    for (const Application::Argument &argument : term.application->arguments) {
      text += separator;
      text += argument.operand >= 0 ? "an element" : print(argument.position);
      separator = ", ";
    }
    return text;
  }
  double flops(const Term &term, const TermAnalysis &, double pairs) const override {
    return term.application->function->flops() * pairs;
  }
};
} // namespace

void skewer::registerFunctionTermClass(RegisterTermClass registerClass) {
  registerClass(std::make_unique<FunctionOfElements>(), 950);
}
